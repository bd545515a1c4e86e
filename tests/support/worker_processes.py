"""The processes that multiprocessing has started, for tests that kill them."""

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
