"""Measures what a process has used so far, and lists the processes that it has started."""

import os
import resource
import sys


def process_seconds() -> float:
    """Processor time of this process, all threads together, in seconds: what other processes take does not count."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_memory_mb() -> float:
    """The most memory this process has held, in MB of 2^20 bytes.

    Of this program alone: `ru_maxrss` of a process begins with what the one that started it held.
    """
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    except (OSError, ValueError):  # no such file, or no such line: not Linux, or not quite
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(kilobytes) / 1024


def device_memory_mb() -> float | None:
    """The most memory of a GPU that this process has held, in MB of 2^20 bytes; None where it uses none."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    if jax is not None and jax.default_backend() == "gpu":
        return jax.local_devices()[0].memory_stats()["peak_bytes_in_use"] / 2**20
    return None


def descendants(process: int) -> list[int]:
    """The processes that a process has started, from whatever thread, and those that these have started (Linux)."""
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                children += map(int, file.read().split())
    except OSError:
        # It has ended; what it had started is another's child now.
        return children
    return children + [below for child in children for below in descendants(child)]
