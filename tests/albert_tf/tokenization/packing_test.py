"""Packing against the official loop (pop from the longer, of equals the second), for every small pair of lengths."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.packing import pack_pair, truncated_lengths


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
    # Of an odd room the first has more, and nothing is left of a text there is no room for.
    assert pack_pair([11, 12], [21, 22], 6, cls_id=2, sep_id=3)[0] == [2, 11, 12, 3, 21, 3]
    assert pack_pair([11, 12], [21, 22], 4, cls_id=2, sep_id=3)[0] == [2, 11, 3, 3]


def test_a_single_text_is_cut_at_its_end():
    assert pack_pair([11, 12, 13, 14], None, 5, cls_id=2, sep_id=3) == ([2, 11, 12, 13, 3], [0] * 5)


def test_an_empty_second_text_is_still_a_pair():
    assert pack_pair([11], [], 8, cls_id=2, sep_id=3) == ([2, 11, 3, 3], [0, 0, 0, 1])


@pytest.mark.parametrize(("second", "length"), [(None, 2), ([1], 3), ([1], -1)])
def test_a_length_without_room_for_text_is_refused(second, length):
    with pytest.raises(InputError, match=f"no room for text. Received {length}"):
        pack_pair([1], second, length, cls_id=2, sep_id=3)
