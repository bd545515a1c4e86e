"""Entities as tags of pieces, B-PER I-PER O, and back to characters of the text as it was given.

Every piece of an entity has a tag; pieces that stand for nothing visible have none, and end no entity. A long text
becomes windows that overlap, and each piece counts in the one with the most context around it, so an entity may
stand in two windows and is found as one.

Shapes: T pieces of a text, S positions of a window, C tags.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entities import OUTSIDE, entities_of
from albert_tf.tasks.entity_files import Entity, MarkedText
from albert_tf.tasks.squad_windows import TEXT_ENDS, TEXT_STARTS, cut_windows, max_context
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import softmax
from albert_tf.tokenization.alignment import AlignedText, align
from albert_tf.tokenization.base import Tokenizer

_NOT_SCORED = -1
# Notes of a feature: at each piece that counts in this window, the piece's number plus one; and, of the first window
# over a text, how many of its entities have each of FATES.
PIECES, FATES_NOTE = "piece_plus_one", "entity_fates"
# What becomes of an entity: its pieces are exactly it; it begins or ends within a piece; it shares pieces with one that
# is learnt in its place; it has no pieces at all; it has more pieces than a span may have.
FATES = EXACT, WITHIN, OVERLAPPING, LOST, TOO_LONG = range(5)


@dataclasses.dataclass(frozen=True)
class FoundEntity:
    """An entity that a model found.

    Attributes:
        entity: its kind, and where it stands in the text.
        score: the mean probability of the tags of its pieces.
    """

    entity: Entity
    score: float


def tag_names(kinds: Sequence[str]) -> tuple[str, ...]:
    """The tags for these kinds of entities: "O", then B- and I- of each."""
    return OUTSIDE, *(f"{prefix}-{kind}" for kind in kinds for prefix in "BI")


def entity_features(
    index: int, example: MarkedText, tokenizer: Tokenizer, settings: TaskSettings, tags: Sequence[str] = ()
) -> list[Feature]:
    """One feature for each window over the text.

    Args:
        index, example, tokenizer, settings: as in Task.features.
        tags: names of the tags by their numbers; of a text without labels none are needed.
    """
    room = settings.max_seq_length - 2
    if room < 1 or settings.doc_stride < 1:
        raise InputError(
            f"windows need max_seq_length of 3 or more, and a doc_stride of 1 or more; received "
            f"{settings.max_seq_length} and {settings.doc_stride}"
        )
    text = align(tokenizer, example.text)
    visible = text.starts < text.ends
    fates: list[int] = []
    numbers = None
    if example.entities is not None:
        numbers, fates = tag_pieces(text, example.entities, tags)
    windows = cut_windows(len(text.ids), room, settings.doc_stride)
    features = []
    for (start, length), best in zip(windows, max_context(windows, len(text.ids))):
        window = slice(start, start + length)
        counts = best & visible[window]
        label = None if numbers is None else placed(np.where(counts, numbers[window], _NOT_SCORED), _NOT_SCORED)
        notes = {
            PIECES: placed(np.where(counts, np.arange(start, start + length) + 1, 0)),
            TEXT_STARTS: placed(text.starts[window]),
            TEXT_ENDS: placed(text.ends[window]),
            FATES_NOTE: [] if features else fates,
        }
        ids = [tokenizer.cls_id, *text.ids[window], tokenizer.sep_id]
        features.append(Feature(index, ids, [0] * len(ids), label, notes=notes))
    return features


def placed(values: np.ndarray, filler: int = 0) -> np.ndarray:
    """Values of a window's pieces at their positions, the filler at [CLS] and [SEP]: int64 [S]."""
    return np.concatenate([[filler], values, [filler]]).astype(np.int64)


