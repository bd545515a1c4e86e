"""Packing against the official loop (pop from the longer, of equals the second), for every small pair of lengths."""

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.packing import pack_batch, pack_pair, truncated_lengths


def popped_lengths(first: int, second: int, room: int) -> tuple[int, int]:
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


def test_truncation_in_closed_form_is_the_official_loop():
    for room in range(1, 12):
        for first in range(16):
            for second in range(16):
                assert truncated_lengths(first, second, room) == popped_lengths(first, second, room)


def test_a_pair_is_packed_with_segments():
    assert pack_pair([11, 12], [21], 128, cls_id=2, sep_id=3) == ([2, 11, 12, 3, 21, 3], [0, 0, 0, 0, 1, 1])


def test_a_pair_is_cut_at_both_ends_of_its_texts():
    assert pack_pair([11, 12, 13], [21, 22, 23], 7, cls_id=2, sep_id=3) == (
        [2, 11, 12, 3, 21, 22, 3],
        [0, 0, 0, 0, 1, 1, 1],
    )
    # The first text takes the odd piece, and a text without any room is left out.
    assert pack_pair([11, 12], [21, 22], 6, cls_id=2, sep_id=3)[0] == [2, 11, 12, 3, 21, 3]
    assert pack_pair([11, 12], [21, 22], 4, cls_id=2, sep_id=3)[0] == [2, 11, 3, 3]


def test_a_single_text_is_cut_at_its_end():
    assert pack_pair([11, 12, 13, 14], None, 5, cls_id=2, sep_id=3) == ([2, 11, 12, 13, 3], [0] * 5)


def test_an_empty_second_text_is_still_a_pair():
    assert pack_pair([11], [], 8, cls_id=2, sep_id=3) == ([2, 11, 3, 3], [0, 0, 0, 1])


@pytest.mark.parametrize(("second", "length"), [(None, 2), ([1], 3), ([1], -1)])
def test_a_length_without_room_for_text_is_refused(second, length):
    with pytest.raises(InputError, match=rf"must be at least \d, so that there is room beside .* Received {length}"):
        pack_pair([1], second, length, cls_id=2, sep_id=3)


class _Letters:
    """A tokenizer whose pieces are letters."""

    pad_id, cls_id, sep_id = 9, 2, 3

    def encode_batch(self, texts):
        return [[ord(letter) - ord("a") + 10 for letter in text] for text in texts]


def test_a_batch_is_padded_to_its_longest_row():
    batch = pack_batch(_Letters(), ["abc", "a"], None, 10)
    assert {name: array.dtype for name, array in batch.items()} == dict.fromkeys(batch, np.dtype(np.int32))
    assert batch["input_ids"].tolist() == [[2, 10, 11, 12, 3], [2, 10, 3, 9, 9]]
    assert batch["input_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert not batch["segment_ids"].any()


def test_pairs_are_packed_as_pack_pair_does():
    batch = pack_batch(_Letters(), ["abcd", "a"], ["ab", "abcdef"], 8)
    for row, (first, second) in enumerate([("abcd", "ab"), ("a", "abcdef")]):
        ids, segments = pack_pair(*_Letters().encode_batch([first, second]), 8, 2, 3)
        assert batch["input_ids"][row].tolist() == ids
        assert batch["segment_ids"][row].tolist() == segments


@pytest.mark.parametrize("texts", [[], None, 5, ["a", 5], {"a": 1}, b"a", np.array("a")])
def test_what_is_no_text_is_one_line(texts):
    with pytest.raises(InputError, match="list of texts(, one at least| was expected; received)") as error:
        pack_batch(_Letters(), texts, None, 8)
    assert "\n" not in str(error.value)


def test_another_number_of_pairs_is_one_line():
    with pytest.raises(InputError, match="`pairs` must be as many as `texts`. Received 1 and 2"):
        pack_batch(_Letters(), ["a", "b"], ["c"], 8)
