"""What a process has used so far."""

import resource


def process_seconds() -> float:
    """Processor time of this process, all threads together, in seconds: what other processes take does not count."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_memory_mb() -> float:
    """The most memory this process has held, in MB of 2^20 bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
