"""Settings made in Python of values that no flag could have, and what their fields say of themselves."""

import dataclasses
import inspect
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

import albert_tf
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings import Bounds, Count, OneOf, OnlyWith, Share, check, described, fields_of, warn_of_idle
from albert_tf.tasks.registry import TaskOptions


def _pretraining(**changes):
    given = {"albert_config_file": "config.json", "input_file": "records", "output_dir": "run", **changes}
    return albert_tf.PretrainingSettings(**given)


def _finetuning(**changes):
    return albert_tf.FinetuningSettings(**{"task_name": "cola", "output_dir": "run", **changes})


def _evaluation(**changes):
    return albert_tf.EvaluationSettings(**{"input_file": "records", "output_dir": "run", **changes})


def _export(**changes):
    return albert_tf.ExportSettings(**{"init_checkpoint": "run", "output_dir": "export", **changes})


@pytest.mark.parametrize(
    ("make", "name", "value", "rule"),
    [
        (_pretraining, "train_batch_size", "32", "an integer"),
        (_pretraining, "train_batch_size", 32.5, "an integer"),
        (_pretraining, "train_batch_size", True, "an integer"),
        (_pretraining, "log_steps", None, "an integer"),
        (_pretraining, "learning_rate", "1e-3", "a number"),
        (_pretraining, "train_minutes", "5", "a number"),
        (_pretraining, "warmup_proportion", "0.1", "a number"),
        (_pretraining, "do_train", "false", "True or False"),
        (_pretraining, "masked_lm_prob", 0.15, "text"),
        (_pretraining, "output_dir", b"run", "a path: text, or an object such as pathlib.Path"),
        (_pretraining, "output_dir", None, "a path: text, or an object such as pathlib.Path"),
        (_pretraining, "input_file", ["a", "b"], "a path: text, or an object such as pathlib.Path"),
        (_pretraining, "tpu", "grpc://host", "of type TpuAddress"),
        (_finetuning, "random_seed", 1.5, "an integer"),
        (_finetuning, "num_train_epochs", "3", "a number"),
        (_finetuning, "task_options", {"labels": ["a"]}, "of type TaskOptions"),
        (TaskOptions, "labels", "a,b", "a tuple of texts"),
        (TaskOptions, "labels", (0, 1), "a tuple of texts"),
        (TaskOptions, "text_column", 3, "text"),
        (_evaluation, "eval_batch_size", "8", "an integer"),
        (_export, "max_seq_length", "128", "an integer"),
    ],
)
def test_another_type_is_one_line(make, name, value, rule):
    with pytest.raises(InputError) as error:
        make(**{name: value})
    assert str(error.value) == f"--{name} must be {rule}. Received {value!r}."


def test_words_are_named_where_only_a_few_are_allowed():
    with pytest.raises(InputError, match="--jit_compile must be one of auto, true, false. Received True"):
        _pretraining(jit_compile=True)
    with pytest.raises(InputError, match="--precision must be one of float32, bfloat16. Received 'mixed_bfloat16'"):
        _export(precision="mixed_bfloat16")


def test_numbers_of_numpy_and_lists_are_as_good():
    given = _pretraining(train_batch_size=np.int64(32), learning_rate=np.float32(1))
    assert given.train_batch_size == 32
    # As they are written into checkpoints.
    assert (type(given.train_batch_size), type(given.learning_rate)) == (int, float)
    assert _finetuning(num_train_epochs=2, data_dir=Path("data")).num_train_epochs == 2
    assert TaskOptions(labels=["a", "b"]).labels == ["a", "b"]


def test_an_empty_name_of_a_class_is_one_line():
    with pytest.raises(InputError, match="--labels must not hold an empty name. Received a,b,.$"):
        TaskOptions(labels=("a", "b", ""))


@described
@dataclasses.dataclass(frozen=True)
class _Window:
    """A window."""

    size: Annotated[Count, "Its size."] = 2
    step: Count = 1
    form: Annotated[str, OneOf("round", "square")] = "round"
    share: Annotated[Share | None, "Its share."] = None

    def __post_init__(self):
        check(self)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [("step", 0, "be at least 1"), ("form", "oval", "be one of round, square"), ("share", 1, "lie in [0, 1)")],
)
def test_rules_hold_without_a_text_too(name, value, rule):
    with pytest.raises(InputError) as error:
        _Window(**{name: value})
    assert str(error.value) == f"--{name} must {rule}. Received {value!r}."


def test_a_subclass_may_change_a_default_a_rule_or_a_text():
    @dataclasses.dataclass(frozen=True)
    class Wider(_Window):
        size: Annotated[int, Bounds(8)] = 8
        step: int = 4
        share: Annotated[float, "Of all."] = 2.0

    assert Wider() == Wider(8, 4, "round", 2.0)
    assert [fields_of(Wider)[name].text for name in ("size", "share")] == ["Its size.", "Of all."]
    for name, least in (("size", 8), ("step", 1)):
        with pytest.raises(InputError, match=f"^--{name} must be at least {least}. Received 0.$"):
            Wider(**{name: 0})


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (_pretraining(), []),
        (_pretraining(optimizer="muon", muon_rate=7.0), []),
        (_pretraining(muon_rate=7.0), ["--muon_rate=7.0 has no effect with --optimizer=lamb"]),
        (
            _pretraining(batch_schedule="16:0.5,32:0.5", train_batch_size=8),
            ["--train_batch_size=8 has no effect with --batch_schedule=16:0.5,32:0.5"],
        ),
        (_pretraining(max_nonfinite_steps=3), ["--max_nonfinite_steps=3 has no effect with --nonfinite=stop"]),
        (
            _finetuning(decay_proportion=0.5, poly_power=2.0, num_warmup_steps=5, warmup_proportion=0.2),
            [
                "--decay_proportion=0.5 has no effect with --learning_rate_schedule=polynomial",
                "--warmup_proportion=0.2 has no effect with --num_warmup_steps=5",
            ],
        ),
        (_finetuning(poly_power=2.0, learning_rate_schedule="stable_decay"), ["--poly_power=2.0 has no effect"]),
        (_finetuning(num_train_steps=9, num_train_epochs=1), ["--num_train_epochs=1 has no effect"]),
        (_finetuning(distillation_weight=0.7), ["--distillation_weight=0.7 has no effect without --teacher"]),
        (_finetuning(distillation_weight=0.7, teacher="runs/large"), []),
    ],
)
def test_settings_that_others_leave_without_effect_are_told_of(settings, told, caplog):
    warn_of_idle(settings)
    assert len(caplog.messages) == len(told)
    assert all(message.startswith(line) for message, line in zip(caplog.messages, told, strict=True))


def test_a_subclass_keeps_what_a_setting_counts_with(caplog):
    @dataclasses.dataclass(frozen=True)
    class Based:
        kind: str = "round"
        radius: Annotated[int, OnlyWith("kind", "round"), "Its radius."] = 1

    @dataclasses.dataclass(frozen=True)
    class Larger(Based):
        radius: int = 5

    warn_of_idle(Larger(kind="square", radius=5))
    warn_of_idle(Larger(kind="square", radius=1))
    assert caplog.messages == ["--radius=1 has no effect with --kind=square"]


def test_a_signature_shows_plain_types():
    parameters = inspect.signature(_Window).parameters.values()
    assert [parameter.annotation for parameter in parameters] == [int, int, str, float | None]
    assert "Annotated" not in str(inspect.signature(albert_tf.FinetuningSettings))
