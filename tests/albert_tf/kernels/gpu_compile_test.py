"""The training step through the GPU's compiler, which needs no GPU: every kernel is in it, and it takes less memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jax_runs import ON_JAX

pytestmark = pytest.mark.tpu
pytest.importorskip("jax_cuda13_plugin", reason="no compiler for GPUs: the extra [cuda-compiler]")


@pytest.mark.parametrize(("length", "attention", "less"), [(64, "_at_once", 0.95), (256, "", 0.75)])
def test_a_step_compiles_for_a_gpu(length, attention, less):
    program = str(Path(__file__).with_name("compile_for_gpu.py"))
    done = subprocess.run(
        [sys.executable, program, "albert_tiny", "32", str(length)],
        env={**os.environ, **ON_JAX},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    # Of two layers the last one computes the masked positions alone, whose attention is the formula's.
    assert found["kernels"]["calls"] == {
        "activation_gradient": 2,
        f"attention{attention}": 1,
        f"attention_gradient{attention}": 1,
        "norm_gradient": 4,
        "norm_of_sum": 4,
    }
    assert found["formulas"]["calls"] == {}
    assert found["kernels"]["temporary_bytes"] < less * found["formulas"]["temporary_bytes"]
