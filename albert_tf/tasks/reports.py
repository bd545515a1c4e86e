"""Reports that help a person: confusion matrices and listings of errors, as text and as JSON."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.tasks.task import Report

ERRORS_LISTED = 20
_ERRORS_ON_SCREEN = 5
_TEXT_WIDTH = 100


def confusion_report(
    labels: Sequence[str],
    texts: Sequence[str],
    gold: Sequence[int],
    predicted: Sequence[int],
    sureness: Sequence[float],
) -> Report:
    """How often each class was taken for each, and the errors with the highest probability.

    Args:
        labels: names of the classes.
        texts: of the examples.
        gold, predicted: classes.
        sureness: the probability of each predicted class.
    """
    counts = np.zeros((len(labels), len(labels)), np.int64)
    np.add.at(counts, (np.asarray(gold, np.int64), np.asarray(predicted, np.int64)), 1)
    wrong = [index for index, (right, found) in enumerate(zip(gold, predicted)) if right != found]
    wrong.sort(key=lambda index: -sureness[index])
    errors = [
        {
            "example": index,
            "label": labels[gold[index]],
            "prediction": labels[predicted[index]],
            "probability": round(float(sureness[index]), 4),
            "text": texts[index],
        }
        for index in wrong[:ERRORS_LISTED]
    ]
    lines = ["rows: the true class; columns: the predicted one", *matrix_lines(labels, counts)]
    if errors:
        lines.append(f"{len(wrong)} of {len(texts)} wrong; the surest ones:")
        lines += [
            f"  {error['label']} taken for {error['prediction']} ({error['probability']:.2f}): {shorten(error['text'])}"
            for error in errors[:_ERRORS_ON_SCREEN]
        ]
    values = {"labels": list(labels), "confusion_matrix": counts.tolist(), "wrong": len(wrong), "errors": errors}
    return Report("\n".join(lines), values)


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
        f"  {error['prediction']:.2f} instead of {error['label']:.2f}: {shorten(error['text'])}"
        for error in errors[:_ERRORS_ON_SCREEN]
    ]
    return Report("\n".join(lines), {"mean_absolute_difference": mean, "errors": errors})


def label_report(labels: Sequence[str], gold: np.ndarray, predicted: np.ndarray) -> Report:
    """Of each class of a multi-label task how often it was found, missed, and seen where it is not.

    Args:
        labels: names of the classes.
        gold, predicted: 0 or 1, [examples, classes].
    """
    rows = []
    for index, label in enumerate(labels):
        right, found = gold[:, index].astype(bool), predicted[:, index].astype(bool)
        rows.append([label, int((right & found).sum()), int((right & ~found).sum()), int((~right & found).sum())])
    lines = table_lines(["class", "found", "missed", "seen where it is not"], rows)
    values = [{"label": row[0], "found": row[1], "missed": row[2], "wrongly_seen": row[3]} for row in rows]
    return Report("\n".join(lines), {"classes": values})


def matrix_lines(labels: Sequence[str], counts: np.ndarray) -> list[str]:
    """A confusion matrix as a table."""
    return table_lines(["", *labels], [[label, *row] for label, row in zip(labels, counts.tolist())])


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


def shorten(text: str) -> str:
    """The start of a text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 1] + "…"
