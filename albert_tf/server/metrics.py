"""Counts and times of requests and of runs, in the form that Prometheus reads."""

import functools
from collections.abc import Callable, Iterable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of one server, in a registry of their own.

    Args:
        models: their names.
        count_waiting: a function of a name, which counts the requests in the model's queue.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, models: Iterable[str], count_waiting: Callable[[str], int]):
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        registry = {"registry": self._registry}
        self._requests = Counter(
            "albert_requests",
            "Predict requests by model, signature and HTTP status.",
            ("model", "signature", "status"),
            **registry,
        )
        self._seconds = Histogram(
            "albert_request_seconds",
            "From the first byte of a predict request's body to its answer.",
            ("model",),
            buckets=_SECONDS,
            **registry,
        )
        self._rows = Histogram("albert_batch_rows", "Rows that ran together.", ("model",), buckets=_ROWS, **registry)
        self._run_seconds = Histogram(
            "albert_batch_seconds", "Time of a run of the model.", ("model",), buckets=_SECONDS, **registry
        )
        queue = Gauge("albert_queue_requests", "Requests that wait for the model.", ("model",), **registry)
        for model in models:
            queue.labels(model).set_function(functools.partial(count_waiting, model))

    def count_request(self, model: str, signature: str, status: int, seconds: float) -> None:
        """Notes an answered request. The names are the server's own, "" for any that it does not know."""
        self._requests.labels(model, signature, str(status)).inc()
        self._seconds.labels(model).observe(seconds)

    def count_batch(self, model: str, rows: int, seconds: float) -> None:
        """Notes a run of a model."""
        self._rows.labels(model).observe(rows)
        self._run_seconds.labels(model).observe(seconds)

    def page(self) -> bytes:
        """All of them as text."""
        return generate_latest(self._registry)
