"""The kernels for GPUs against their formulas, values and gradients; Python runs them where there is no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jax_runs import ON_JAX

pytestmark = pytest.mark.parity
pytest.importorskip("jax", reason="jax is not installed: the extra [jax]")

# Of the largest number: a few roundings of each precision.
TOLERANCES = {"float32": 2e-6, "bfloat16": 4e-2, "float16": 5e-3}


@pytest.fixture(scope="module")
def told():
    program = str(Path(__file__).with_name("compare_jax_gpu.py"))
    done = subprocess.run(
        [sys.executable, program], env={**os.environ, **ON_JAX}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_kernels_are_taken_where_they_run(told):
    assert told["chosen"] == [True, False, False, False]


@pytest.mark.parametrize("precision", TOLERANCES)
def test_a_kernel_computes_its_formula(told, precision):
    found = {name: values for name, values in told["errors"].items() if name.endswith(f": {precision}")}
    assert len(found) == 11
    for name, values in found.items():
        assert len(values) > 2, name
        assert max(values) < TOLERANCES[precision], name
