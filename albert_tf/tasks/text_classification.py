"""One text or a pair of texts to a class, several classes, or a number: what GLUE and a user's own tasks share."""

import copy
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.tasks import reports, scores
from albert_tf.tasks.task import Report, Task, TaskSettings
from albert_tf.tasks.thresholds import (
    USUAL_THRESHOLD,
    find_thresholds,
    thresholds_of_scores,
    thresholds_to_scores,
)
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.packing import pack_pair


@dataclasses.dataclass(frozen=True)
class TextExample:
    """One text or two.

    Attributes:
        guid: what the file calls it, else its number from 0.
        first: the text.
        second: the second of a pair, or None.
        label: index of the class, a number (regression), a 0 or 1 for each class (multi-label), or None.
        group: what it is ranked for, beside the others with the same; None where nothing is ranked.
    """

    guid: str
    first: str
    second: str | None = None
    label: Any = None
    group: str | None = None


@dataclasses.dataclass(frozen=True)
class TextPrediction:
    """The model's prediction for a text.

    Attributes:
        value: as TextExample.label; in a multi-label task by the usual threshold, or by those of the task.
        probabilities: of each class; in a multi-label task each on its own; () for a regression.
    """

    value: Any
    probabilities: tuple[float, ...] = ()


class TextClassification(Task):
    """Features, predictions, scores and files of predictions; where examples come from is a subclass's affair.

    Attributes:
        score_names: names in scores.BY_NAME; not asked of multi-label tasks, which have their own.
        label_threshold: of a multi-label task, as the user gave it; None for the usual one.
        thresholds: of each label, where they are known; None for the usual one.
    """

    score_names: tuple[str, ...]
    label_threshold: str | None = None
    thresholds: tuple[float, ...] | None = None
    threshold_title = "an example has a label from this probability on:"

    def features(self, index: int, example: TextExample, tokenizer: Tokenizer, settings: TaskSettings):
        """One feature, see `text_features`."""
        return text_features(index, example, tokenizer, settings)

    def predictions(self, examples, features, outputs, settings) -> list[TextPrediction]:
        """The likeliest class; each class from its threshold on (multi-label); the number itself (regression)."""
        found = []
        for logits in outputs["logits"]:
            logits = np.asarray(logits, np.float64)
            if self.head == "regression":
                found.append(TextPrediction(float(logits[0])))
            elif self.head == "multi_label":
                probabilities = sigmoid(logits)
                found.append(TextPrediction(self._chosen(probabilities), tuple(probabilities.tolist())))
            else:
                probabilities = softmax(logits)
                found.append(TextPrediction(int(np.argmax(logits)), tuple(probabilities.tolist())))
        return found

    def scores(self, examples, predictions) -> dict[str, float]:
        gold = self._gold(examples)
        if self.head == "multi_label":
            return self._multi_label_scores(np.asarray(gold), predictions)
        predicted = [prediction.value for prediction in predictions]
        return {name: scores.BY_NAME[name](gold, predicted) for name in self.score_names}

    @property
    def metrics(self) -> tuple[str, ...]:
        if self.head == "multi_label":
            return scores.MULTI_LABEL_SCORES
        if self.head == "regression":
            return ("pearson", "spearman")
        return ("accuracy", "macro_f1", "matthews_correlation", *(("f1",) if len(self.labels) == 2 else ()))

    def with_metric(self, metric):
        task = super().with_metric(metric)
        if self.head != "multi_label" and metric not in self.score_names:
            task.score_names = (*self.score_names, metric)
        return task

    def _chosen(self, probabilities: np.ndarray) -> tuple[int, ...]:
        """A 0 or 1 for each label of an example."""
        return tuple((probabilities >= np.asarray(self.thresholds or USUAL_THRESHOLD)).astype(int).tolist())

    def _values(self, predictions: Sequence[TextPrediction]) -> list[Any]:
        """The predicted values; of several labels by the task's thresholds, which may have been found since."""
        if self.thresholds is None:
            return [prediction.value for prediction in predictions]
        return [self._chosen(np.asarray(prediction.probabilities)) for prediction in predictions]

    def _multi_label_scores(self, gold: np.ndarray, predictions: Sequence[TextPrediction]) -> dict[str, float]:
        """The scores by the thresholds of the task, else by those that are the best for these very examples."""
        if self.threshold_score is None:
            return scores.multi_label_scores(gold, np.asarray(self._values(predictions)))
        probabilities = np.asarray([prediction.probabilities for prediction in predictions])
        found = find_thresholds(self.label_threshold, gold, probabilities)
        told = thresholds_to_scores(self.label_threshold, self.labels, found)
        return self.with_threshold(found)._multi_label_scores(gold, predictions) | told

    @property
    def usual_threshold(self) -> tuple[float, ...]:
        """One for each label."""
        return (USUAL_THRESHOLD,) * len(self.labels)

    def threshold_in(self, scores: Mapping[str, float]) -> tuple[float, ...] | None:
        """The thresholds that a split's scores hold."""
        return thresholds_of_scores(self.label_threshold, self.labels, scores)

    def with_threshold(self, threshold: Sequence[float]) -> "TextClassification":
        """The task with these thresholds of its labels in place of those that are best for the split at hand."""
        task = copy.copy(self)
        task.thresholds, task.threshold_score = tuple(threshold), None
        return task

    def _gold(self, examples: Sequence[TextExample]) -> list[Any]:
        gold = [example.label for example in examples]
        if not gold or any(label is None for label in gold):
            raise InputError(f"{self.name}: these examples have no labels, so there is nothing to score")
        return gold

    def label_text(self, value: Any) -> str:
        """A label or a prediction as files have it; several classes with "|" between."""
        if self.head == "regression":
            return f"{value:.3f}"
        if self.head == "multi_label":
            return "|".join(label for label, chosen in zip(self.labels, value) if chosen)
        return self.labels[value]

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.jsonl: guid, prediction, probabilities, and the label where there is one."""
        path = os.path.join(folder, f"{split}_predictions.jsonl")
        with files.replace_file(path) as file:
            for example, value, prediction in zip(examples, self._values(predictions), predictions, strict=True):
                line: dict[str, Any] = {"guid": example.guid, "prediction": self._json_value(value)}
                if example.label is not None:
                    line["label"] = self._json_value(example.label)
                if prediction.probabilities:
                    line["probabilities"] = dict(zip(self.labels, prediction.probabilities))
                file.write(to_json_bytes(line) + b"\n")
        return [path]

    def _json_value(self, value: Any) -> Any:
        if self.head == "regression":
            return float(value)
        if self.head == "multi_label":
            return [label for label, chosen in zip(self.labels, value) if chosen]
        return self.labels[value]

    def report(self, examples, predictions) -> Report:
        """Measures by class, a confusion matrix, the errors the model was surest of; or the largest differences."""
        gold = self._gold(examples)
        texts = [reports.TEXT_SEPARATOR.join(filter(None, (example.first, example.second))) for example in examples]
        values = self._values(predictions)
        if self.head == "regression":
            return reports.difference_report(texts, gold, values)
        if self.head == "multi_label":
            probabilities = np.asarray([prediction.probabilities for prediction in predictions])
            return reports.label_report(self.labels, texts, np.asarray(gold), np.asarray(values), probabilities)
        sureness = [max(prediction.probabilities) for prediction in predictions]
        return reports.confusion_report(self.labels, texts, gold, values, sureness)


def text_features(index: int, example: TextExample, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
    """One feature: [CLS] first [SEP], or [CLS] first [SEP] second [SEP], cut to max_seq_length."""
    first_ids = tokenizer.encode(example.first)
    second_ids = None if example.second is None else tokenizer.encode(example.second)
    input_ids, segment_ids = pack_pair(
        first_ids, second_ids, settings.max_seq_length, tokenizer.cls_id, tokenizer.sep_id
    )
    whole = len(first_ids) + 2 if second_ids is None else len(first_ids) + len(second_ids) + 3
    return [Feature(index, input_ids, segment_ids, example.label, pieces_cut=whole - len(input_ids))]


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Probability of each, on its own."""
    return 0.5 * (1.0 + np.tanh(0.5 * logits))


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities over the last axis."""
    powers = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def text_fields(fields: Mapping[str, Any], names: Sequence[str], where: str) -> list[str | None]:
    """Fields of what a user sent, as text; a name with a question mark at its end may be left out, and is None then.

    Raises:
        InputError: a field is missing, is no text, or is not known.
    """
    known = [name.rstrip("?") for name in names]
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise InputError(f"{where}: unknown field {unknown[0]!r}; the fields are {', '.join(known)}")
    found = []
    for name in names:
        value = fields.get(name.rstrip("?"))
        if value is None and name.endswith("?"):
            found.append(None)
        elif not isinstance(value, str):
            raise InputError(f"{where}: the field {name.rstrip('?')!r} must be text; received {value!r}")
        else:
            found.append(value)
    return found
