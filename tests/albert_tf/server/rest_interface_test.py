"""TensorFlow Serving's REST interface over HTTP: addresses, forms, error codes, limits, health and metrics."""

import json
import threading
import time

import pytest
from running_server import running
from word_model import BROKEN, NOT_A_NUMBER, REFUSED, SLOW, WordModel

HEAD = b"POST /v1/models/words:predict HTTP/1.1\r\nHost: x\r\n"
LENGTH = {"signature_name": "length"}


@pytest.fixture(scope="module")
def client():
    with running({"words": WordModel(), "a.b-c_d": WordModel()}, max_body_bytes=2000, max_text_chars=100) as asked:
        yield asked


@pytest.mark.parametrize(
    "path", ["/v1/models/words", "/v1/models/words/versions/1", "/V1/Models/a.b-c_d", "/v1/models/a%2eb-c_d"]
)
def test_the_status_of_a_model(client, path):
    status = {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    assert client.get(path) == (200, {"model_version_status": [status]})


def test_the_metadata_of_a_model_are_its_signatures(client):
    status, found = client.get("/v1/models/words/metadata")
    assert status == 200
    assert found["model_spec"] == {"name": "words", "signature_name": "", "version": "1"}
    signature = found["metadata"]["signature_def"]["signature_def"]["fill_mask"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    free = {"size": "-1", "name": ""}
    assert signature["inputs"]["text"]["tensor_shape"] == {"dim": [free], "unknown_rank": False}
    assert signature["inputs"]["top_k"] == {
        "dtype": "DT_INT32",
        "tensor_shape": {"dim": [], "unknown_rank": False},
        "name": "top_k:0",
    }
    assert signature["outputs"]["pieces"]["dtype"] == "DT_STRING"
    assert len(signature["outputs"]["pieces"]["tensor_shape"]["dim"]) == 3


def test_rows_and_columns(client):
    assert client.ask({**LENGTH, "instances": ["abc", "d"]}) == (200, {"predictions": [3, 1]})
    assert client.ask({**LENGTH, "inputs": {"text": ["abc", "d"]}}) == (200, {"outputs": [3, 1]})
    pairs = [{"text": "a", "text_pair": "b"}]
    row = {"label": "ab", "score": pytest.approx(1 / 3)}
    assert client.ask({"signature_name": "classify", "instances": pairs}) == (200, {"predictions": [row]})
    assert client.ask({**LENGTH, "instances": ["a"]}, path="/v1/models/words/versions/1:predict")[0] == 200


# What is asked, and what the error says, by its status.
ERRORS = {
    404: {
        "GET /v1/models/other": "Servable not found for request: Latest(other); there are words (version 1), ",
        "GET /v1/models/words/versions/2": "Servable not found for request: Specific(words, 2)",
        "GET /v1/models/words/labels/stable": "Servable not found",
        "GET /nowhere": "there is nothing at /nowhere",
        "POST /v1/models/other:predict": "Servable not found for request: Latest(other)",
        "POST /v1/models/%ff%00:predict": "Servable not found",
    },
    400: {
        f"GET /v1/models/words/versions/{'9' * 5000}": "Failed to convert version: 999",
        "GET /v1/models": "Missing model name in request.",
        "GET /v1/other": "Malformed request: GET /v1/other",
        "POST /v1/models/words": "Malformed request: POST /v1/models/words",
        "GET /v1/models/words:predict": "Malformed request: GET",
        "DELETE /v1/models/words": "Malformed request: DELETE",
        "POST /v1/models/words:classify": "classify is not supported",
        "POST /v1/models/words:predict": "JSON Parse error",
        "POST /v1/models/a%2fb:predict": "Malformed request",
    },
}


@pytest.mark.parametrize(("status", "asked"), [(status, asked) for status, lines in ERRORS.items() for asked in lines])
def test_errors_are_objects_with_one_line(client, status, asked):
    found, body, headers = client.send(*asked.split(" ", 1))
    assert found == status
    assert headers["Content-Type"] == "application/json"
    error = json.loads(body)["error"]
    assert ERRORS[status][asked] in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (REFUSED, 400, "the model refuses"),
        (BROKEN, 500, "internal error (ZeroDivisionError)"),
        ("x" * 101, 400, "takes 100 at most"),
    ],
)
def test_what_a_model_refuses_is_an_error(client, text, status, message):
    found, content = client.ask({**LENGTH, "instances": [text]})
    assert found == status
    assert message in content["error"]


def test_numbers_that_are_none_are_a_fault(client):
    asked = {"signature_name": "classify", "instances": [{"text": NOT_A_NUMBER, "text_pair": ""}]}
    assert client.ask(asked) == (500, {"error": "the model's score are not finite numbers; its weights are damaged"})


