"""A question and the windows over its paragraph, as the official run_squad cuts them.

[CLS] question [SEP] window [SEP]. A window starts doc_stride pieces after the one before it; of a piece that is in
several windows, the one with the most context around it is the one whose answers count.
"""

import dataclasses
import functools

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.squad_examples import SquadExample
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.alignment import AlignedText, align
from albert_tf.tokenization.base import Tokenizer

# Notes of a feature, a value for each position: the characters of the paragraph that its piece stands for, and
# whether this window is the one in which the piece has the most context.
TEXT_STARTS, TEXT_ENDS, MAX_CONTEXT = "text_starts", "text_ends", "is_max_context"
# The official weight of a window's length beside the context of a piece.
LENGTH_WEIGHT = 0.01
# Questions about one paragraph follow one another.
_PARAGRAPHS_REMEMBERED = 4

_align = functools.lru_cache(maxsize=_PARAGRAPHS_REMEMBERED)(align)


def squad_features(index: int, example: SquadExample, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
    """One feature for each window.

    The label of a window is the first answer, if the window holds all of it; else (0, 0, 1), the position of [CLS] and
    "impossible". Where an answer starts or ends within a piece, the label is the fewest whole pieces that hold it.
    """
    whole_question = tokenizer.encode(example.question)
    question = whole_question[: settings.max_query_length]
    context = _align(tokenizer, example.context)
    room = settings.max_seq_length - len(question) - 3
    if room < 1 or settings.doc_stride < 1:
        raise InputError(
            f"max_seq_length={settings.max_seq_length} leaves {room} pieces for the paragraph beside a question of "
            f"{len(question)}, doc_stride is {settings.doc_stride}; both must be at least 1"
        )
    windows = cut_windows(len(context.ids), room, settings.doc_stride)
    is_best = max_context(windows, len(context.ids))
    span = _answer_pieces(example, context)
    features = []
    for (start, length), best in zip(windows, is_best):
        label = None if example.is_impossible is None else _label(span, start, length, len(question) + 2)
        feature = _feature(index, question, context, start, length, best, label, tokenizer)
        features.append(dataclasses.replace(feature, pieces_cut=len(whole_question) - len(question)))
    return features


def cut_windows(count: int, room: int, stride: int) -> list[tuple[int, int]]:
    """(start, length) of the windows over `count` pieces; one, perhaps empty, at the least."""
    windows, start = [], 0
    while True:
        length = min(room, count - start)
        windows.append((start, length))
        if start + length >= count:
            return windows
        start += min(length, stride)


def max_context(windows: list[tuple[int, int]], count: int) -> list[np.ndarray]:
    """Marks, for each window, each piece in it that has no more context around it in any other window.

    The context is min(pieces to the left, pieces to the right) + 0.01 * length of the window (run_squad's
    _check_is_max_context); of equals the first one counts.
    """
    best_score, best_window = np.full(count, -1.0), np.full(count, -1)
    for number, (start, length) in enumerate(windows):
        places = np.arange(length)
        score = np.minimum(places, length - 1 - places) + LENGTH_WEIGHT * length
        better = score > best_score[start : start + length]
        best_score[start : start + length][better] = score[better]
        best_window[start : start + length][better] = number
    return [best_window[start : start + length] == number for number, (start, length) in enumerate(windows)]


def _answer_pieces(example: SquadExample, context: AlignedText) -> tuple[int, int] | None:
    if not example.answers:
        return None
    answer = example.answers[0]
    return context.pieces_of(answer.start, answer.start + len(answer.text))


def _label(span: tuple[int, int] | None, start: int, length: int, offset: int) -> tuple[int, int, int]:
    if span is None or span[0] < start or span[1] >= start + length:
        return 0, 0, 1
    return span[0] - start + offset, span[1] - start + offset, 0


def _feature(
    index: int,
    question: list[int],
    context: AlignedText,
    start: int,
    length: int,
    is_best: np.ndarray,
    label: tuple[int, int, int] | None,
    tokenizer: Tokenizer,
) -> Feature:
    before, window = len(question) + 2, slice(start, start + length)

    def placed(values: np.ndarray) -> np.ndarray:
        """Values of the window's pieces at their positions, 0 elsewhere."""
        return np.concatenate([np.zeros(before, np.int64), values, [0]]).astype(np.int64)

    return Feature(
        example=index,
        input_ids=[tokenizer.cls_id, *question, tokenizer.sep_id, *context.ids[window], tokenizer.sep_id],
        segment_ids=[0] * before + [1] * (length + 1),
        label=label,
        # [CLS] stays open: it is where "no answer" is.
        p_mask=[0, *[1] * (before - 1), *[0] * length, 1],
        notes={
            TEXT_STARTS: placed(context.starts[window]),
            TEXT_ENDS: placed(context.ends[window]),
            MAX_CONTEXT: placed(is_best),
        },
    )
