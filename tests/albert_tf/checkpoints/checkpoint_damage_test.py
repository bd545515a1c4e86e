"""Every bit of a checkpoint's files flipped, and its JSON filled with values of other types.

A read after that gives what was written, or raises DamagedError. No damaged file passes for one of the previous
version, which had no digests.
"""

import dataclasses
import itertools
import json
import os
import shutil

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation, write_evaluation
from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.config import AlbertConfig
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.runtime.errors import DamagedError, InputError

_WIDTHS = dict.fromkeys(("embedding_size", "hidden_size", "intermediate_size"), 2)
CONFIG = AlbertConfig(vocab_size=6, num_hidden_layers=1, num_attention_heads=1, max_position_embeddings=3, **_WIDTHS)
STATE = TrainingState(
    step=12,
    examples_seen=96,
    random_seed=1,
    input_files=[{"name": "train", "bytes": 5000}],
    optimizer="lamb",
    vocabulary={"file": "v.model", "sha256": "ab" * 32, "size": 6, "cleaning": {"do_lower_case": False}},
    loss_scale={"scale": 32768.0, "good_steps": 3, "overflows": 0},
    task={"head": "classification", "num_labels": 2, "labels": ["no", "yes"], "name": "sst-2"},
)
METRICS = {"masked_lm_accuracy": 0.25, "masked_lm_loss": 3.5, "best_metric": "masked_lm_accuracy"}
JSON_FILES = ("checkpoint.json", "albert_config.json", "evaluation.json")
TENSOR_FILES = tuple(f"{part}.{kind}" for part in ("model", "optimizer") for kind in ("index", "data-00000-of-00001"))


@pytest.fixture(scope="module")
def model_and_optimizer():
    """A model and an optimizer with values that no initialiser makes."""
    model, optimizer = AlbertForPretraining(CONFIG), build_optimizer("lamb", 0.1)
    optimizer.build(list(named_weights(model).values()))
    rng = np.random.default_rng(0)
    for variable in (*named_weights(model).values(), *optimizer.moments()[0], *optimizer.moments()[1]):
        variable.assign(rng.normal(size=variable.shape))
    return model, optimizer


@pytest.fixture(scope="module")
def checkpoint(model_and_optimizer, tmp_path_factory) -> str:
    """The folder of a checkpoint with an evaluation."""
    folder = CheckpointFolder(str(tmp_path_factory.mktemp("run"))).save(*model_and_optimizer, STATE)
    write_evaluation(folder, METRICS)
    return folder


@pytest.fixture
def read(checkpoint, model_and_optimizer):
    """A function of a file's name that reads it as it is read in use, and says whether it is as it was written."""

    def read_one(name: str) -> bool:
        if name == "checkpoint.json":
            return run_checkpoints.read_state(checkpoint) == STATE
        if name == "albert_config.json":
            return run_checkpoints.read_config(checkpoint) == CONFIG
        if name == "evaluation.json":
            found = read_evaluation(checkpoint)
            if found is None:
                raise DamagedError(name)
            return found == METRICS
        return run_checkpoints.restore(checkpoint, *model_and_optimizer) == STATE

    return read_one


