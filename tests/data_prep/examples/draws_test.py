"""Draws: the same for ever, even, and within their limits."""

import numpy as np

from data_prep.examples.draws import Draws, derive_seed


def test_draws_are_the_same_on_every_machine():
    # A change here changes every record set ever written with the same flags.
    draws = Draws(2**127 + 12345)
    assert draws.unit(2).tolist() == [0.3228741097508113, 0.34742473426714315]
    assert draws.below(np.array([10, 1000, 7])).tolist() == [4, 364, 1]
    assert draws.coins(8).tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    assert draws.integer(5, 9) == 8


def test_draws_are_even_and_within_their_limits():
    draws = Draws(derive_seed("even"))
    units = draws.unit(100_000)
    assert units.min() >= 0
    assert units.max() < 1
    assert abs(units.mean() - 0.5) < 4 * (1 / 12 / 100_000) ** 0.5
    limits = np.repeat([1, 3, 10], 30_000)
    drawn = draws.below(limits)
    for limit in (1, 3, 10):
        counts = np.bincount(drawn[limits == limit], minlength=limit)
        assert len(counts) == limit
        assert ((counts - 30_000 / limit) ** 2 / (30_000 / limit)).sum() < limit + 5 * (2 * limit) ** 0.5
    coins = draws.coins(100_001)
    assert len(coins) == 100_001
    assert abs(coins.mean() - 0.5) < 4 * 0.5 / 100_001**0.5
    assert {draws.integer(2, 4) for _ in range(100)} == {2, 3, 4}
    assert draws.coins(0).tolist() == draws.unit(0).tolist() == []


def test_the_seeds_of_units_are_the_same_on_every_machine():
    # A change here changes every record set ever written with the same flags.
    assert derive_seed(12345, 0, 0) == 0x6DECA5256C3A4E25EA67E621F9B311E1
    assert len({derive_seed(12345, part, duplicate) for part in range(20) for duplicate in range(20)}) == 400
