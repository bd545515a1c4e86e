"""Records, losses, scores, exports: what the commands made of a text when golden.json was written, they make of it now.

A change that is meant to change one of them writes the file anew, by `python tests/golden/golden.py
--output_file=tests/golden/golden.json`, and says so. The hashes of weights in it hold on one machine and are not read.
"""

import json
from pathlib import Path

import pytest
from loading import load_module

# Other instruction sets (SSE 4.1 for AVX-512) change no value by a tenth of this.
_ROUNDING = 1e-5


GOLDEN = load_module(Path(__file__).with_name("golden.py"))


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(GOLDEN.collect()))


@pytest.fixture(scope="module")
def golden():
    return json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


@pytest.mark.golden
def test_text_and_records_are_the_same(found, golden):
    assert list(GOLDEN.differences(golden["exact"], found["exact"], 0.0)) == []


@pytest.mark.golden
@pytest.mark.parametrize("part", ["pretraining", "evaluation", "finetuning", "export"])
def test_losses_scores_and_outputs_are_the_same_but_for_rounding(found, golden, part):
    assert list(GOLDEN.differences(golden["close"][part], found["close"][part], _ROUNDING)) == []


@pytest.mark.golden
def test_weights_come_back_from_every_format_as_they_were(found):
    for name in ("hugging_face", "official"):
        assert found["weights"][f"from {name}"]["model"] == found["weights"]["lamb"]["model"], name


def test_every_kind_of_difference_is_seen():
    old = {"a": [1.0, 2], "b": "x"}
    assert list(GOLDEN.differences(old, {"a": [1.0 + 1e-6, 2], "b": "x"}, _ROUNDING)) == []
    for new in (
        {"a": [1.001, 2], "b": "x"},
        {"a": [float("nan"), 2], "b": "x"},
        {"a": [1.0, 3], "b": "x"},
        {"a": [1.0], "b": "x"},
        {"a": [1.0, 2], "b": "y"},
        {"a": [1.0, 2]},
    ):
        assert list(GOLDEN.differences(old, new, _ROUNDING)), new
