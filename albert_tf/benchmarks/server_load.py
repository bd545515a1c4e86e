"""Times a server under load: requests a second and their latencies, beside one request at a time; and overload.

python -m albert_tf.benchmarks.server_load --model=served/sst-2 --signature=classify

The server is a process of its own at 127.0.0.1, the clients are threads, and each phase ends by time or count.
"""

import contextlib
import http.client
import itertools
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json, to_json_bytes

_HOST = "127.0.0.1"
# Seconds until the server listens, and for one answer.
_START_SECONDS, _ANSWER_SECONDS = 300, 120
_MOST_CLIENTS = 256
# In place of a status, of a request whose connection ended before the answer.
_NO_ANSWER = 0
# Of the overload: so many clients for each place in the queue.
_CROWD, _SMALL_QUEUE = 4, 8
_WORDS = ("a", "film", "that", "keeps", "its", "charm", "and", "never", "quite", "finds", "the", "story", "of", "it")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("model", None, "An export, a run or a checkpoint with a signature from one text.", **fv)
    flags.DEFINE_string("signature", "serving_default", "The signature; its only input is text.", **fv)
    flags.DEFINE_list("clients", ["1", "4", "16"], "Clients that ask at the same time, of each phase.", **fv)
    flags.DEFINE_integer("seconds", 10, "Seconds of a phase.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_requests", 20_000, "Requests of a phase at most.", lower_bound=1, **fv)
    flags.DEFINE_integer("shortest", 4, "Words of the shortest text.", lower_bound=1, **fv)
    flags.DEFINE_integer("longest", 64, "Words of the longest text.", lower_bound=1, **fv)
    flags.DEFINE_float("batch_wait_ms", 2.0, "As of serve.", **fv)


@contextlib.contextmanager
def _serving(*arguments: str) -> Iterator[int]:
    """The port of a server that runs meanwhile.

    Raises:
        InputError: it does not start; its own words are the reason.
    """
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([sys.executable, "-m", "albert_tf.serve", "--port=0", *arguments], stderr=said)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not (found := re.search(rf"at http://{re.escape(_HOST)}:(\d+)", _read(said))):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise InputError(
                        f"the server does not start: {(_read(said).splitlines() or ['no reason given'])[-1]}"
                    )
                time.sleep(0.1)
            yield int(found[1])
            process.send_signal(signal.SIGTERM)
            process.wait(_ANSWER_SECONDS)
        finally:
            process.kill()
            process.wait()


def _read(file) -> str:
    file.seek(0)
    return file.read()


def _ask(port: int, bodies: Sequence[bytes], seconds: float, most: int, num_clients: int) -> list[tuple[int, float]]:
    """(status or _NO_ANSWER, seconds) of every request that a number of clients sent, each one after the other.

    Args:
        bodies: of the requests, taken in turns by all clients.
        seconds: after which no new request is sent.
        most: of requests.
    """
    turns, found = itertools.count(), []
    end = time.monotonic() + seconds

    def work() -> None:
        connection = http.client.HTTPConnection(_HOST, port, timeout=_ANSWER_SECONDS)
        with contextlib.closing(connection):
            while time.monotonic() < end and (turn := next(turns)) < most:
                start = time.perf_counter()
                try:
                    connection.request("POST", "/v1/models/model:predict", bodies[turn % len(bodies)])
                    response = connection.getresponse()
                    response.read()
                    status = response.status
                except (OSError, http.client.HTTPException):
                    # The next request opens another.
                    connection.close()
                    status = _NO_ANSWER
                found.append((status, time.perf_counter() - start))

    _in_threads(num_clients, work)
    return found


def _in_threads(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _bodies(signature: str, shortest: int, longest: int) -> list[bytes]:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(_WORDS, k=rng.randint(shortest, longest))) for _ in range(256)]
    return [to_json_bytes({"signature_name": signature, "inputs": {"text": [text]}}) for text in texts]


def summarize(found: Sequence[tuple[int, float]], seconds: float) -> dict[str, float]:
    """Requests a second, and the percentiles of latency in milliseconds, of those that were answered.

    Raises:
        InputError: an answer that is none.
    """
    wrong = sorted({status for status, _ in found} - {200})
    latencies = sorted(1000 * latency for status, latency in found if status == 200)
    if wrong or not latencies:
        status = ", ".join(str(one or "none at all") for one in wrong) or "none"
        raise InputError(f"--signature: {len(latencies)} answers, and errors with the status {status}")
    return {
        "requests": len(latencies),
        "requests_per_second": len(latencies) / seconds,
        "p50_ms": statistics.median(latencies),
        "p99_ms": latencies[min(len(latencies) - 1, int(0.99 * len(latencies)))],
    }


def _overload(model: str, bodies: Sequence[bytes], seconds: float, most: int) -> dict[str, int]:
    """Requests under more clients than a small queue has places: answered, turned away (503), lost (all others)."""
    arguments = (f"--model=model={model}", f"--max_queue={_SMALL_QUEUE}", "--max_batch_size=1")
    with _serving(*arguments) as port:
        found = _ask(port, bodies, seconds, most, _CROWD * _SMALL_QUEUE)
    counts = {status: sum(one == status for one, _ in found) for status in {one for one, _ in found}}
    return {"answered": counts.pop(200, 0), "turned_away": counts.pop(503, 0), "lost": sum(counts.values())}


def _run() -> None:
    given = flags.FLAGS
    clients = [int(text) for text in given.clients if text.isdecimal() and 0 < int(text) <= _MOST_CLIENTS]
    if len(clients) != len(given.clients) or not clients:
        raise FlagError(f"--clients must be numbers from 1 to {_MOST_CLIENTS}. Received {','.join(given.clients)!r}.")
    if given.shortest > given.longest:
        raise InputError(f"--shortest={given.shortest} is more than --longest={given.longest}")
    bodies = _bodies(given.signature, given.shortest, given.longest)
    result: dict[str, object] = {"benchmark": "server_load", "model": given.model, "signature": given.signature}
    with _serving(f"--model=model={given.model}", f"--batch_wait_ms={given.batch_wait_ms}") as port:
        _ask(port, bodies, given.seconds, 16, 1)
        for number in clients:
            start = time.monotonic()
            found = _ask(port, bodies, given.seconds, given.max_requests, number)
            result[f"clients_{number}"] = summarize(found, time.monotonic() - start)
    result["overload"] = _overload(given.model, bodies, min(5, given.seconds), given.max_requests)
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run, required=("model",))

if __name__ == "__main__":
    main()
