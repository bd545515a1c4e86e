"""Reports that help a person: confusion matrices, measures by class and listings of errors, as text and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.tasks.task import Report

ERRORS_LISTED = 20
_ERRORS_ON_SCREEN = 5
_TEXT_WIDTH = 100
# Between the two texts of a pair.
TEXT_SEPARATOR = " / "
# Beyond these a table is not read on a screen; the whole one is in a file.
_CLASSES_ON_SCREEN, _CONFUSIONS_ON_SCREEN, _NAME_WIDTH = 20, 10, 24
CONFUSION_MATRIX = "confusion_matrix"


def confusion_report(
    labels: Sequence[str],
    texts: Sequence[str],
    gold: Sequence[int],
    predicted: Sequence[int],
    sureness: Sequence[float] | None,
) -> Report:
    """Precision and recall of each class, how often it was taken for each other, and the surest errors.

    Args:
        labels: names of the classes.
        texts: of the examples.
        gold, predicted: classes.
        sureness: the probability of each predicted class; None where it is not known: errors stand in their order.
    """
    counts = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(counts, (np.asarray(gold, np.int64), np.asarray(predicted, np.int64)), 1)
    classes = [
        class_measures(label, int(counts[i, i]), int(counts[:, i].sum()), int(counts[i].sum()))
        for i, label in enumerate(labels)
    ]
    wrong = [index for index, (right, found) in enumerate(zip(gold, predicted)) if right != found]
    if sureness is not None:
        wrong.sort(key=lambda index: -sureness[index])
    errors = [
        {
            "example": index,
            "label": labels[gold[index]],
            "prediction": labels[predicted[index]],
            **({} if sureness is None else {"probability": round(float(sureness[index]), 4)}),
            "text": texts[index],
        }
        for index in wrong[:ERRORS_LISTED]
    ]
    lines = [*class_lines(classes, _MEASURES), *_confusion_lines(labels, counts)]
    if errors:
        lines.append(f"{len(wrong)} of {len(texts)} wrong{'' if sureness is None else '; the surest ones'}:")
        lines += [
            f"  {shorten(error['label'], _NAME_WIDTH)} taken for {shorten(error['prediction'], _NAME_WIDTH)}"
            + (f" ({error['probability']:.2f})" if "probability" in error else "")
            + f": {_shorten_texts(error['text'])}"
            for error in errors[:_ERRORS_ON_SCREEN]
        ]
    values = {
        "labels": list(labels),
        "classes": classes,
        "confusion_matrix": counts.tolist(),
        "wrong": len(wrong),
        "errors": errors,
    }
    matrix = [["true class / predicted", *labels], *([label, *row] for label, row in zip(labels, counts.tolist()))]
    return Report("\n".join(lines), values, {CONFUSION_MATRIX: matrix})


_MEASURES = ("precision", "recall", "f1", "examples", "predicted")


def class_measures(label: str, right: int, predicted: int, examples: int) -> dict[str, Any]:
    """Precision, recall and F1 of a class; None where there is nothing to divide by.

    Args:
        label: its name.
        right: examples of the class that were found.
        predicted: examples that were taken for it.
        examples: examples of the class.
    """
    return {
        "label": label,
        "precision": right / predicted if predicted else None,
        "recall": right / examples if examples else None,
        "f1": 2 * right / (predicted + examples) if predicted + examples else None,
        "examples": examples,
        "predicted": predicted,
    }


def class_lines(classes: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """A row for each class, of many those with the most examples.

    Args:
        classes: {"label", "examples", and the columns' values}.
        columns: names of the values that are shown.
    """
    shown = classes
    lines = []
    if len(classes) > _CLASSES_ON_SCREEN:
        frequent = sorted(range(len(classes)), key=lambda i: -classes[i]["examples"])[:_CLASSES_ON_SCREEN]
        shown = [classes[i] for i in sorted(frequent)]
        lines.append(f"the {_CLASSES_ON_SCREEN} classes of {len(classes)} with the most examples:")
    rows = [[shorten(row["label"], _NAME_WIDTH), *(_measure(row[name]) for name in columns)] for row in shown]
    return lines + table_lines(["class", *(name.replace("_", " ") for name in columns)], rows)


def _measure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value}"


def _confusion_lines(labels: Sequence[str], counts: np.ndarray) -> list[str]:
    """The matrix, or where it is too wide the classes that were confused most often."""
    names = [shorten(label, _NAME_WIDTH) for label in labels]
    lines = table_lines(["", *names], [[name, *row] for name, row in zip(names, counts.tolist())])
    if len(lines) - 1 <= _CLASSES_ON_SCREEN and max(map(len, lines)) <= _TEXT_WIDTH:
        return ["rows: the true class; columns: the predicted one", *lines]
    apart = np.where(np.eye(len(labels), dtype=bool), 0, counts)
    places = np.argsort(-apart, axis=None, kind="stable")[:_CONFUSIONS_ON_SCREEN]
    pairs = [divmod(int(place), len(labels)) for place in places]
    lines = [
        f"  {names[true]} taken for {names[found]}: {apart[true, found]}" for true, found in pairs if apart[true, found]
    ]
    return [
        f"the most frequent confusions of {len(labels)} classes; all of them are in *_{CONFUSION_MATRIX}.tsv:",
        *lines,
    ]


def difference_report(texts: Sequence[str], gold: Sequence[float], predicted: Sequence[float]) -> Report:
    """The predictions furthest from the truth."""
    differences = np.asarray(predicted, np.float64) - np.asarray(gold, np.float64)
    order = np.argsort(-np.abs(differences), kind="stable")[:ERRORS_LISTED]
    errors = [
        {"example": int(i), "label": float(gold[i]), "prediction": float(predicted[i]), "text": texts[i]} for i in order
    ]
    mean = float(np.abs(differences).mean()) if len(differences) else 0.0
    lines = [f"mean absolute difference {mean:.3f}; the largest:"]
    lines += [
        f"  {error['prediction']:.2f} instead of {error['label']:.2f}: {_shorten_texts(error['text'])}"
        for error in errors[:_ERRORS_ON_SCREEN]
    ]
    return Report("\n".join(lines), {"mean_absolute_difference": mean, "errors": errors})


def label_report(
    labels: Sequence[str], texts: Sequence[str], gold: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray
) -> Report:
    """Counts how often each class of a multi-label task was found, missed, or wrongly seen; lists the surest errors.

    Args:
        labels: names of the classes.
        texts: of the examples.
        gold, predicted: 0 or 1, [examples, classes].
        probabilities: of each class on its own, [examples, classes].
    """
    classes = []
    for index, label in enumerate(labels):
        right, found = gold[:, index].astype(bool), predicted[:, index].astype(bool)
        hits = int((right & found).sum())
        counts = {"found": hits, "missed": int((right & ~found).sum()), "wrongly_seen": int((~right & found).sum())}
        classes.append(counts | class_measures(label, hits, int(found.sum()), int(right.sum())))
    is_wrong = gold != predicted
    # How far the probability of the class that is most wrong lies from the truth.
    error = np.where(is_wrong, np.abs(probabilities - gold), 0.0).max(axis=1, initial=0.0)
    wrong = np.flatnonzero(is_wrong.any(axis=1))
    wrong = wrong[np.argsort(-error[wrong], kind="stable")]
    errors = [
        {
            "example": int(i),
            "labels": [label for label, is_there in zip(labels, gold[i]) if is_there],
            "predictions": [label for label, is_there in zip(labels, predicted[i]) if is_there],
            "probabilities": {labels[c]: round(float(probabilities[i, c]), 4) for c in np.flatnonzero(is_wrong[i])},
            "text": texts[i],
        }
        for i in wrong[:ERRORS_LISTED]
    ]
    lines = class_lines(classes, ("found", "missed", "wrongly_seen", "precision", "recall", "f1"))
    if errors:
        lines.append(f"{len(wrong)} of {len(texts)} not wholly right; the surest ones:")
        lines += [
            f"  {_names(one['predictions'])} instead of {_names(one['labels'])}: {_shorten_texts(one['text'])}"
            for one in errors[:_ERRORS_ON_SCREEN]
        ]
    return Report("\n".join(lines), {"classes": classes, "wrong": len(wrong), "errors": errors})


def _names(labels: Sequence[str]) -> str:
    return shorten(" | ".join(labels), _TEXT_WIDTH) if labels else "none"


def table_lines(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table in columns: the first left-aligned, the others right-aligned."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return lines


def shorten(text: str, width: int = _TEXT_WIDTH) -> str:
    """The start of a text, on one line of at most so many characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _shorten_texts(texts: str) -> str:
    """The start of a text, or of both texts of a pair, on one line."""
    parts = texts.split(TEXT_SEPARATOR, maxsplit=1)
    if len(parts) == 1 or len(texts) <= _TEXT_WIDTH:
        return shorten(texts)
    width = (_TEXT_WIDTH - len(TEXT_SEPARATOR)) // 2
    return TEXT_SEPARATOR.join(shorten(part, width) for part in parts)
