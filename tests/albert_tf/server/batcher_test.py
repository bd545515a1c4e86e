"""The queue of a model: what runs together, what the error of one request does to others, its bounds and its end."""

import threading
import time

import numpy as np
import pytest
from word_model import BROKEN, REFUSED, WordModel

from albert_tf.server.batcher import Batcher, BatchLimits
from albert_tf.server.joining import make_rows
from albert_tf.server.request_error import RequestError

PATIENCE = 10


def texts(*values):
    array = np.empty(len(values), object)
    array[:] = [value.encode() for value in values]
    return {"text": array}


@pytest.fixture
def model():
    return WordModel()


@pytest.fixture
def start(model):
    """A function that starts a batcher whose model waits until the test opens its gate."""
    started = []

    def make(max_sequences=8, max_requests=100, wait_s=0.0):
        model.gate.clear()
        started.append(Batcher(model, BatchLimits(max_sequences, max_requests, wait_s), lambda rows, seconds: None))
        return started[-1]

    yield make
    model.gate.set()
    for one in started:
        one.close()


def submit(batcher, model, *values, signature="length"):
    return batcher.submit(make_rows(model, signature, texts(*values)))


def lengths(future):
    return future.result(PATIENCE)["length"].tolist()


def occupy(batcher, model):
    """Keeps the thread busy, so that what follows stands in the queue together."""
    future = submit(batcher, model, "busy")
    while batcher.waiting:
        time.sleep(0.001)
    return future


def test_what_waits_runs_together_in_order_up_to_the_largest_batch(start, model):
    batcher = start(max_sequences=4)
    occupy(batcher, model)
    futures = [submit(batcher, model, *["a" * number] * rows) for number, rows in enumerate((1, 2, 2, 1, 3))]
    model.gate.set()
    assert [lengths(future) for future in futures] == [[0], [1, 1], [2, 2], [3], [4] * 3]
    # 1 + 2 and the later 1; then 2; 3 does not fit.
    assert model.batches == [1, 4, 2, 3]


def test_requests_to_different_signatures_do_not_run_together(start, model):
    batcher = start()
    occupy(batcher, model)
    futures = [
        submit(batcher, model, "ab"),
        submit(batcher, model, "ab", signature="tokens_from_text"),
        submit(batcher, model, "c"),
    ]
    model.gate.set()
    assert lengths(futures[0]) == [2]
    assert lengths(futures[2]) == [1]
    assert futures[1].result(PATIENCE)["input_ids"].tolist() == [[97, 98]]
    assert model.batches == [1, 2, 1]


def test_the_first_waits_for_others(start, model):
    batcher = start(wait_s=PATIENCE, max_sequences=3)
    model.gate.set()
    first = submit(batcher, model, "a")
    time.sleep(0.05)
    assert not first.done()
    others = submit(batcher, model, "bb", "ccc")
    assert lengths(first) + lengths(others) == [1, 2, 3]
    assert model.batches == [3]


@pytest.mark.parametrize(("fault", "status"), [(REFUSED, 400), (BROKEN, 500)])
def test_an_error_is_that_of_its_own_request(start, model, fault, status, caplog):
    batcher = start()
    occupy(batcher, model)
    futures = [submit(batcher, model, text) for text in ("a", fault, "bb")]
    model.gate.set()
    assert [lengths(futures[0]), lengths(futures[2])] == [[1], [2]]
    with pytest.raises(RequestError) as raised:
        futures[1].result(PATIENCE)
    assert raised.value.status == status
    assert batcher.is_alive
    # A fault of the program, and that alone, is logged in full.
    assert ("ZeroDivisionError" in caplog.text) is (fault == BROKEN)


def test_a_full_queue_takes_no_more_and_loses_nothing(start, model):
    batcher = start(max_requests=3)
    futures = [occupy(batcher, model), *(submit(batcher, model, "ab") for _ in range(3))]
    with pytest.raises(RequestError, match="3 requests wait already") as raised:
        submit(batcher, model, "c")
    assert (raised.value.status, raised.value.retry_after) == (503, 1)
    # One that its client gave up makes room.
    assert futures[-1].cancel()
    last = submit(batcher, model, "abc")
    model.gate.set()
    assert [lengths(future) for future in [*futures[:-1], last]] == [[4], [2], [2], [3]]
    assert sum(model.batches) == 4


def test_a_request_larger_than_a_batch_is_refused(start, model):
    with pytest.raises(RequestError, match="9 rows at once; the server takes 8 at most"):
        submit(start(), model, *["a"] * 9)


def test_closing_answers_what_waits_and_takes_nothing_new(start, model):
    batcher = start(max_sequences=1)
    futures = [occupy(batcher, model), *(submit(batcher, model, "ab") for _ in range(5))]
    closing = threading.Thread(target=batcher.close)
    closing.start()
    while batcher.is_open:
        time.sleep(0.001)
    with pytest.raises(RequestError, match="about to stop") as raised:
        submit(batcher, model, "a")
    assert raised.value.status == 503
    model.gate.set()
    closing.join(PATIENCE)
    assert [lengths(future) for future in futures] == [[4], *[[2]] * 5]
    assert not batcher.is_alive
