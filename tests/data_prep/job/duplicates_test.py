"""Duplicates found by digest, a few at a time, against what a set finds at once."""

import random

import numpy as np
import pytest

from data_prep.job.duplicates import find_duplicates, read_kept
from data_prep.job.unit_files import write_unit


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_all_but_the_first_are_left_out_however_many_are_compared_at_a_time(tmp_path, at_once):
    rng = random.Random(0)
    parts = [[rng.randrange(60) for _ in range(size)] for size in (30, 0, 1, 17, 50)]
    paths = []
    for number, part in enumerate(parts):
        # Digests that share their first half are told apart by the second.
        digests = np.array([[2**63 + value // 2, value % 2] for value in part], np.uint64).reshape(-1)
        paths.append(str(tmp_path / f"tokens-{number}"))
        write_unit(paths[-1], {}, {"digests": digests})
    find_duplicates(str(tmp_path), paths, at_once)
    seen = set()
    for number, part in enumerate(parts):
        expected = []
        for value in part:
            expected.append(value not in seen)
            seen.add(value)
        assert read_kept(str(tmp_path), number, len(part)).tolist() == expected
