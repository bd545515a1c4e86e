"""Memory that is freed is there for the next that asks: pages that the system hands out are counted."""

import subprocess
import sys

import pytest

_PAGES = """
import resource, sys
import numpy as np
from albert_tf.runtime.allocator import set_up_memory
if sys.argv[1] == "kept" and not set_up_memory():
    sys.exit("not glibc")
np.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    np.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _number(program: str, mode: str) -> float:
    """The number that a program prints, run in a process of its own."""
    result = subprocess.run([sys.executable, "-c", program, mode], capture_output=True, text=True)
    if "not glibc" in result.stderr:
        pytest.skip("this C library is not glibc")
    return float(result.stdout)


def test_large_blocks_are_kept_when_they_are_freed():
    # 128 MB are 32,768 pages of 4 kB, or 64 of 2 MB.
    assert _number(_PAGES, "kept") < 16
    assert _number(_PAGES, "given back") > 4 * 60


_MEBIBYTES_HELD = """
import os, sys
from albert_tf.runtime import allocator
from albert_tf.runtime.tensorflow_import import import_tensorflow
if not allocator.set_up_memory(release=sys.argv[1] == "released"):
    sys.exit("not glibc")
tf = import_tensorflow()
def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
tf.ones(2**10) + 1.0
before = held()
tf.ones(2**26) + 1.0
print(held() - before)
"""


@pytest.mark.slow
def test_memory_of_freed_tensors_is_given_back_on_request_only():
    # A tensor of 256 MiB and a second one.
    assert _number(_MEBIBYTES_HELD, "released") < 64
    assert _number(_MEBIBYTES_HELD, "kept") > 200


_GIVES_BACK = """
import sys
from albert_tf.runtime import allocator
import tensorflow as tf
if sys.argv[1] == "too late":
    tf.ones(2) + 1.0
if not allocator.set_up_memory(release=True):
    sys.exit("not glibc")
print(int(allocator.gives_memory_back()))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("when", "expected"), [("in time", 1), ("too late", 0)])
def test_tensorflow_gives_memory_back_if_asked_before_it_computes(when, expected):
    assert _number(_GIVES_BACK, when) == expected
