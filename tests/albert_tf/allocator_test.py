"""Memory that is freed is there for the next that asks: pages that the system hands out are counted."""

import subprocess
import sys

import pytest

_PROGRAM = """
import resource, sys
import numpy as np
from albert_tf.allocator import keep_freed_memory
if sys.argv[1] == "kept" and not keep_freed_memory():
    sys.exit("not glibc")
np.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    np.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _pages(mode: str) -> int:
    result = subprocess.run([sys.executable, "-c", _PROGRAM, mode], capture_output=True, text=True)
    if "not glibc" in result.stderr:
        pytest.skip("this C library is not glibc")
    return int(result.stdout)


def test_large_blocks_are_kept_when_they_are_freed():
    # 128 MB are 32,768 pages of 4 kB, or 64 of 2 MB.
    assert _pages("kept") < 16
    assert _pages("given back") > 4 * 60
