"""The task that a folder of save_pretrained was fine-tuned for, read from its config.json and written to it."""

from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.hugging_face_family import Family
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

# Classes without the family at the beginning of their names.
_CLASSES = {
    "classification": "ForSequenceClassification",
    "multi_label": "ForSequenceClassification",
    "regression": "ForSequenceClassification",
    "token_classification": "ForTokenClassification",
    "multiple_choice": "ForMultipleChoice",
    "span": "ForQuestionAnswering",
}
_PROBLEMS = {
    "classification": "single_label_classification",
    "multi_label": "multi_label_classification",
    "regression": "regression",
}
_CLASSIFIER, _SPAN = "classifier.weight", "qa_outputs.weight"


def find_task(config_path: str, shapes: Mapping[str, Sequence[int]], family: Family) -> FinetunedTask | None:
    """Finds what a model was fine-tuned for: by the class that config.json names, else by its tensors.

    Args:
        config_path: of its config.json, which need not be there.
        shapes: of its tensors, by name.
        family: of the model.

    Returns:
        None for a pre-trained model.
    """
    values = files.read_json(config_path) if files.exists(config_path) else {}
    architectures = values.get("architectures")
    architecture = architectures[0] if isinstance(architectures, list) and architectures else None
    heads = (f"{family.masked_lm}.", f"{family.sentence_order}.")
    if architecture is None or not any(name.startswith(heads) for name in shapes):
        if _SPAN in shapes:
            return FinetunedTask("span", 2, classifier_dropout_prob=_dropout(config_path, values, family))
        if _CLASSIFIER in shapes:
            classes = shapes[_CLASSIFIER][0]
            kind = None if architecture is None else str(architecture).removeprefix(family.classes)
            head = _head_of_classifier(kind, values.get("problem_type"), classes, f"{family.pooler}.weight" in shapes)
            rate = _dropout(config_path, values, family)
            return FinetunedTask(head, classes, _labels(config_path, values, classes), classifier_dropout_prob=rate)
    return None


def _dropout(config_path: str, values: Mapping[str, Any], family: Family) -> float:
    """The rate of dropout in front of the head; null stands for that of the hidden units, as transformers has it.

    Raises:
        InputError: it is no rate.
    """
    key = family.dropout_key
    rate = values.get(key, family.default_dropout)
    if rate is None:
        key = "hidden_dropout_prob"
        rate = values.get(key, family.defaults.get(key, 0.0))
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < 1:
        raise InputError(f"{config_path}: {key} must be at least 0 and below 1. Received {to_json(rate)}.")
    return float(rate)


def _head_of_classifier(kind: str | None, problem: str | None, classes: int, has_pooler: bool) -> str:
    if kind == _CLASSES["multiple_choice"]:
        return "multiple_choice"
    if kind == _CLASSES["token_classification"] or not has_pooler:
        return "token_classification"
    by_problem = {name: head for head, name in _PROBLEMS.items()}
    return (isinstance(problem, str) and by_problem.get(problem)) or ("classification" if classes > 1 else "regression")


def _labels(config_path: str, values: Mapping[str, Any], classes: int) -> tuple[str, ...]:
    """The classes' names; none where transformers has only counted them. One that names no class alone is counted."""
    named = values.get("id2label")
    if not isinstance(named, dict) or len(named) != classes:
        return ()
    labels = tuple(str(named.get(str(index), "")) for index in range(classes))
    counted = tuple(f"LABEL_{index}" for index in range(classes))
    if all(label in ("", count) for label, count in zip(labels, counted, strict=True)):
        return ()
    told = tuple(
        label if label and labels.count(label) == 1 else count for label, count in zip(labels, counted, strict=True)
    )
    if told != labels:
        logging.warning(
            "%s: id2label has no name for a class, or one for several; these are called %s",
            *(config_path, ", ".join(sorted(set(told) - set(labels)))),
        )
    return told


def architecture_of(task: FinetunedTask | None, family: Family) -> str:
    """The class of transformers that holds the whole model; a beam of spans has none, and no names either."""
    return family.classes + ("ForPreTraining" if task is None else _CLASSES[task.head])


def task_values(task: FinetunedTask | None, architecture: str, family: Family) -> dict[str, Any]:
    """Entries of config.json about a task, as far as the architecture that is written has them.

    An official head of one row is of a regression, unless it is written as of multiple choice.
    """
    if task is None or task.head not in _CLASSES:
        return {}
    has_labels = architecture.removeprefix(family.classes) not in (_CLASSES["span"], _CLASSES["multiple_choice"])
    values: dict[str, Any] = {"problem_type": _PROBLEMS[task.head]} if has_labels and task.head in _PROBLEMS else {}
    if task.classifier_dropout_prob is not None:
        values[family.dropout_key] = task.classifier_dropout_prob
    if not has_labels:
        return values
    labels = task.labels or tuple(f"LABEL_{index}" for index in range(task.num_labels))
    return values | {
        "id2label": {str(index): label for index, label in enumerate(labels)},
        "label2id": {label: index for index, label in enumerate(labels)},
        "num_labels": task.num_labels,
    }