@pytest.mark.parametrize("size", [2001, 5000, 100_000])
def test_a_body_that_is_too_large_is_413(client, size):
    status, content = client.ask(b" " * size)
    assert (status, content) == (413, {"error": "the body has more than 2,000 bytes"})


def test_a_client_that_asks_first_hears_at_once_that_its_body_is_too_large(client):
    with client.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 9999999\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_body_in_chunks_is_read(client):
    with client.connect() as connection:
        connection.sendall(HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
        for chunk in (b'{"signature_name": "length", "insta', b'nces": ["abc"]}'):
            connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        connection.sendall(b"0\r\n\r\n")
        received = b""
        while part := connection.recv(1000):
            received += part
    assert received.endswith(b'{"predictions":[3]}')


def test_health_and_readiness(client):
    assert client.get("/healthz") == (200, {"status": "ok"})
    assert client.get("/readyz") == (200, {"status": "ready"})


def test_there_is_no_page_unless_it_is_asked_for(client):
    assert client.send("GET", "/")[0] == 404


def test_metrics_count_what_was_asked(client):
    asked = 'albert_requests_total{model="a.b-c_d",signature="length",status="200"}'
    assert asked not in client.metrics()
    client.ask({**LENGTH, "instances": ["abc", "d", "e"]}, model="a.b-c_d")
    client.ask({"signature_name": "of a client's own", "instances": ["abc"]}, model="a.b-c_d")
    metrics = client.metrics()
    assert metrics[asked] == 1
    # No name of a client's becomes a label.
    assert metrics['albert_requests_total{model="a.b-c_d",signature="",status="400"}'] == 1
    assert metrics['albert_batch_rows_sum{model="a.b-c_d"}'] == 3
    assert metrics['albert_request_seconds_count{model="a.b-c_d"}'] == 2
    assert metrics['albert_queue_requests{model="a.b-c_d"}'] == 0
    assert metrics["process_resident_memory_bytes"] > 0


def in_threads(count, function):
    threads = [threading.Thread(target=function, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_overload_is_503_with_retry_after_and_loses_nothing():
    model, found = WordModel(), []
    with running({"words": model}, max_queue=4, max_batch_size=1) as client:
        model.gate.clear()

        def ask(number):
            body = json.dumps({**LENGTH, "instances": ["a" * number]}).encode()
            status, content, headers = client.send("POST", "/v1/models/words:predict", body)
            found.append((number, status, json.loads(content), headers["Retry-After"]))

        threads = in_threads(12, ask)
        # One runs, four wait, seven are turned away at once.
        deadline = time.monotonic() + 20
        while len(found) < 7 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [(status, retry) for _, status, _, retry in found] == [(503, "1")] * 7
        model.gate.set()
        for thread in threads:
            thread.join()
    answered = [one for one in found if one[1] == 200]
    assert len(answered) == 5
    assert all(content == {"predictions": [number]} for number, _, content, _ in answered)


def test_a_request_that_takes_too_long_is_504_and_the_next_is_answered():
    with running({"words": WordModel()}, timeout_s=0.2) as client:
        status, content = client.ask({**LENGTH, "instances": [SLOW]})
        assert (status, content["error"]) == (504, "no answer after 0.2 seconds")
        time.sleep(0.5)
        assert client.ask({**LENGTH, "instances": ["abc"]}) == (200, {"predictions": [3]})


def test_a_client_that_goes_away_makes_room_in_the_queue():
    model = WordModel()
    with running({"words": model}, max_queue=1, max_batch_size=1) as client:
        model.gate.clear()
        body = json.dumps({**LENGTH, "instances": ["abc"]}).encode()
        request = b"POST /v1/models/words:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (
            len(body),
            body,
        )
        running_one, waiting = client.connect(), client.connect()
        running_one.sendall(request)
        time.sleep(0.2)
        waiting.sendall(request)
        time.sleep(0.2)
        assert client.ask(body)[0] == 503
        waiting.close()
        time.sleep(0.2)
        answers = []
        (thread,) = in_threads(1, lambda number: answers.append(client.ask(body)))
        time.sleep(0.2)
        model.gate.set()
        thread.join()
        running_one.close()
    assert answers == [(200, {"predictions": [3]})]


def test_concurrent_requests_run_together_and_each_gets_its_own_answer():
    model, found = WordModel(), {}
    with running({"words": model}, batch_wait_ms=200) as client:

        def ask(number):
            found[number] = client.ask({**LENGTH, "instances": ["a" * number, "b" * (number + 1)]})

        for thread in in_threads(16, ask):
            thread.join()
    assert found == {number: (200, {"predictions": [number, number + 1]}) for number in range(16)}
    assert sum(model.batches) == 32
    assert len(model.batches) < 16
