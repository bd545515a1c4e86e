"""Values from Python: what is taken as a path, a list, a count, and what is refused."""

import pathlib

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.given_values import count_of, items_of, path_of


def test_items_are_those_of_what_gives_them_in_an_order():
    class Table(list):
        columns = ("text",)

    assert items_of(("b", "a"), "texts") == items_of((text for text in "ba"), "texts") == ["b", "a"]
    for given in ({"b": "rain"}, {"b", "a"}, frozenset("b"), Table("b"), np.array("b"), 7, None):
        with pytest.raises(InputError, match="a list of texts was expected; received"):
            items_of(given, "texts")


def test_paths_are_texts_or_paths():
    assert path_of("runs/base/") == path_of(pathlib.Path("runs/base")) == "runs/base"
    assert path_of("/") == "/"
    for given in ("", None, 7, b"runs", ["runs"]):
        with pytest.raises(InputError, match="a path was expected. Received"):
            path_of(given)


def test_counts_are_whole_numbers_of_numpy_too():
    assert count_of(np.int64(3), "top_k") == count_of(3, "top_k") == 3
    assert type(count_of(np.int64(3), "top_k")) is int
    for given in (0, -1, True, 3.0, "3", None, np.float32(3)):
        with pytest.raises(InputError, match="`top_k` must be a whole number of at least 1. Received"):
            count_of(given, "top_k")
