"""Settings for the memory that a program frees: kept for the next that asks, or given back to the system."""

import ctypes
import os

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8
_GIVE_BACK_ABOVE = 2**31 - 1
_TAKE_AT_ONCE = 2**28


def set_up_memory(release: bool = False) -> bool:
    """Says what the C library, and TensorFlow on it, do with memory. To be called before TensorFlow is imported.

    All threads take from one heap, so that what one frees another can have, rather than from one each.

    By itself glibc returns each large block that is freed to the system, and takes it anew, cleared page by page: in a
    step of training 120,000 pages, a twentieth of its time (docs/benchmarks). Here it keeps them.

    Args:
        release: give large blocks back instead, TensorFlow's too, whose own pool on a CPU never shrinks and grows by
            doubling. The program holds less at its peak, and its steps take a third longer or more (docs/benchmarks).

    Returns:
        whether it was done; other C libraries than glibc are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018  musl has a mallopt that does nothing.
    except (OSError, AttributeError, TypeError):
        return False
    settings = {_M_ARENA_MAX: 1}
    if release:
        os.environ.setdefault("TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "1")
    else:
        settings |= {_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: _GIVE_BACK_ABOVE, _M_TOP_PAD: _TAKE_AT_ONCE}
    done = [mallopt(name, value) == 1 for name, value in settings.items()]
    return all(done)
