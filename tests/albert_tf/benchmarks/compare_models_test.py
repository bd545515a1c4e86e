"""Flags of the comparison of models, refused before anything is measured."""

import pytest

from albert_tf.benchmarks.compare_models import check
from albert_tf.runtime.errors import InputError

_USUAL = {"models": ["albert_tiny", "bert_base"], "max_seq_length": 64, "max_predictions": 20, "output_file": None}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"models": []}, "^--models: give names of shipped configs"),
        ({"models": ["albert_tiny", ""]}, "^--models: give names of shipped configs"),
        ({"models": ["albert_tiny", "albert_base_v2", "albert_tiny"]}, "^--models: albert_tiny stands there twice"),
        ({"models": ["no_such"]}, "no_such.*no such config file"),
        ({"max_seq_length": 100_000}, "^--max_seq_length=100000: albert_tiny has [0-9]+ positions"),
        ({"max_seq_length": 16}, "^--max_predictions_per_seq=20 is more than --max_seq_length=16"),
        ({"output_file": "."}, "^--output_file=. is a folder; name a file"),
    ],
)
def test_what_no_model_would_be_measured_of_is_one_line(changes, line):
    with pytest.raises(InputError, match=line):
        check(**_USUAL | changes)


def test_the_usual_flags_will_do(tmp_path):
    check(**_USUAL)
    check(**_USUAL | {"output_file": str(tmp_path / "table.md")})
