"""A split of a fine-tuning run: its SPLIT_report.json, and a closer look at its predictions."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from albert_tf.reports.blocks import Block, Entry, Group, Matrix, Notes, Table, numbers
from albert_tf.reports.charts import Curve, line_chart, short_number
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.reports import shorten

# Beyond these a matrix is too large for a page; the pairs that are confused most are listed instead.
_MOST_CLASSES, _MOST_PAIRS = 30, 20
# Characters of a text that is shown.
_TEXT = 500
_THRESHOLDS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 10))
_MOST_DOTS = 600
# The fields that say which class or kind of entity a row is of.
_CLASS_NAMES = ("label", "kind")
# The fields of an error that are texts of the task.
_TEXTS = ("text", "sentence", "question")
_Rows = Sequence[Mapping[str, Any]]


def split_blocks(folder: str, split: str, report: Mapping[str, Any], thresholds: str = "") -> list[Block]:
    """Everything that there is to show of a split, whatever the task.

    Args:
        folder: of the run, with the predictions.
        split: its name.
        report: SPLIT_report.json.
        thresholds: by which the run chose labels, as words; "" if that is not known.
    """
    blocks: list[Block] = []
    try:
        if isinstance(report.get("confusion_matrix"), list):
            blocks += _confusions(report)
        for name, title in {"classes": "By class", "kinds": "By kind of entity"}.items():
            blocks += _measures(report.get(name), title)
        if counts := numbers(report.get("counts")):
            rows = [[name, f"{count:,}"] for name, count in counts.items()]
            blocks.append(Table(["answers", "questions"], rows))
        blocks += _of_predictions(os.path.join(folder, f"{split}_predictions.jsonl"), thresholds)
        blocks += _errors(report.get("errors"))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        blocks.append(Notes([f"{split}_report.json is not what a run writes; the rest of it is not shown."]))
    return blocks


def _confusions(report: Mapping[str, Any]) -> list[Block]:
    labels = [str(label) for label in report["labels"]]
    counts = [[int(count) for count in row] for row in report["confusion_matrix"]]
    if len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
        raise ValueError("a matrix of other classes")
    if len(labels) <= _MOST_CLASSES:
        shares = [[count / max(1, sum(row)) for count in row] for row in counts]
        return [Matrix(labels, counts, shares)]
    pairs = [(row[j], i, j) for i, row in enumerate(counts) for j in range(len(labels)) if i != j and row[j]]
    worst = sorted(pairs, key=lambda pair: -pair[0])[:_MOST_PAIRS]
    rows = [[labels[i], labels[j], f"{count:,}"] for count, i, j in worst]
    return [Table(["true class", "taken for", "examples"], rows, "The most frequent confusions", words=2)]


def _measures(classes: Any, title: str) -> list[Block]:
    """A row for each class or kind of entity: precision, recall, F1, and counts."""
    if not isinstance(classes, list) or not classes:
        return []
    names = list(dict.fromkeys(name for one in classes for name in one))
    names.sort(key=lambda name: name not in _CLASS_NAMES)
    rows = [["–" if one.get(name) is None else _cell(one[name]) for name in names] for one in classes]
    return [Table([name.replace("_", " ") for name in names], rows, title, is_folded=len(rows) > _MOST_CLASSES)]


def _errors(errors: Any) -> list[Block]:
    """The errors that the run lists, with their texts."""
    if not isinstance(errors, list) or not errors:
        return []
    entries = []
    for one in errors:
        texts = [_cell(one[name]) for name in _TEXTS if one.get(name) is not None]
        facts = [(name.replace("_", " "), _cell(value)) for name, value in one.items() if name not in _TEXTS]
        entries.append(Entry(texts, facts))
    is_sure = any(name.startswith("probabilit") for one in errors for name in one)
    return [Group("entries", entries, "The surest errors" if is_sure else "Errors")]


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return shorten(" | ".join(dict.fromkeys(map(str, value))), _TEXT) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(inner)}" for name, inner in value.items())
    return f"{value:,}" if type(value) is int else shorten(str(value), _TEXT)


def _of_predictions(path: str, thresholds: str) -> list[Block]:
    """A table of thresholds for multi-label predictions, truth against prediction for a regression."""
    try:
        rows = [row for row in _read_lines(path) if "label" in row]
    except (InputError, OSError):
        return []
    if not rows:
        return []
    if all(isinstance(row["label"], list) and isinstance(row.get("probabilities"), dict) for row in rows):
        return [_by_threshold(rows, thresholds)]
    if all(type(row["label"]) is float and type(row["prediction"]) is float for row in rows):
        return [_truth_and_prediction(rows)]
    return []


def _by_threshold(rows: _Rows, own: str) -> Table:
    """Precision, recall, F1 over all classes, and texts wholly right, by the probability that counts as a yes."""
    cells = []
    for threshold in _THRESHOLDS:
        right = found = true = whole = 0
        for row in rows:
            chosen = {label for label, probability in row["probabilities"].items() if probability >= threshold}
            truth = set(row["label"])
            right, found, true = right + len(chosen & truth), found + len(chosen), true + len(truth)
            whole += chosen == truth
        measures = (right / found if found else None, right / true if true else None, 2 * right / max(1, found + true))
        cells.append([f"{threshold}", *map(_cell, measures), _cell(whole / len(rows))])
    columns = ["threshold", "precision", "recall", "F1", "wholly right"]
    note = "Over all classes together." + (f" The run's own predictions have {own}." if own else "")
    return Table(columns, cells, "By threshold", words=0, note=note)


def _truth_and_prediction(rows: _Rows) -> Group:
    step = -(-len(rows) // _MOST_DOTS)
    some = sorted((row["label"], row["prediction"]) for row in rows[::step])
    values = [value for pair in some for value in pair]
    ends = [min(values), max(values)]
    curves = [
        Curve("as it should be", (ends, ends), is_dashed=True, is_smoothed=False, color=1),
        Curve(f"{len(some):,} of {len(rows):,} examples", marks=tuple(zip(*some))),
    ]
    chart = line_chart(
        "Prediction against truth",
        curves,
        short_number,
        x_title="label",
        from_zero=False,
        most_dots=_MOST_DOTS,
        whole=False,
    )
    return Group("charts", [chart] if chart else [])


def _read_lines(path: str) -> Iterator[Mapping[str, Any]]:
    for line in files.read_small(path).splitlines():
        row = json.loads(line)
        if isinstance(row, dict):
            yield row
