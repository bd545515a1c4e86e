"""The description that a run gives of itself before its first step."""

import re
from types import SimpleNamespace

import pytest
import tensorflow as tf

from albert_tf.training.machine import measure_matmul_peak
from albert_tf.training.run_description import (
    advise_precision,
    describe_all_reduce,
    describe_change,
    describe_changed_flags,
)


def test_a_precision_slower_than_float32_is_advised_against():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")

    slow = advise_precision("bfloat16", strategy, peak=1e8)
    fast = advise_precision("bfloat16", strategy, peak=10 * measure_matmul_peak(strategy))

    said = re.fullmatch(
        r"matrix products in bfloat16 reach 0 GFLOP/s on this processor, in float32 (\d+): "
        r"--precision=float32 is faster here",
        slow,
    )
    assert int(said[1]) > 0
    assert fast == ""


def test_float32_is_not_measured_against_itself():
    assert advise_precision("float32", tf.distribute.OneDeviceStrategy("/cpu:0"), peak=1.0) == ""


@pytest.mark.parametrize(
    "flag", ["class_weights", "pos_weight", "freeze", "lora_rank", "teacher", "max_train_examples", "num_folds"]
)
def test_flags_that_decide_what_is_learned_are_told_of_when_they_come_or_go(flag):
    given = f"--log_steps=4\n--{flag}=3\n"
    assert f"--{flag} was not given, is 3 now" in describe_changed_flags("--log_steps=4\n", given, 7)
    assert f"--{flag} was 3, is not given now" in describe_changed_flags(given, "--log_steps=4\n", 7)


def test_what_is_exchanged_is_told_where_there_are_others():
    steps = SimpleNamespace(strategy=SimpleNamespace(num_replicas_in_sync=1), all_reduce_bytes=4000)
    assert describe_all_reduce(steps) == ""
    steps.strategy.num_replicas_in_sync = 2
    assert "each replica exchanges 4,000 bytes a step with the others" in describe_all_reduce(steps)


@pytest.mark.parametrize("flag", ["pack_sequences", "init_output_bias", "init_position_waves", "symmetric"])
def test_a_flag_that_is_true_or_false_is_told_of_where_it_is_another(flag):
    told = describe_changed_flags(f"--log_steps=4\n--no{flag}\n", f"--log_steps=4\n--{flag}\n", 7)
    assert f"--{flag} was false, is true now" in told
    # An earlier version did not know it.
    assert describe_changed_flags("--log_steps=4\n", f"--log_steps=4\n--no{flag}\n", 7) is None


def test_another_rate_of_the_sentence_head_is_told_of():
    told = describe_changed_flags("--sentence_head_rate=1.0\n", "--sentence_head_rate=0.1\n", 7)
    assert "--sentence_head_rate was 1.0, is 0.1 now" in told


def test_changed_input_files_are_told_apart_by_size_and_by_contents():
    before = [{"name": "a", "bytes": 1000, "sha256": "1"}, {"name": "b", "bytes": 7, "sha256": "2"}]

    def told(*now):
        return describe_change("input_files", before, list(now), 3)

    assert told(*before) is None
    assert "step 3: a has other contents; the run" in told({**before[0], "sha256": "9"}, before[1])
    assert "step 3: a had 1,000 bytes, has 1,001; the run" in told({**before[0], "bytes": 1001}, before[1])
    assert "step 3: c is new; b is gone; the run" in told(before[0], {**before[1], "name": "c"})
    assert "their order is different" in told(*reversed(before))
    twins = [{"name": "a", "bytes": 10, "sha256": "1"}, {"name": "a", "bytes": 20, "sha256": "2"}]
    assert describe_change("input_files", twins, list(twins), 3) is None
    assert "a had 10 bytes, has 99" in describe_change("input_files", twins, [twins[0] | {"bytes": 99}, twins[1]], 3)
    assert "a (2) is gone" in describe_change("input_files", twins, twins[:1], 3)
    # Of an earlier version, which noted no digests.
    bare = [{"name": file["name"], "bytes": file["bytes"]} for file in before]
    assert describe_change("input_files", bare, before, 3) is None
    assert describe_change("teacher_files", [], before, 3) is None
    assert describe_change("teacher_files", before, before[1:], 3) == (
        "the teacher's outputs are not those of the checkpoint of step 3: a is gone"
    )
    assert describe_change("random_seed", 1, 2, 3) == "random_seed was 1 up to step 3, is 2 now"


def test_other_weights_to_start_from_are_told_of_where_both_are_known():
    assert describe_change("init_sha256", "1", "2", 3) == (
        "other weights lie at --init_checkpoint than this run started from; its own, of step 3, go on"
    )
    assert describe_change("init_sha256", "1", "1", 3) is None
    assert describe_change("init_sha256", None, "2", 3) is describe_change("init_sha256", "1", None, 3) is None
