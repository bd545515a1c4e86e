"""The training step through the TPU's own compiler: it fits, exchanges gradients once, and never calls Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.models.pretraining import AlbertForPretraining

ROOT = str(Path(__file__).resolve().parents[3])
# Of a v5e, the smallest of them.
CHIP_BYTES = 16 * 2**30

pytestmark = pytest.mark.tpu


def compile_for(*flags):
    """Compiles one program: the figures that the benchmark prints."""
    arguments = [f"--{flag}" for flag in ("max_seq_length=128", "batch_size_per_chip=16", *flags)]
    done = subprocess.run(
        [sys.executable, "-m", "albert_tf.benchmarks.tpu_programs", "--albert_config_file=albert_tiny", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": ROOT},
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "flags", [("topology=v5e:2x2",), ("topology=v6e:2x2", "gradient_accumulation_steps=2", "noconstant_graph")]
)
def test_a_step_fits_the_chip_and_exchanges_its_gradients_once(flags):
    found = compile_for(*flags)
    assert "fault" not in found
    assert found["peak_bytes"] < CHIP_BYTES
    assert not found["calls_python"]
    kinds = ("all_gather", "reduce_scatter", "all_to_all", "collective_permute")
    assert {kind: found[kind]["count"] for kind in kinds} == dict.fromkeys(kinds, 0)
    # Every gradient in float32, five metrics and two counts; together, or the counts first.
    parameters = AlbertForPretraining(AlbertConfig.from_name("albert_tiny")).count_params()
    assert found["all_reduce"]["bytes"] == 4 * (parameters + 7)
    assert found["all_reduce"]["count"] <= 3


def test_a_topology_that_is_none_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "albert_tf.benchmarks.tpu_programs", "--topology=v5e:7x9"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": ROOT},
    )
    assert done.returncode == 1
    assert "--topology=v5e:7x9" in done.stderr.splitlines()[-1]
