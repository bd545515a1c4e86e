"""The examples in docstrings give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("albert_tf", "data_prep")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name, monkeypatch):
    monkeypatch.setattr(InputError, "in_command", False)
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_examples_are_found():
    assert {"albert_tf.models.albert", "albert_tf.tokenization.packing"} < set(MODULES)