def tag_pieces(text: AlignedText, entities: Sequence[Entity], tags: Sequence[str]) -> tuple[np.ndarray, list[int]]:
    """The tag of each piece, and how many entities have each of FATES.

    Of entities that share pieces one is learnt: one that is whole pieces before one that is not, then the longest, then
    the first.

    Args:
        text: cut into pieces.
        entities: of it; they may overlap.
        tags: names of the tags.

    Returns:
        (int64 [T], numbers of the tags; numbers by FATES).
    """
    number_of = {tag: number for number, tag in enumerate(tags)}
    numbers = np.full(len(text.ids), number_of[OUTSIDE], np.int64)
    is_taken = np.zeros(len(text.ids), bool)
    fates = [0] * len(FATES)
    spans = {one: text.pieces_of(one.start, one.end) for one in entities}

    def is_exact(one: Entity) -> bool:
        span = spans[one]
        return span is not None and (int(text.starts[span[0]]), int(text.ends[span[1]])) == one[1:]

    for one in sorted(entities, key=lambda one: (not is_exact(one), one.start - one.end, one)):
        span = spans[one]
        if span is None:
            fates[LOST] += 1
            continue
        first, last = span
        if is_taken[first : last + 1].any():
            fates[OVERLAPPING] += 1
            continue
        is_taken[first : last + 1] = True
        numbers[first : last + 1] = number_of[f"I-{one.label}"]
        numbers[first] = number_of[f"B-{one.label}"]
        fates[EXACT if is_exact(one) else WITHIN] += 1
    return numbers, fates


def found_entities(
    count: int, features: Sequence[Feature], logits: Sequence[np.ndarray], tags: Sequence[str]
) -> list[tuple[FoundEntity, ...]]:
    """The entities that the likeliest tags mark in each text, in order; none overlaps the one before it.

    Args:
        count: number of texts.
        features: of all of them, in order.
        logits: for each feature float [at least as long as it, C].
        tags: their names.
    """
    parts: list[list[tuple[np.ndarray, ...]]] = [[] for _ in range(count)]
    for number, row in enumerate(logits):
        feature = features[number]
        places = np.flatnonzero(np.asarray(feature.notes[PIECES]))
        notes = (np.asarray(feature.notes[name])[places] for name in (PIECES, TEXT_STARTS, TEXT_ENDS))
        parts[feature.example].append((*notes, softmax(np.asarray(row, np.float64)[places])))
    return [_found_in(windows, tags) for windows in parts]


def _found_in(windows: Sequence[tuple[np.ndarray, ...]], tags: Sequence[str]) -> tuple[FoundEntity, ...]:
    """The entities of one text.

    Args:
        windows: of each, for the pieces that count in it: their numbers, starts, ends, and probabilities [pieces, C].
        tags: the names of the C tags.
    """
    numbers, starts, ends, probabilities = (np.concatenate(column) for column in zip(*windows, strict=True))
    order = np.argsort(numbers, kind="stable")
    starts, ends, probabilities = starts[order], ends[order], probabilities[order]
    best, chances = probabilities.argmax(axis=-1), probabilities.max(axis=-1)
    found, before = [], 0
    for kind, first, last in sorted(entities_of([tags[tag] for tag in best]), key=lambda span: span[1]):
        start, end = int(starts[first]), int(ends[last])
        # A character of several pieces cannot be in two entities.
        if start >= before:
            found.append(FoundEntity(Entity(kind, start, end), float(chances[first : last + 1].mean())))
        before = end
    return tuple(found)


def describe_fates(columns: Mapping[str, np.ndarray], noun: str = "entities") -> str:
    """A sentence on how many entities whole pieces are exactly, and why the others are not; "" without entities.

    Args:
        columns: flat arrays by the names of notes.
        noun: what they are called.
    """
    counts = np.asarray(columns.get(FATES_NOTE, ())).reshape(-1, len(FATES)).sum(axis=0, dtype=np.int64).tolist()
    total = sum(counts)
    if not total:
        return ""
    reasons = {
        WITHIN: "begin or end within a piece, and are learnt as the fewest pieces that hold them",
        OVERLAPPING: "share pieces with one that is learnt in their place",
        LOST: "are of characters that have no pieces",
        TOO_LONG: "have more pieces than --max_span_length, and are not found",
    }
    others = "".join(f"; {counts[fate]:,} {why}" for fate, why in reasons.items() if counts[fate])
    return f"{counts[EXACT]:,} of {total:,} {noun} are whole pieces, and can be found exactly{others}"
