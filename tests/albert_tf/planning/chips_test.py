"""The chips that a plan can be of: names, shapes, and the least time of a sum over them."""

import pytest

from albert_tf.planning.chips import CHIPS, Topology, parse_topology
from albert_tf.runtime.errors import InputError


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        ("v5e:2x2", "v5e", 4),
        ("v5e:16x16", "v5e", 256),
        ("V6E:4x8", "v6e", 32),
        ("v5p:2x2x4", "v5p", 16),
        ("v5p:4x4x12", "v5p", 192),
        ("h100:64", "h100", 64),
        ("h200", "h200", 1),
        (" a100:8 ", "a100", 8),
    ],
)
def test_a_topology_is_a_kind_and_a_number_of_chips(text, kind, count):
    assert parse_topology(text) == Topology(kind, count)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("v9:2x2", "known are v5e"),
        ("", "known are v5e"),
        ("v5e", "a slice of v5e has 2 sides, such as v5e:2x2"),
        ("v5e:4", "2 sides"),
        ("v5e:0x4", "2 sides"),
        ("v5p:2x2", "3 sides"),
        ("v5e:32x16", "at most 256 chips"),
        ("v5e:3x3", "1, 2, 4, 8 or 16 chips long"),
        ("v6e:12x4", "1, 2, 4, 8 or 16 chips long"),
        ("v5p:2x2x6", "1, 2 or a multiple of 4 chips long"),
        ("h100:2x4", "such as h100:8"),
        ("h100:many", "such as h100:8"),
        ("h100:0", "such as h100:8"),
        ("h100:-8", "such as h100:8"),
    ],
)
def test_what_is_no_topology_is_told(text, reason):
    with pytest.raises(InputError, match="--topology=") as error:
        parse_topology(text)
    assert reason in str(error.value)


def test_one_chip_exchanges_nothing():
    assert Topology("h100", 1).seconds_to_sum(1e9) == 0


def test_within_a_group_all_but_a_share_is_sent_twice():
    # 4 chips: 2 * 3 / 4 of 8 GB, at 200 GB/s.
    assert Topology("v5e", 4).seconds_to_sum(8e9) == pytest.approx(12e9 / CHIPS["v5e"].link_bandwidth)


def test_between_groups_a_share_goes_over_the_network():
    one, two = (Topology("h100", count).seconds_to_sum(8e9) for count in (8, 16))
    # Each of eight sends an eighth of the sums, 1 GB, to the other group, and gets the other half of them.
    assert two - one == pytest.approx(1e9 / CHIPS["h100"].network_bandwidth)
