"""[CLS] first [SEP] second [SEP]: ids of one or two texts to the input of the model.

Shapes: B batch, S sequence.
"""

import reprlib
from collections.abc import Sequence

import numpy as np

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.given_values import count_of, items_of


def pack_pair(
    first_ids: Sequence[int],
    second_ids: Sequence[int] | None,
    max_seq_length: int,
    cls_id: int,
    sep_id: int,
) -> tuple[list[int], list[int]]:
    """Packs one or two texts, cut at their ends to fit.

    The longer of a pair loses its last id until both fit; of two equally long ones, the second
    (_truncate_seq_pair of the official classifier_utils.py).

    >>> pack_pair([11, 12, 13], [21, 22, 23], 7, cls_id=2, sep_id=3)
    ([2, 11, 12, 3, 21, 22, 3], [0, 0, 0, 0, 1, 1, 1])

    Args:
        first_ids: ids of the first text, without [CLS] and [SEP].
        second_ids: ids of the second text; None for a single one.
        max_seq_length: the most ids that may come out.
        cls_id: id of [CLS].
        sep_id: id of [SEP].

    Returns:
        (input_ids, segment_ids), unpadded. Segment 0 is [CLS] first [SEP], segment 1 is second [SEP].
    """
    room = room_for_text(max_seq_length, pair=second_ids is not None)
    if second_ids is None:
        input_ids = [cls_id, *first_ids[:room], sep_id]
        return input_ids, [0] * len(input_ids)
    first_length, second_length = truncated_lengths(len(first_ids), len(second_ids), room)
    first = [cls_id, *first_ids[:first_length], sep_id]
    second = [*second_ids[:second_length], sep_id]
    return first + second, [0] * len(first) + [1] * len(second)


def pack_batch(tokenizer, texts, pairs, max_seq_length: int, with_masks: bool = False) -> dict[str, np.ndarray]:
    """Makes padded arrays of texts; see Tokenizer.__call__.

    Args:
        tokenizer: a Tokenizer.
        texts: one text, or several.
        pairs: the second text of each, or None.
        max_seq_length: the most ids of a sequence.
        with_masks: whether "[MASK]" in a text is the piece of that name.

    Returns:
        "input_ids", "input_mask" and "segment_ids", int32 [B, S].
    """
    max_seq_length = count_of(max_seq_length, "max_length")
    firsts = _texts("texts", texts)
    seconds = None if pairs is None else _texts("pairs", pairs)
    if seconds is not None and len(seconds) != len(firsts):
        raise InputError(f"`pairs` must be as many as `texts`. Received {len(seconds)} and {len(firsts)}.")

    def encode(texts):
        return [tokenizer.encode_with_masks(text) for text in texts] if with_masks else tokenizer.encode_batch(texts)

    seconds = [None] * len(firsts) if seconds is None else encode(seconds)
    rows = [
        pack_pair(first, second, max_seq_length, tokenizer.cls_id, tokenizer.sep_id)
        for first, second in zip(encode(firsts), seconds, strict=True)
    ]
    longest = max(len(ids) for ids, _ in rows)
    arrays = {name: np.zeros((len(rows), longest), np.int32) for name in ("input_ids", "input_mask", "segment_ids")}
    arrays["input_ids"][:] = tokenizer.pad_id
    for at, (ids, segments) in enumerate(rows):
        arrays["input_ids"][at, : len(ids)] = ids
        arrays["input_mask"][at, : len(ids)] = 1
        arrays["segment_ids"][at, : len(ids)] = segments
    return arrays


def _texts(name: str, given) -> list[str]:
    """One text or several as a list; raises InputError for anything else, and for none."""
    texts = [given] if isinstance(given, str) else items_of(given, "texts")
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InputError(f"`{name}` must be a text or a list of texts, one at least. Received {reprlib.repr(given)}.")
    return texts


def room_for_text(max_seq_length: int, pair: bool) -> int:
    """Number of ids of text that fit beside [CLS] and [SEP]; raises InputError if none does."""
    room = max_seq_length - (3 if pair else 2)
    if room < 1:
        raise FlagError(
            f"--max_seq_length must be at least {4 if pair else 3}, so that there is room beside [CLS] and [SEP]. "
            f"Received {max_seq_length}"
        )
    return room


def truncated_lengths(first_length, second_length, room, minimum=min, maximum=max):
    """Lengths that are kept of a pair, in closed form, so that a graph can work them out too.

    A text within its half of the room is kept whole; of an odd room, the first text has the larger half.

    Args:
        first_length: length of the first text: an int, or an integer tensor with fitting minimum and maximum.
        second_length: the same of the second.
        room: the most that both may have together, a number of the same kind.
        minimum: min, or its like for tensors.
        maximum: max, or its like for tensors.

    Returns:
        (kept of the first, kept of the second).
    """
    second_half = room // 2
    first_half = room - second_half
    return (
        minimum(first_length, maximum(first_half, room - second_length)),
        minimum(second_length, maximum(second_half, room - first_length)),
    )