def _flipped(checkpoint: str, name: str, bits):
    """Yields the number of each bit while that bit is flipped in the file."""
    path = os.path.join(checkpoint, name)
    with open(path, "rb") as file:
        contents = file.read()
    try:
        for bit in bits(8 * len(contents)):
            changed = bytearray(contents)
            changed[bit // 8] ^= 1 << bit % 8
            with open(path, "wb") as file:
                file.write(changed)
            yield bit
    finally:
        with open(path, "wb") as file:
            file.write(contents)


def _accepted(checkpoint, name, read, bits) -> list[int]:
    accepted = []
    for bit in _flipped(checkpoint, name, bits):
        try:
            read(name)
        except DamagedError as error:
            assert "\n" not in str(error)
        else:
            accepted.append(bit)
    return accepted


@pytest.mark.parametrize("name", JSON_FILES)
def test_no_flipped_bit_of_the_json_files_is_accepted(checkpoint, name, read, caplog):
    caplog.set_level("CRITICAL", "absl")
    assert read(name)
    assert _accepted(checkpoint, name, read, lambda count: range(0, count, 31)) == []
    assert read(name)


@pytest.mark.faults
@pytest.mark.parametrize("name", [*JSON_FILES, *TENSOR_FILES])
def test_no_flipped_bit_of_any_file_is_accepted(checkpoint, name, read, caplog):
    caplog.set_level("CRITICAL", "absl")
    assert _accepted(checkpoint, name, read, range) == []
    assert read(name)


@pytest.mark.faults
@pytest.mark.parametrize("name", ["checkpoint.json", "albert_config.json", *TENSOR_FILES])
def test_a_flipped_bit_of_any_file_makes_a_run_go_on_from_the_checkpoint_before(
    checkpoint, model_and_optimizer, name, caplog
):
    folder = CheckpointFolder(os.path.dirname(checkpoint))
    before = folder.save(*model_and_optimizer, dataclasses.replace(STATE, step=4))
    model, optimizer = AlbertForPretraining(CONFIG), build_optimizer("lamb", 0.1)
    optimizer.build(list(named_weights(model).values()))
    try:
        # The newest one was saved first here, and has gone with what was newer than step 4.
        folder.save(*model_and_optimizer, STATE)
        for _ in _flipped(checkpoint, name, lambda count: range(0, count, 501)):
            caplog.clear()
            assert folder.restore_latest(model, optimizer).step == 4
            assert f"{checkpoint} is passed over" in caplog.text
    finally:
        shutil.rmtree(before)
        write_evaluation(checkpoint, METRICS)


_VALUES = (None, True, -1, 1.5, 10**30, "", "x", "\ud800", [], [1], [[]], {}, {"x": 1}, [{"name": 1, "bytes": "x"}])


def _paths(values, path=()):
    """The places in nested JSON."""
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from _paths(value, (*path, key))


def _with(values, path, value):
    copy = json.loads(json.dumps(values))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


@pytest.mark.parametrize("name", JSON_FILES)
def test_values_of_other_types_end_in_one_line_also_without_digests(checkpoint, name, read, caplog):
    """Values that might stand in a checkpoint of the previous version, which had no digests."""
    caplog.set_level("CRITICAL", "absl")
    kept = {}
    for one in ("checkpoint.json", name):
        with open(os.path.join(checkpoint, one), "rb") as file:
            kept[one] = file.read()
    try:
        plain = json.loads(kept["checkpoint.json"])
        for mark in ("format_version", "files", "sha256"):
            del plain[mark]
        _write(checkpoint, "checkpoint.json", plain)
        values = plain if name == "checkpoint.json" else json.loads(kept[name])
        if name == "evaluation.json":
            del values["sha256"]
        for path, value in itertools.product(_paths(values), (*_VALUES, ...)):
            _write(checkpoint, name, _with(values, path, value))
            try:
                read(name)
                if name == "checkpoint.json":
                    run_checkpoints.read_state(checkpoint).finetuned_task(checkpoint)
            except InputError as error:
                assert "\n" not in str(error), (path, value)
    finally:
        for one, contents in kept.items():
            with open(os.path.join(checkpoint, one), "wb") as file:
                file.write(contents)
    assert read(name)


def _write(folder: str, name: str, values) -> None:
    with open(os.path.join(folder, name), "w") as file:
        json.dump(values, file)


def test_a_checkpoint_that_has_lost_a_digest_is_not_of_the_version_before(checkpoint):
    path = os.path.join(checkpoint, "checkpoint.json")
    with open(path, "rb") as file:
        contents = file.read()
    try:
        for mark in ("format_version", "files", "sha256"):
            for other in ("format_version", "files", "sha256"):
                values = json.loads(contents)
                for lost in {mark, other}:
                    del values[lost]
                _write(checkpoint, "checkpoint.json", values)
                with pytest.raises(DamagedError):
                    run_checkpoints.read_state(checkpoint)
    finally:
        with open(path, "wb") as file:
            file.write(contents)
