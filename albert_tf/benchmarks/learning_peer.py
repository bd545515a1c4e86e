"""Measures what Hugging Face's AlbertForPreTraining learns in torch in a given time, for the table of learning.py.

The same records, the same held-out set, the same machine and minutes; its own usual way: AdamW, one rate that rises in
a straight line and falls in one, one length, 15 % of single pieces masked. Vocabulary scores are computed for the
masked positions only, which its own interface does not do.

python -m albert_tf.benchmarks.learning_peer --albert_config_file=configs/models/albert_mini.json \\
    --input_file='train-*' --heldout_file='heldout-*' --learning_rates=1e-4,1e-3 --minutes=15 --output_dir=learning
"""

import os
import time
from typing import Any

from absl import flags

from albert_tf.analysis.pyplot import import_pyplot
from albert_tf.benchmarks import learning
from albert_tf.benchmarks.contestants import torch_model
from albert_tf.config import AlbertConfig
from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import import_tensorflow

_WARMUP = 0.06
_MAX_GRADIENT_NORM = 1.0


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", None, "The model's shape.", **fv)
    flags.DEFINE_string("input_file", None, "Records to train on, of --masking=dynamic.", **fv)
    flags.DEFINE_string("heldout_file", None, "Records that the model is measured on.", **fv)
    flags.DEFINE_list("learning_rates", ["1e-4"], "Peaks of the learning rate, a run for each.", **fv)
    flags.DEFINE_float("minutes", 15, "Of training, a run.", lower_bound=0.01, **fv)
    flags.DEFINE_integer("train_batch_size", 32, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_enum("precision", "bfloat16", ["float32", "bfloat16"], "bfloat16: torch.autocast.", **fv)
    flags.DEFINE_integer("seed", 1, "Of weights, order and masks.", lower_bound=0, **fv)
    flags.DEFINE_string("output_dir", None, "Where model, results, table and picture go.", **fv)


def _rate_at(share: float) -> float:
    """The learning rate, of its peak, when that share of the time is over.

    >>> [round(_rate_at(share), 2) for share in (0.03, 0.06, 0.53, 1.0)]
    [0.5, 1.0, 0.5, 0.0]
    """
    return min(share / _WARMUP, (1.0 - share) / (1.0 - _WARMUP))


def train(config: AlbertConfig, batches, peak: float, seconds: float, precision: str, seed: int, folder: str) -> int:
    """Trains a new model for so long, and saves it as Hugging Face does.

    Args:
        config: the model's shape.
        batches: iterator of dicts of arrays, as pretraining_records.parse_batch names them; endless.
        peak: the largest learning rate.
        seconds: of training.
        precision: float32 or bfloat16.
        seed: of the weights.
        folder: where the model goes.

    Returns:
        steps that were done.
    """
    torch, model, precise, device = torch_model(config, precision, seed=seed)
    update = torch.optim.AdamW(model.parameters(), lr=peak, weight_decay=0.01)
    cross_entropy = torch.nn.functional.cross_entropy
    model.train()
    began, steps = time.monotonic(), 0
    while (share := (time.monotonic() - began) / seconds) < 1.0:
        for group in update.param_groups:
            group["lr"] = peak * _rate_at(share)
        batch = {name: torch.tensor(array, device=device) for name, array in next(batches).items()}
        with precise:
            hidden = model.albert(batch["input_ids"], batch["input_mask"], batch["segment_ids"])
            rows, columns = torch.nonzero(batch["masked_lm_weights"], as_tuple=True)
            scores = model.predictions(
                hidden.last_hidden_state[rows, batch["masked_lm_positions"].long()[rows, columns]]
            )
            order = model.sop_classifier(hidden.pooler_output)
        labels = batch["masked_lm_ids"].long()[rows, columns]
        loss = cross_entropy(scores.float(), labels)
        loss = loss + cross_entropy(order.float(), batch["sentence_order_labels"].long())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), _MAX_GRADIENT_NORM)
        update.step()
        update.zero_grad()
        steps += 1
    model.save_pretrained(folder)
    return steps


def _learn(name: str, rate: float, budget: dict[str, float]) -> dict[str, Any]:
    """Trains with one rate and measures: a result as learning.py keeps it."""
    from albert_tf.inputs.pretraining_dataset import make_dataset, open_records
    from albert_tf.inputs.reading import Reading
    from albert_tf.pretraining.evaluation import evaluate_checkpoint
    from albert_tf.pretraining.settings import EvaluationSettings
    from albert_tf.records.manifest import find_record_files
    from albert_tf.records.masking_rules import DYNAMIC
    from albert_tf.records.pretraining_records import record_lengths

    given = flags.FLAGS
    config = AlbertConfig.from_json_file(given.albert_config_file)
    lengths = record_lengths(find_record_files(given.input_file)[0])
    records = open_records(given.input_file, *lengths, config.vocab_size)
    how = {"seed": given.seed, "masking": DYNAMIC, "reading": Reading(masked_lm_prob=0.15, ngram=1)}
    batches = make_dataset(records.paths, given.train_batch_size, *lengths, records.num_examples, **how)
    folder = learning.folder_of(given.output_dir, name, budget, given.seed)
    seconds = 60 * given.minutes
    steps = train(config, batches.as_numpy_iterator(), rate, seconds, given.precision, given.seed, folder)
    found = evaluate_checkpoint(EvaluationSettings(input_file=given.heldout_file, init_checkpoint=folder))
    last = {"step": steps, "tokens": steps * given.train_batch_size * lengths[0], "minutes": given.minutes}
    return {
        "recipe": name,
        "budget": budget,
        "seed": given.seed,
        "machine": learning.describe_machine(),
        "checkpoints": [last | {measure: found[measure] for measure in learning.MEASURES if measure in found}],
    }


def _run() -> None:
    given = flags.FLAGS
    rates = [learning.positive_number("learning_rates", text) for text in given.learning_rates]
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise InputError(f"learning_peer needs {error.name}: pip install 'albert_tf[parity]'") from None
    import_pyplot()
    import_tensorflow()
    os.makedirs(given.output_dir, exist_ok=True)
    results, budget = learning.read_results(given.output_dir), {"minutes": given.minutes}
    identity = learning.identity_of(given.heldout_file)
    for rate in rates:
        name = f"hugging_face-{rate:g}"
        learning.check_identity(results, name, identity, given.output_dir)
        if not learning.is_done(results, name, budget, given.seed):
            results.append({**_learn(name, rate, budget), "identity": identity})
            learning.keep_result(results[-1], given.output_dir)
    learning.write_report(results, given.output_dir)


main = command.entry_point(__name__, _run, required=("albert_config_file", "input_file", "heldout_file", "output_dir"))

if __name__ == "__main__":
    main()
