"""Runs on JAX, in processes of their own: Keras's backend and the number of devices are fixed when they start."""

from pathlib import Path

ON_JAX = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    "XLA_FLAGS": "",
}


def end(process):
    """Waits for a run, which must succeed; returns what it told."""
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 0, told[-2000:]
    return told
