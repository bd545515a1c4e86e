"""Fine-tunes Hugging Face's model in torch on the batches of run_finetuning, and scores it by the task's own measures.

Pieces, batches, their order, steps, rates and seeds are those that run_finetuning has with the same flags and
--num_seeds; model, dropout and AdamW are the peer's own. Prints one JSON line: the scores of each seed, their medians
and their spread, as results.json of run_finetuning has them.

python -m albert_tf.benchmarks.finetuning_peer --task_name=mrpc --data_dir=glue/MRPC --init_checkpoint=all-MiniLM-L6-v2
"""

import dataclasses
import tempfile
from collections.abc import Callable
from typing import Any

from absl import flags

from albert_tf.inputs.finetuning_features import SPAN_LABELS
from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow

# {head: (class of transformers, its kind of problem, {output of ours: output of theirs})}
_LOGITS = {"logits": "logits"}
_MODELS = {
    "classification": ("AutoModelForSequenceClassification", "single_label_classification", _LOGITS),
    "multi_label": ("AutoModelForSequenceClassification", "multi_label_classification", _LOGITS),
    "regression": ("AutoModelForSequenceClassification", "regression", _LOGITS),
    "span": ("AutoModelForQuestionAnswering", None, {name: name for name in ("start_logits", "end_logits")}),
}
_MAX_GRADIENT_NORM, _EPSILON, _WEIGHT_DECAY = 1.0, 1e-6, 0.01


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("task_name", None, "The task.", **fv)
    flags.DEFINE_string("data_dir", None, "Folder with the task's files.", **fv)
    flags.DEFINE_string("init_checkpoint", None, "A folder of Hugging Face, weights and vocabulary.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Pieces of an example at most.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_train_examples", None, "Of the training split; all if left out.", lower_bound=1, **fv)
    flags.DEFINE_integer("train_batch_size", 32, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_float("num_train_epochs", 3.0, "Passes over the training split.", **fv)
    flags.DEFINE_float("learning_rate", 5e-5, "At the end of the warm-up, a tenth of the steps.", **fv)
    flags.DEFINE_enum("precision", "float32", ("float32", "bfloat16"), "bfloat16: torch.autocast.", **fv)
    flags.DEFINE_integer("random_seed", 12345, "Seed of the head, order of examples and dropout.", **fv)
    flags.DEFINE_integer("num_seeds", 1, "Runs, from --random_seed upwards.", lower_bound=1, **fv)


class Peer:
    """The model of one seed.

    Args:
        data: FinetuningData of the task.
        folder: Hugging Face's.
        precision: float32 or bfloat16.
        seed: of the head's weights and of dropout.
    """

    def __init__(self, data: Any, folder: str, precision: str, seed: int):
        import torch
        import transformers

        if data.task.head not in _MODELS:
            raise InputError(f"the peer has no head for {data.task.name}; it has one for {', '.join(_MODELS)}")
        name, problem, self._outputs = _MODELS[data.task.head]
        self._torch, self._is_regression = torch, data.task.head == "regression"
        torch.manual_seed(seed)
        of_labels = {} if problem is None else {"problem_type": problem, "num_labels": max(1, len(data.task.labels))}
        self._model = getattr(transformers, name).from_pretrained(folder, **of_labels)
        self._precise = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")

    def _call(self, batch: dict[str, Any], **labels: Any) -> Any:
        with self._precise:
            return self._model(
                input_ids=batch["input_ids"].long(),
                attention_mask=batch["input_mask"],
                token_type_ids=batch["segment_ids"].long(),
                **labels,
            )

    def _labels(self, batch: dict[str, Any]) -> dict[str, Any]:
        if "label" not in batch:
            return {name: batch[name].long() for name in SPAN_LABELS[:2]}
        return {"labels": batch["label"] if batch["label"].is_floating_point() else batch["label"].long()}

    def train(self, batches: Any, rate: Callable[[int], Any]) -> None:
        """Takes all steps, each with the learning rate of its number, counted from 0."""
        from albert_tf.optimization.adamw import EXCLUDED_FROM_WEIGHT_DECAY

        decayed, others = [], []
        for name, parameter in self._model.named_parameters():
            (others if any(part in name for part in EXCLUDED_FROM_WEIGHT_DECAY) else decayed).append(parameter)
        groups = [{"params": decayed, "weight_decay": _WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
        update = self._torch.optim.AdamW(groups, lr=0.0, eps=_EPSILON)
        self._model.train()
        for step, batch in enumerate(self._tensors(batches)):
            for group in update.param_groups:
                group["lr"] = float(rate(step))
            self._call(batch, **self._labels(batch)).loss.backward()
            self._torch.nn.utils.clip_grad_norm_(self._model.parameters(), _MAX_GRADIENT_NORM)
            update.step()
            update.zero_grad()

    def outputs(self, batches: Any) -> tuple[dict[str, list], list, list]:
        """The outputs of all batches by the names that tasks have for them, feature numbers and weights."""
        found: dict[str, list] = {name: [] for name in self._outputs}
        index: list[int] = []
        weights: list[float] = []
        self._model.eval()
        with self._torch.no_grad():
            for batch in self._tensors(batches):
                given = self._call(batch)
                for name, theirs in self._outputs.items():
                    found[name].extend(given[theirs].float().numpy())
                index.extend(batch["feature_index"].tolist())
                weights.extend(batch["example_weight"].tolist())
        return found, index, weights

    def _tensors(self, batches: Any):
        for batch in batches.as_numpy_iterator():
            yield {name: self._torch.tensor(values) for name, values in batch.items()}


def learn(data: Any, settings: Any) -> dict[str, list]:
    """Trains the model of one seed; its outputs for the first dev split, by the names that tasks have for them."""
    from albert_tf.inputs.finetuning_dataset import make_evaluation_dataset, make_training_dataset, restore_order
    from albert_tf.optimization.build import build_schedule

    features, dev = data.training_split().features, data.dev_splits()[0]
    steps = settings.steps_for(len(features))
    peer = Peer(data, settings.init_checkpoint, settings.precision, settings.random_seed)
    shape = data.batch_shape(settings.train_batch_size)
    batches = make_training_dataset(features, shape, settings.random_seed, steps)
    peer.train(batches, build_schedule(settings, steps, settings.warmup_for(steps)))
    shape = data.batch_shape(settings.eval_batch_size)
    found, index, weights = peer.outputs(make_evaluation_dataset(dev.features, shape))
    return {name: restore_order(rows, index, weights) for name, rows in found.items()}


def _score(data: Any, settings: Any) -> dict[str, Any]:
    """Trains and scores the model of one seed."""
    dev, outputs = data.dev_splits()[0], learn(data, settings)
    predictions = data.task.predictions(dev.examples, dev.features, outputs, settings.task_settings)
    return {"random_seed": settings.random_seed, "scores": {dev.name: data.task.scores(dev.examples, predictions)}}


def _run() -> None:
    command.require_flags("task_name", "data_dir", "init_checkpoint")
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise InputError(f"finetuning_peer needs {error.name}: pip install 'albert_tf[parity]'") from None
    import_tensorflow()
    from albert_tf.finetuning.finetune import open_data
    from albert_tf.finetuning.settings import FinetuningSettings
    from albert_tf.finetuning.summary import summarise
    from albert_tf.tasks.task import TaskSettings

    given = flags.FLAGS
    names = [field.name for field in dataclasses.fields(FinetuningSettings) if field.name in given]
    with tempfile.TemporaryDirectory() as folder:
        settings = FinetuningSettings(
            **{name: given[name].value for name in names},
            task_settings=TaskSettings(max_seq_length=given.max_seq_length),
            output_dir=folder,
            do_train=True,
            do_eval=True,
        )
        _, data = open_data(settings)
        results = [
            {"task_name": data.task.name, "checkpoint": None}
            | _score(data, dataclasses.replace(settings, random_seed=given.random_seed + number))
            for number in range(given.num_seeds)
        ]
    print(to_json({"benchmark": "finetuning_peer", **summarise(results, data.task.metric)}))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
