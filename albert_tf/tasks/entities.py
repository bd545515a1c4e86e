"""Entities, as spans of words or of characters, and in sequences of tags: B-PER I-PER O, also with E- and S-.

An entity is found if its kind and both its ends are right. Where one starts and ends among tags is decided as
conlleval (CoNLL-2000) does: I- starts one too where no entity of its kind goes on.
"""

import collections
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from albert_tf.tasks import reports
from albert_tf.tasks.task import Report

OUTSIDE = "O"
_PREFIXES = ("B", "I", "E", "S")
_ENDING = ("E", "S")
# Kind and both ends: the first and the last word, or the first character and the one after the last.
Span = tuple[str, int, int]


def are_entity_tags(labels: Sequence[str]) -> bool:
    """Tells whether all tags are O or start with B-, I-, E- or S-, and some do start so."""
    others = [label for label in labels if label != OUTSIDE]
    return bool(others) and all(_split(label)[0] in _PREFIXES and _split(label)[1] for label in others)


def entities_of(tags: Sequence[str]) -> set[Span]:
    """(kind, first word, last word) of the entities that the tags of a sentence mark."""
    found = set()
    start, kind = None, ""
    before = OUTSIDE
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, this_kind = _split(tag)
        goes_on = start is not None and prefix in ("I", "E") and this_kind == kind and before not in _ENDING
        if start is not None and not goes_on:
            found.add((kind, start, place - 1))
            start = None
        if prefix != OUTSIDE and not goes_on:
            start, kind = place, this_kind
        before = prefix
    return found


def _split(tag: str) -> tuple[str, str]:
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def entity_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 over the entities that the tags of all sentences mark."""
    return span_scores(list(map(entities_of, gold)), list(map(entities_of, predicted)))


def span_scores(gold: Sequence[AbstractSet[Span]], predicted: Sequence[AbstractSet[Span]]) -> dict[str, float]:
    """Precision, recall and F1 over the entities of all texts; 0 where there are none to count."""
    return _scores(*_count(gold, predicted)[""])


def entity_report(
    words: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> Report:
    """The report of tags of words; see span_report."""
    return span_report(
        [" ".join(sentence) for sentence in words],
        lambda number, span: " ".join(words[number][span[1] : span[2] + 1]),
        *(list(map(entities_of, tags)) for tags in (gold, predicted)),
    )


def span_report(
    texts: Sequence[str],
    text_of: Callable[[int, Span], str],
    gold: Sequence[AbstractSet[Span]],
    predicted: Sequence[AbstractSet[Span]],
) -> Report:
    """The scores of each kind, and entities that were missed or made up.

    Args:
        texts: all of them.
        text_of: the words of an entity in the text of a number.
        gold, predicted: the entities of each text.
    """
    rows, values = [], []
    for kind, (right, marked, true) in sorted(_count(gold, predicted).items()):
        measured = _scores(right, marked, true)
        rows.append([kind or "all", *(f"{measured[name]:.3f}" for name in ("precision", "recall", "f1")), true])
        values.append({"kind": kind or "all", **measured, "entities": true})
    errors: list[dict[str, Any]] = []
    for number, (text, true_ones, found) in enumerate(zip(texts, gold, predicted)):
        wrong = [("missed", one) for one in true_ones - found] + [("made up", one) for one in found - true_ones]
        for what, span in sorted(wrong, key=lambda item: item[1][1:]):
            errors.append({"kind": what, "entity": span[0], "text": text_of(number, span), "sentence": text})
    lines = reports.table_lines(["entity", "precision", "recall", "f1", "number"], rows)
    lines += [f"  {e['kind']} {e['entity']} {e['text']!r}: {reports.shorten(e['sentence'])}" for e in errors[:5]]
    return Report("\n".join(lines), {"kinds": values, "errors": errors[: reports.ERRORS_LISTED]})


def _count(gold, predicted) -> dict[str, tuple[int, int, int]]:
    """(right, marked, true) of each kind of entity and, as "", of all together."""
    counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0, 0], {"": [0, 0, 0]})
    for true, found in zip(gold, predicted):
        for place, group in enumerate((true & found, found, true)):
            for kind, *_ in group:
                counts[kind][place] += 1
                counts[""][place] += 1
    return {kind: tuple(numbers) for kind, numbers in counts.items()}


def _scores(right: int, marked: int, true: int) -> dict[str, float]:
    precision, recall = right / max(1, marked), right / max(1, true)
    total = precision + recall
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / total if total else 0.0}
