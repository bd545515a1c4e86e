"""Sums and maxima of compiled functions: the compiler makes them, not a library that two threads must not begin."""

import os
import subprocess
import sys

import pytest

from albert_tf.kernels.tensorflow_compiling import keep_reductions

_FLAG = "--xla_cpu_experimental_ynn_fusion_type"
# In a process of its own: the compiler reads its flags once. A sum of this size the library would be given.
_PROGRAM = """
import tensorflow as tf
from albert_tf.kernels.tensorflow_compiling import compiled
compiled_sum = compiled(lambda x: tf.reduce_sum(x, axis=-1))
print(compiled_sum.experimental_get_compiler_ir(tf.ones([4096, 128]))(stage="optimized_hlo"))
"""


def _compiled_sum(**environment):
    result = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    assert "reduce(" in result.stdout
    return result.stdout


def test_a_sum_is_the_compilers_own():
    assert "ynn" not in _compiled_sum(XLA_FLAGS="")


@pytest.mark.slow
def test_the_library_has_it_where_the_user_says_so():
    assert "ynn" in _compiled_sum(XLA_FLAGS=f"{_FLAG}=reduce")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, f"{_FLAG}=-reduce"),
        ("--xla_dump_to=/a/folder", f"--xla_dump_to=/a/folder {_FLAG}=-reduce"),
        (f"{_FLAG}=dot", f"{_FLAG}=dot"),
        ("/a/file/of/flags", "/a/file/of/flags"),
    ],
)
def test_flags_of_the_user_stay(monkeypatch, given, expected):
    if given is None:
        monkeypatch.delenv("XLA_FLAGS", raising=False)
    else:
        monkeypatch.setenv("XLA_FLAGS", given)
    for _ in range(2):
        keep_reductions()
    assert os.environ["XLA_FLAGS"] == expected
