"""Runs on JAX, in processes of their own: Keras's backend and the number of devices are fixed when they start."""

import atexit
import shutil
import tempfile
from pathlib import Path

# Programs that one run compiled are there for the next.
_PROGRAMS = tempfile.mkdtemp(prefix="programs-")
atexit.register(shutil.rmtree, _PROGRAMS, ignore_errors=True)

ON_JAX = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    "XLA_FLAGS": "",
    "JAX_COMPILATION_CACHE_DIR": _PROGRAMS,
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}


def end(process):
    """Waits for a run, which must succeed; returns what it told."""
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 0, told[-2000:]
    return told
