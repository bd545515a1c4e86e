"""What the C library does with the memory a program frees."""

import ctypes

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4
_GIVE_BACK_ABOVE = 2**31 - 1
_TAKE_AT_ONCE = 2**28


def keep_freed_memory() -> bool:
    """Makes glibc keep large blocks that are freed, for the next that are asked for.

    By itself it returns each to the system and takes it anew, cleared page by page: in a step of training 120,000
    pages, a twentieth of its time (docs/benchmarks). The most memory a program holds stays about the same.

    Returns:
        whether it was done; other C libraries are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018  musl has a mallopt that does nothing.
    except (OSError, AttributeError, TypeError):
        return False
    settings = {_M_MMAP_MAX: 0, _M_TRIM_THRESHOLD: _GIVE_BACK_ABOVE, _M_TOP_PAD: _TAKE_AT_ONCE}
    done = [mallopt(name, value) == 1 for name, value in settings.items()]
    return all(done)
