"""Spans as pieces, which may overlap and have several labels, and back to characters of the text as it was given.

A span is known by its first piece, its number of pieces and its label. A long text becomes windows that overlap by
more than two of the longest spans, so that every span that is not too long lies whole in the window that its first
piece counts in.

Shapes: T pieces of a text, S positions of a window, W pieces of the longest span, C labels.
"""

from collections.abc import Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entity_files import Entity, MarkedText
from albert_tf.tasks.entity_pieces import (
    EXACT,
    FATES,
    FATES_NOTE,
    LOST,
    PIECES,
    TOO_LONG,
    WITHIN,
    FoundEntity,
    placed,
)
from albert_tf.tasks.squad_windows import TEXT_ENDS, TEXT_STARTS, cut_windows
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import sigmoid
from albert_tf.tokenization.alignment import AlignedText, align
from albert_tf.tokenization.base import Tokenizer

# Note of a feature: at each piece whether a span can end there.
ENDS = "can_end"


def span_stride(settings: TaskSettings) -> int:
    """Pieces between the starts of two windows: doc_stride, or as many as leave an overlap of two longest spans.

    Raises:
        InputError: the lengths leave no room.
    """
    room, widest = settings.max_seq_length - 2, settings.max_span_length
    if widest < 1 or room <= 2 * widest or settings.doc_stride < 1:
        raise InputError(
            f"spans of up to max_span_length={widest} pieces need a max_seq_length of {2 * widest + 3} or more, and a "
            f"doc_stride of 1 or more; received {settings.max_seq_length} and {settings.doc_stride}"
        )
    return min(settings.doc_stride, room - 2 * widest)


def own_places(windows: Sequence[tuple[int, int]], widest: int) -> list[tuple[int, int]]:
    """The pieces whose spans count in each window, from and to; all pieces of the text, once each.

    Args:
        windows: (start, length) of each.
        widest: W, so many pieces from the start of a window on count in the one before it.
    """
    starts = [0, *(start + widest for start, _ in windows[1:])]
    return list(zip(starts, [*starts[1:], sum(windows[-1])], strict=True))


def span_ends(text: AlignedText) -> tuple[np.ndarray, np.ndarray]:
    """Pieces at which a span can begin, and end: bool [T] each; of the pieces of one character only the outer ones."""
    visible = np.flatnonzero(text.starts < text.ends)
    begins, finishes = np.zeros((2, len(text.ids)), bool)
    begins[visible] = np.diff(text.starts[visible], prepend=-1) > 0
    finishes[visible] = np.diff(text.ends[visible], append=len(text.text) + 1) > 0
    return begins, finishes


def span_features(
    index: int, example: MarkedText, tokenizer: Tokenizer, settings: TaskSettings, labels: Sequence[str] = ()
) -> list[Feature]:
    """One feature for each window over the text.

    Args:
        index, example, tokenizer, settings: as in Task.features.
        labels: by their numbers; of a text without spans none are needed.
    """
    widest, stride = settings.max_span_length, span_stride(settings)
    text = align(tokenizer, example.text)
    begins, finishes = span_ends(text)
    spans, fates = None, []
    if example.entities is not None:
        spans, fates = _numbered(text, example.entities, labels, widest)
    windows = cut_windows(len(text.ids), settings.max_seq_length - 2, stride)
    features: list[Feature] = []
    for (start, length), (own, end) in zip(windows, own_places(windows, widest), strict=True):
        window, places = slice(start, start + length), np.arange(start, start + length)
        counts = begins[window] & (places >= own) & (places < end)
        label = None
        if spans is not None:
            # [CLS] stands before the first piece.
            inside = [(first - start + 1, width, kind) for first, width, kind in spans if own <= first < end]
            label = [(first * widest + width - 1) * len(labels) + kind for first, width, kind in inside]
        notes = {
            PIECES: placed(np.where(counts, places + 1, 0)),
            ENDS: placed(finishes[window]),
            TEXT_STARTS: placed(text.starts[window]),
            TEXT_ENDS: placed(text.ends[window]),
            FATES_NOTE: [] if features else fates,
        }
        ids = [tokenizer.cls_id, *text.ids[window], tokenizer.sep_id]
        features.append(Feature(index, ids, [0] * len(ids), label, p_mask=placed(~counts, 1), notes=notes))
    return features


def _numbered(
    text: AlignedText, spans: Sequence[Entity], labels: Sequence[str], widest: int
) -> tuple[list[tuple[int, int, int]], list[int]]:
    """(first piece, pieces, number of the label) of the spans that can be learnt, each once; numbers by FATES."""
    number_of = {label: number for number, label in enumerate(labels)}
    found: set[tuple[int, int, int]] = set()
    fates = [0] * len(FATES)
    begins, finishes = span_ends(text)
    for one in spans:
        pieces = text.pieces_of(one.start, one.end)
        if pieces is None:
            fates[LOST] += 1
            continue
        # Of the pieces of one character the outer ones.
        first, last = np.flatnonzero(begins[: pieces[0] + 1])[-1], pieces[1] + int(np.argmax(finishes[pieces[1] :]))
        if last - first >= widest:
            fates[TOO_LONG] += 1
            continue
        found.add((int(first), int(last - first) + 1, number_of[one.label]))
        is_exact = (int(text.starts[first]), int(text.ends[last])) == one[1:]
        fates[EXACT if is_exact else WITHIN] += 1
    return sorted(found), fates


def found_spans(
    count: int, features: Sequence[Feature], logits: Sequence[np.ndarray], labels: Sequence[str]
) -> list[tuple[FoundEntity, ...]]:
    """The spans that are likelier than not in each text, by their places.

    Args:
        count: number of texts.
        features: of all of them, in order.
        logits: for each feature float [at least as long as it, W, C].
        labels: their names.
    """
    found: list[list[tuple[int, int, int, float]]] = [[] for _ in range(count)]
    for number, row in enumerate(logits):
        feature = features[number]
        row, notes = np.asarray(row), {name: np.asarray(values) for name, values in feature.notes.items()}
        places = np.flatnonzero(notes[PIECES])
        at, more, kinds = np.nonzero(row[places] > 0)
        firsts = places[at]
        lasts = firsts + more
        inside = lasts < len(notes[ENDS])
        inside[inside] = notes[ENDS][lasts[inside]] > 0
        firsts, lasts, more, kinds = (values[inside] for values in (firsts, lasts, more, kinds))
        scores = sigmoid(row[firsts, more, kinds].astype(np.float64))
        columns = notes[TEXT_STARTS][firsts], notes[TEXT_ENDS][lasts], kinds, scores
        found[feature.example].extend(zip(*(column.tolist() for column in columns), strict=True))
    return [
        tuple(FoundEntity(Entity(labels[kind], start, end), score) for start, end, kind, score in sorted(rows))
        for rows in found
    ]
