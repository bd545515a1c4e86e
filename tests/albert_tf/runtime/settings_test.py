"""Settings made in Python of values that no flag could have."""

from pathlib import Path

import numpy as np
import pytest

import albert_tf
from albert_tf.runtime.errors import InputError
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
    assert _pretraining(train_batch_size=np.int64(32), learning_rate=np.float32(1)).train_batch_size == 32
    assert _finetuning(num_train_epochs=2, data_dir=Path("data")).num_train_epochs == 2
    assert TaskOptions(labels=["a", "b"]).labels == ["a", "b"]


def test_an_empty_name_of_a_class_is_one_line():
    with pytest.raises(InputError, match="--labels must not hold an empty name. Received a,b,.$"):
        TaskOptions(labels=("a", "b", ""))
