"""The training step through the TPU's own compiler: it fits, exchanges gradients once, and never calls Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.planning.chips import CHIPS
from albert_tf.training.flops import train_step_flops

ROOT = str(Path(__file__).resolve().parents[3])

pytestmark = pytest.mark.tpu


def run_plan(*flags):
    """Runs plan_training: what it ends with."""
    return subprocess.run(
        [sys.executable, "-m", "albert_tf.plan_training", *(f"--{flag}" for flag in flags)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": ROOT},
    )


def run_program(name, *arguments):
    """Runs a program of this folder: the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(name)), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": ROOT},
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("config", "flags"),
    [
        ("albert_tiny", ["topology=v5e:2x2"]),
        ("albert_mini", ["topology=v6e:2x2", "remat", "optimizer=adamw"]),
    ],
)
def test_a_step_fits_the_chip_and_exchanges_its_gradients_once(config, flags):
    shape = ["train_batch_size=64", "max_seq_length=128", "num_train_steps=100", "num_warmup_steps=10"]
    done = run_plan(f"albert_config_file={config}", "format=json", *shape, *flags)
    assert done.returncode == 0, done.stderr[-1000:]
    plan = json.loads(done.stdout)
    assert plan["examples_at_once"] == plan["examples"] == 16
    assert 0 < plan["memory"]["peak"] < CHIPS[plan["topology"].partition(":")[0]].memory_bytes
    config = AlbertConfig.from_name(config)
    parameters = AlbertForPretraining(config).count_params()
    # One program that runs, and two that are counted; of two layers it is the same.
    assert {program["layers"] for program in plan["programs"]} == {config.num_hidden_layers, 1, 2}
    assert len(plan["programs"]) == (2 if config.num_hidden_layers == 2 else 3)
    for program in plan["programs"]:
        assert not program["calls_python"]
        kinds = ("all_gather", "reduce_scatter", "all_to_all", "collective_permute")
        assert {kind: program[kind]["count"] for kind in kinds} == dict.fromkeys(kinds, 0)
        # Every gradient in float32, five metrics and two counts; together, or the counts first.
        assert program["all_reduce"]["bytes"] == 4 * (parameters + 7)
        assert program["all_reduce"]["count"] <= 3
    # By hand all of the last layer counts, of which a step computes what is read; the compiler counts more kinds.
    by_hand = train_step_flops(config, 16, 128, 20)
    assert by_hand * 0.7 < plan["operations"] < by_hand * 1.5


# Of the flag files: 4,096 x 512 on 256 chips.
SHIPPED = [
    (config, topology)
    for config in ("albert_base_v2", "albert_large_v2", "albert_xlarge_v2", "albert_xxlarge_v2")
    for topology in ("v5e:2x2", "v5e:4x4", "v5p:2x2x1", "v6e:2x2")
]


@pytest.mark.parametrize(
    ("config", "topology", "examples", "length"),
    [("albert_tiny", "v5e:4x4", 16, 128)] + [pytest.param(*pair, 16, 512, marks=pytest.mark.slow) for pair in SHIPPED],
)
def test_every_kind_of_step_is_compiled(config, topology, examples, length):
    found = run_program("compile_programs.py", config, topology, examples, length)
    assert list(found) == ["training", "evaluation", "classification", "span"]
    for kind, figures in found.items():
        assert "fault" not in figures, kind
        assert 0 < figures["peak_bytes"] < CHIPS[topology.partition(":")[0]].memory_bytes
        assert not figures["calls_python"]


@pytest.mark.parametrize("config", ["albert_tiny", "bert_base"])
def test_a_step_is_lowered_without_the_values_of_its_weights(config):
    found = run_program("lower_programs.py", config, "v5e:2x2")
    weights = 4 * AlbertForPretraining(AlbertConfig.from_name(config)).count_params()
    assert found["without"].pop("bytes") < 1e6 < 3 * weights < found["with"].pop("bytes")
    assert found["without"] == found["with"]


@pytest.mark.parametrize(
    ("config", "shape", "optimizer", "micro_batches"),
    [
        ("albert_tiny", (16, 128), "lamb", 1),
        pytest.param("albert_tiny", (16, 128), "adamw", 4, marks=pytest.mark.slow),
        pytest.param("albert_base_v2", (16, 512), "lamb", 1, marks=pytest.mark.slow),
    ],
)
def test_the_step_of_tensorflow_is_taken_by_the_compiler_too(config, shape, optimizer, micro_batches):
    figures = run_program("compile_tensorflow.py", config, "v5e:2x2", *shape, optimizer, micro_batches)
    assert 0 < figures["peak_bytes"] < CHIPS["v5e"].memory_bytes
    # Weights and two moments, in float32.
    parameters = AlbertForPretraining(AlbertConfig.from_name(config)).count_params()
    assert figures["argument_bytes"] > 3 * 4 * parameters
    assert not any(figures[name] for name in ("has_float64_arrays", "has_dynamic_dimensions", "calls_host"))
    by_hand = train_step_flops(AlbertConfig.from_name(config), *shape, 20)
    assert by_hand * 0.7 < figures["flops"] < by_hand * 1.5


def test_a_topology_that_is_none_is_one_line():
    done = run_plan("albert_config_file=albert_tiny", "topology=v5e:7")
    assert done.returncode == 2
    assert "--topology=v5e:7: a slice of v5e has 2 sides" in done.stderr.splitlines()[-1]
