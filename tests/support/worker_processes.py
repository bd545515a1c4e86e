"""The processes that multiprocessing has started, for tests that kill them."""

import os
import signal

from albert_tf.benchmarks.measure import descendants


def worker_processes(process: int) -> list[int]:
    """The descendants that multiprocessing has started to work, without the one that it keeps for itself."""
    workers = []
    for child in descendants(process):
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if b"spawn_main" in file.read():
                    workers.append(child)
        except OSError:
            continue
    return workers


def kill_process(process: int) -> bool:
    """Kills a process as nothing can be kept from; false if it had ended since it was listed."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
