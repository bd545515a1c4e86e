"""The model of predict and fill_mask is named by one flag of several names."""

import pytest
from absl import flags

from albert_tf.runtime.errors import InputError
from albert_tf.serving.model_flags import define_model_flags, model_of

NAMES = ("model", "saved_model", "output_dir")


def _given(*arguments):
    values = flags.FlagValues()
    define_model_flags(NAMES, values)
    values(["predict", *arguments])
    return values


@pytest.mark.parametrize("name", NAMES)
def test_every_name_will_do(name):
    assert model_of(_given(f"--{name}=runs/sst-2"), NAMES) == "runs/sst-2"


def test_two_of_them_are_one_line():
    with pytest.raises(InputError, match="give one of (--)?model and (--)?output_dir"):
        model_of(_given("--output_dir=a", "--model=b"), NAMES)
