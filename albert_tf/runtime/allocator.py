"""Settings for the memory that a program frees: kept for the next that asks, or given back to the system."""

import ctypes
import os

# Of a tensor that shows whether memory goes back: more than glibc ever keeps of itself, 32 MiB.
_TRIED_BYTES = 2**26
# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -2, -4, -8
_GIVE_BACK_ABOVE = 2**31 - 1
_TAKE_AT_ONCE = 2**28


def set_up_memory(release: bool = False) -> bool:
    """Says what the C library, and TensorFlow on it, do with memory. To be called before TensorFlow computes anything.

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


def release_if_asked(release_memory: bool) -> None:
    """Sets up memory for a run from Python with release_memory; else it is the caller's, and stays as it is."""
    if release_memory:
        set_up_memory(release=True)


def gives_memory_back() -> bool:
    """Tries whether memory of a tensor that TensorFlow frees goes back to the system.

    It does not where `set_up_memory` came too late: TensorFlow makes its pool for the first thing that it computes.

    Returns:
        whether it does; True where the system does not tell how much memory a program holds.
    """
    import tensorflow as tf

    try:
        before = _held_bytes()
        with tf.device("CPU:0"):
            tf.ones(_TRIED_BYTES // 4).numpy()
        return _held_bytes() - before < _TRIED_BYTES // 2
    except OSError:
        return True


def _held_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
