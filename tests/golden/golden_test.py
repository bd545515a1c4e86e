"""Records, losses, scores, exports: what the commands made of a text when golden.json was written, they make of it now.

A change that is meant to change one of them writes the file anew, by `python tests/golden/golden.py
--output_file=tests/golden/golden.json`, and says so. The hashes of weights in it hold on one machine and are not read.
"""

import importlib.util
import json
from pathlib import Path

import pytest

# Other instruction sets (SSE 4.1 for AVX-512) change no value by a tenth of this.
_ROUNDING = 1e-5


def _load():
    spec = importlib.util.spec_from_file_location("golden", Path(__file__).with_name("golden.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


differences = _load().differences


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(_load().collect()))


@pytest.fixture(scope="module")
def golden():
    return json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


@pytest.mark.golden
def test_text_and_records_are_the_same(found, golden):
    assert list(differences(golden["exact"], found["exact"], 0.0)) == []


@pytest.mark.golden
@pytest.mark.parametrize("part", ["pretraining", "evaluation", "finetuning", "export"])
def test_losses_scores_and_outputs_are_the_same_but_for_rounding(found, golden, part):
    assert list(differences(golden["close"][part], found["close"][part], _ROUNDING)) == []


@pytest.mark.golden
def test_weights_come_back_from_every_format_as_they_were(found):
    for name in ("hugging_face", "official"):
        assert found["weights"][f"from {name}"]["model"] == found["weights"]["lamb"]["model"], name


def test_every_kind_of_difference_is_seen():
    old = {"a": [1.0, 2], "b": "x"}
    assert list(differences(old, {"a": [1.0 + 1e-6, 2], "b": "x"}, _ROUNDING)) == []
    for new in (
        {"a": [1.001, 2], "b": "x"},
        {"a": [float("nan"), 2], "b": "x"},
        {"a": [1.0, 3], "b": "x"},
        {"a": [1.0], "b": "x"},
        {"a": [1.0, 2], "b": "y"},
        {"a": [1.0, 2]},
    ):
        assert list(differences(old, new, _ROUNDING)), new
