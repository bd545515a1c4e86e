"""Finished units: they come back as they were, and any damage is seen."""

import os
import random

import numpy as np
import pytest

from data_prep.job.unit_files import read_unit, write_unit

ARRAYS = {"ids": np.arange(1000, dtype=np.uint16), "empty": np.zeros(0, np.uint32), "text": b"some bytes"}


@pytest.fixture
def unit(tmp_path) -> str:
    write_unit(str(tmp_path / "unit"), {"documents": 3}, ARRAYS)
    return str(tmp_path / "unit")


def test_a_unit_comes_back_as_it_was(unit):
    found = read_unit(unit, check=True)
    assert found.header == {"documents": 3}
    assert found.arrays["ids"].dtype == np.uint16
    assert found.arrays["ids"].tolist() == [*range(1000)]
    assert found.arrays["text"].tobytes() == b"some bytes"
    assert len(found.arrays["empty"]) == 0
    assert read_unit(unit + "x") is None


def test_damage_anywhere_is_seen(unit):
    with open(unit, "rb") as file:
        whole = file.read()
    rng = random.Random(0)
    for _ in range(300):
        damaged = bytearray(whole)
        if rng.random() < 0.5:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        else:
            del damaged[rng.randrange(len(damaged)) :]
        with open(unit, "wb") as file:
            file.write(damaged)
        assert read_unit(unit, check=True) is None


def test_two_tasks_whose_processes_have_one_number_write_the_same_unit(tmp_path):
    """Containers count their processes from 1, each for itself: this process stands for one in each of two."""
    path = str(tmp_path / "unit")

    class Interrupted(dict):
        """Arrays in the midst of which another task does something."""

        def __init__(self, arrays, meanwhile):
            super().__init__(arrays)
            self.meanwhile = meanwhile

        def items(self):
            for place, item in enumerate(super().items()):
                if place == 1:
                    self.meanwhile()
                yield item

    def finish_late():
        write_unit(path, {}, Interrupted(ARRAYS, see_that_it_is_whole))

    def see_that_it_is_whole():
        write_unit(path, {}, ARRAYS)
        assert read_unit(path, check=True) is not None

    write_unit(path, {}, Interrupted(ARRAYS, finish_late))
    assert read_unit(path, check=True).arrays["ids"].tolist() == [*range(1000)]
    assert os.listdir(tmp_path) == ["unit"]


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        write_unit(str(tmp_path / "nowhere" / "unit"), {}, ARRAYS)
    with pytest.raises(TypeError):
        write_unit(str(tmp_path / "unit"), {"not": object()}, ARRAYS)
    assert os.listdir(tmp_path) == []
