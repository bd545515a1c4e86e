"""Predictions of a fine-tuned model for a user's examples: of an export of any format, or of a checkpoint as it is.

TensorFlow is imported only for what it runs; an export as ONNX or LiteRT does without.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from albert_tf.checkpoints.task_fields import OPTIONS, WORDS
from albert_tf.exports.depth import DepthSettings
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.given_values import items_of, path_of
from albert_tf.runtime.settings import StrPath
from albert_tf.serving.ensemble_answers import EnsembleAnswers
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.model_kind import CHECKPOINT, PORTABLE, SAVED_MODEL, kind_of, models_of
from albert_tf.serving.threads import set_threads

if TYPE_CHECKING:
    from albert_tf.serving.ensemble_answers import Answers
    from albert_tf.serving.graph_answers import GraphAnswers
    from albert_tf.serving.portable_answers import PortableAnswers

# From this probability on an example has a label, where it may have several and the model knows no better.
_THRESHOLD = 0.5


class Predictor:
    """A fine-tuned model, ready to be asked.

    Attributes:
        fields: names of the fields of an example; one with a question mark may be left out.
        example_fields: the same with the names of columns that training knew, and the checks of an example.
        task: what the model was fine-tuned for.
        tasks: the same of each of several models.
        depth: as given.
    """

    def __init__(self, path: StrPath, num_threads: int | None = None, depth: DepthSettings | None = None) -> None:
        """Loads it.

        Args:
            path: a SavedModel of export_saved_model, an export of export_model as ONNX or LiteRT, a run's output_dir, a
                checkpoint of any format, or a name of published weights; or several of one task, with commas between,
                whose probabilities are averaged.
            num_threads: how many threads compute; None: as many as this process may use of the processor's cores. Of
                TensorFlow it is the number for all that the process does.
            depth: of a checkpoint, which of its layers are computed; None: all.

        Raises:
            InputError: none of these is there, it is damaged, or its model is not fine-tuned.
        """
        self.path = path_of(path)
        self._model = _open(self.path, num_threads, depth)
        self.depth = depth
        self.task = self._model.task
        self.tasks = getattr(self._model, "tasks", [self.task])
        self.fields = self._model.fields
        self.example_fields = ExampleFields(self.fields, self.task)

    def predict(
        self,
        examples: Sequence[Mapping[str, Any] | Sequence[str] | str] | Mapping[str, Any] | str,
        where: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Asks the model about each example; they are run as one batch.

        Args:
            examples: {field: value} of each; the text alone where the model takes one; or texts in the order of the
                fields, such as pairs. One example that is no list stands for a list of one.
            where: what to call each of them in an error; None numbers them.

        Returns:
            for each a dict that JSON can hold: "label" and "probabilities"; "labels" and "probabilities"; "score";
            "choice" and "probabilities"; "answer", "start", "end" and "score"; "words" and "tags"; or "entities", each
            with "start", "end", "label", "text" and "score". And "layers", after how many it left, of a model with
            early exit; "warning", where a second text was given to a model that takes one.

        Raises:
            InputError: a field is missing, or is not what it should be.
        """
        examples = [examples] if isinstance(examples, str | Mapping) else items_of(examples, "examples")
        names = where or [f"example {number}" for number in range(1, len(examples) + 1)]
        if len(names) != len(examples):
            raise InputError(f"`where` must name each of the {len(examples)} examples. Received {len(names)} names.")
        checked = [self.example_fields.check(example, name) for example, name in zip(examples, names, strict=True)]
        found = self.answer(checked)
        for row, example in enumerate(examples):
            unread = self.example_fields.unread(example) if isinstance(example, Mapping) else None
            if unread is not None:
                found[row] = {**found[row], "warning": f"{names[row]}: {unread}"}
        return found

    def answer(self, checked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same for examples that `example_fields.check` has returned, without its warning."""
        found: list[dict[str, Any]] = [{}] * len(checked)
        for rows in _of_one_shape(checked):
            for row, answer in zip(rows, self._answer([checked[row] for row in rows]), strict=True):
                found[row] = answer
        return found

    def _answer(self, examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to checked examples, which may stand in one tensor."""
        if not examples[0].get(WORDS, True):
            return [{"words": [], "tags": []} for _ in examples]
        outputs = self._model.answer(examples)
        found = [_as_json(row) | ({"layers": int(row["layers"])} if "layers" in row else {}) for row in outputs]
        if WORDS not in examples[0]:
            return found
        return [
            {"words": example[WORDS], "tags": row["tags"][: len(example[WORDS])]}
            for example, row in zip(examples, found, strict=True)
        ]


def _open(path: str, num_threads: int | None, depth: DepthSettings | None) -> "Answers":
    paths = models_of(path)
    if len(paths) > 1 and depth is not None and depth.given:
        raise InputError(f"--{next(iter(depth.given))} is for a single model; an ensemble computes all layers")
    models = [_open_one(one, num_threads, depth) for one in paths]
    return models[0] if len(models) == 1 else EnsembleAnswers(models, paths)


def _open_one(path: str, num_threads: int | None, depth: DepthSettings | None) -> "GraphAnswers | PortableAnswers":
    kind = kind_of(path)
    if depth is not None and depth.given and kind != CHECKPOINT:
        raise InputError(
            f"--{next(iter(depth.given))} is for a checkpoint; {path} is an export: export_model has the same flag"
        )
    if kind == PORTABLE:
        from albert_tf.serving.portable_answers import PortableAnswers

        return PortableAnswers(path, num_threads)
    set_threads(num_threads, path)
    from albert_tf.serving.graph_answers import GraphAnswers

    return GraphAnswers(path, is_export=kind == SAVED_MODEL, depth=depth)


def _of_one_shape(examples: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Numbers of the examples that can be run together: with as many options, and with words or without any."""
    groups: dict[Any, list[int]] = {}
    for number, example in enumerate(examples):
        groups.setdefault((len(example.get(OPTIONS, ())), bool(example.get(WORDS, True))), []).append(number)
    return list(groups.values())


def _as_json(outputs: dict[str, Any]) -> dict[str, Any]:
    """One example's row of every output, in words and numbers that JSON has."""
    if "tags" in outputs:
        return {"tags": outputs["tags"]}
    if "entities" in outputs:
        # After the last entity of a text there may be those of others' length, without a label.
        columns = (outputs[name] for name in ("starts", "ends", "labels", "entities", "scores"))
        return {
            "entities": [
                {"start": int(start), "end": int(end), "label": label, "text": text, "score": float(score)}
                for start, end, label, text, score in zip(*columns, strict=True)
                if label
            ]
        }
    if "answer" in outputs:
        whole = {name: int(outputs[name]) for name in ("start", "end")}
        scores: dict[str, Any] = {name: float(outputs[name]) for name in ("score", "null_odds") if name in outputs}
        return {"answer": outputs["answer"], **whole, **scores}
    if "choice" in outputs:
        return {"choice": int(outputs["choice"]), "probabilities": outputs["probabilities"].tolist()}
    if "score" in outputs:
        return {"score": float(outputs["score"])}
    probabilities = dict(zip(outputs["labels"], outputs["probabilities"].tolist()))
    if "label" in outputs:
        return {"label": outputs["label"], "probabilities": probabilities}
    thresholds = outputs.get("thresholds", [_THRESHOLD] * len(probabilities))
    pairs = zip(probabilities.items(), thresholds, strict=True)
    return {
        "labels": [name for (name, probability), threshold in pairs if probability >= threshold],
        "probabilities": probabilities,
    }
