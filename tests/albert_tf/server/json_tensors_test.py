"""JSON to tensors and back, by TensorFlow Serving's two forms; every wrong request is one line."""

import base64
import json

import numpy as np
import pytest
from word_model import WordModel

from albert_tf.server.json_tensors import MOST_VALUES, read_question, write_answer
from albert_tf.server.request_error import RequestError

SIGNATURES = WordModel().signatures


def read(content, **limits):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_question(body, SIGNATURES, **{"max_text_chars": 100, **limits})


def b64(text):
    return {"b64": base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()}


@pytest.mark.parametrize(
    "content",
    [
        {"instances": ["a", "é"]},
        {"instances": [{"text": "a"}, {"text": b64("é")}]},
        {"instances": [b64("a"), b64("é")]},
        {"inputs": ["a", "é"]},
        {"inputs": {"text": ["a", b64("é")]}, "signature_name": "serving_default"},
        {"signature_name": "", "instances": ["a", "é"], "unknown": {"is": "ignored"}},
    ],
)
def test_one_input_has_a_short_form_and_every_form_means_the_same(content):
    question = read(content)
    assert question.signature == "serving_default"
    assert question.by_row is ("instances" in content)
    assert question.inputs["text"].tolist() == [b"a", "é".encode()]


def test_rows_and_columns_of_several_inputs_are_the_same_tensors():
    rows = [{"input_ids": [1, 2], "input_mask": [1, 1], "segment_ids": [0, number]} for number in range(3)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    by_row, by_column = (
        read({"signature_name": "tokens", "instances": rows}),
        read({"signature_name": "tokens", "inputs": columns}),
    )
    for name, array in by_row.inputs.items():
        assert array.dtype == np.int32
        assert array.tolist() == by_column.inputs[name].tolist() == columns[name]


def test_an_input_without_axes_stands_in_every_row_or_alone():
    rows = read({"signature_name": "fill_mask", "instances": [{"text": "a", "top_k": 2}, {"text": "b", "top_k": 2}]})
    column = read({"signature_name": "fill_mask", "inputs": {"text": ["a", "b"], "top_k": 2}})
    assert rows.inputs["top_k"].item() == column.inputs["top_k"].item() == 2
    assert rows.inputs["top_k"].shape == ()
    with pytest.raises(RequestError, match="'top_k' must be the same in all instances"):
        read({"signature_name": "fill_mask", "instances": [{"text": "a", "top_k": 2}, {"text": "b", "top_k": 3}]})


def test_numbers_keep_their_kind():
    content = {"flags": [True], "values": [[1, 0.5]], "ids": [2**40]}
    inputs = read({"signature_name": "mixed", "inputs": content}).inputs
    assert {name: (array.dtype.name, array.tolist()) for name, array in inputs.items()} == {
        "flags": ("bool", [True]),
        "values": ("float32", [[1.0, 0.5]]),
        "ids": ("int64", [2**40]),
    }


_TOKENS = {"input_mask": [[1]], "segment_ids": [[0]]}
_MIXED = {"flags": [True], "values": [[1, 2]], "ids": [1]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "JSON Parse error"),
        (b"{", "JSON Parse error"),
        (b"\xff\xfe", "JSON Parse error"),
        (b'{"instances": [NaN]}', "JSON Parse error"),
        (b"[" * 100_000 + b"]" * 100_000, "JSON Parse error"),
        (
            b'{"inputs": ' + b"[" * 1000 + b"]" * 1000 + b"}",
            "JSON Parse error|deep were expected|strings were expected",
        ),
        ([1], "a JSON object was expected, a list received"),
        ({}, "one of 'instances' and 'inputs'"),
        ({"instances": ["a"], "inputs": ["a"]}, "one of 'instances' and 'inputs'"),
        ({"signature_name": 3, "instances": ["a"]}, "'signature_name' must be a string"),
        ({"signature_name": "nowhere", "instances": ["a"]}, 'Serving signature name: "nowhere" not found'),
        ({"signature_name": "x" * 9999, "instances": ["a"]}, "not found in signature def; there are classify"),
        ({"instances": []}, "at least one row"),
        ({"instances": "a"}, "must be a list"),
        ({"instances": [{"text": "a"}, "b"]}, r"instances\[1\] must be an object"),
        ({"instances": ["a", {"text": "b"}]}, "strings were expected, an object received"),
        (
            {"instances": [{"text": "a", "more": 1}]},
            r"instances\[0\]: \['more'\] unexpected; the signature takes 'text'",
        ),
        ({"instances": [{}]}, "'text' missing"),
        ({"inputs": {}}, "'text' missing"),
        ({"inputs": "a"}, "lists 1 deep were expected .* str 'a' at depth 1|a string at depth 1"),
        ({"inputs": [["a"]]}, "strings were expected, a list received"),
        ({"instances": [None]}, "null received"),
        ({"instances": [1.5]}, "float 1.5 received"),
        ({"instances": [{"b64": "%%"}]}, "unable to base64 decode '%%'"),
        ({"instances": [b64(b"\xff")]}, "not UTF-8"),
        ({"instances": ["a" * 101]}, "a text of 101 characters; the server takes 100"),
        ({"signature_name": "tag", "instances": [["ab"] * 40]}, "a text of 119 characters"),
        ({"signature_name": "tag", "instances": [["a", "b"], ["c"]]}, r"lists differ in length \(1 and 2\)"),
        ({"signature_name": "classify", "instances": ["a"]}, "objects with 'text', 'text_pair'; a string received"),
        ({"signature_name": "classify", "inputs": ["a"]}, "'inputs' must be an object with 'text', 'text_pair'"),
        (
            {"signature_name": "classify", "inputs": {"text": ["a", "b"], "text_pair": ["a"]}},
            "differ in their number of rows",
        ),
        ({"signature_name": "tokens", "inputs": {"input_ids": [1], **_TOKENS}}, "lists 2 deep were expected"),
        (
            {"signature_name": "tokens", "inputs": {"input_ids": [[1.0]], **_TOKENS}},
            "integers were expected, float 1.0",
        ),
        (
            {"signature_name": "tokens", "inputs": {"input_ids": [[True]], **_TOKENS}},
            "integers were expected, true or false",
        ),
        ({"signature_name": "tokens", "inputs": {"input_ids": [["1"]], **_TOKENS}}, "integers were expected, a string"),
        ({"signature_name": "tokens", "inputs": {"input_ids": [[2**31]], **_TOKENS}}, "2147483648 is no int32"),
        ({"signature_name": "tokens", "inputs": {"input_ids": [[-(2**31) - 1]], **_TOKENS}}, "is no int32"),
        (
            {"signature_name": "mixed", "inputs": {**_MIXED, "values": [[1, 2, 3]]}},
            "lists of 2 were expected, one of 3",
        ),
        ({"signature_name": "mixed", "inputs": {**_MIXED, "values": [[1e39, 2]]}}, "is no float32"),
        ({"signature_name": "mixed", "inputs": {**_MIXED, "flags": [1]}}, "true or false were expected, int 1"),
        ({"signature_name": "info", "instances": [{}]}, "no inputs, and so no rows"),
    ],
)
def test_a_wrong_request_is_one_line(content, message):
    with pytest.raises(RequestError, match=message) as raised:
        read(content)
    assert raised.value.status == 400
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 300


def test_a_signature_without_inputs_is_asked_by_an_empty_object():
    assert read({"signature_name": "info", "inputs": {}}).inputs == {}


TWO = {"label": np.array([b"a", "é".encode()], object), "score": np.array([0.1, 2], np.float32)}


def test_outputs_have_names_where_there_are_several():
    assert json.loads(write_answer(TWO, by_row=True)) == {
        "predictions": [{"label": "a", "score": 0.1}, {"label": "é", "score": 2.0}]
    }
    assert json.loads(write_answer(TWO, by_row=False)) == {"outputs": {"label": ["a", "é"], "score": [0.1, 2.0]}}
    one = {"values": np.arange(4, dtype=np.int32).reshape(2, 2)}
    assert json.loads(write_answer(one, by_row=True)) == {"predictions": [[0, 1], [2, 3]]}
    assert json.loads(write_answer(one, by_row=False)) == {"outputs": [[0, 1], [2, 3]]}


def test_outputs_without_axes_go_in_columns_alone():
    outputs = {"name": np.array(b"small", object), "is_small": np.array(True)}
    assert json.loads(write_answer(outputs, by_row=False)) == {"outputs": {"name": "small", "is_small": True}}
    with pytest.raises(RequestError, match="no rows"):
        write_answer(outputs, by_row=True)


def test_parts_of_arrays_and_empty_ones_are_written():
    array = np.arange(12, dtype=np.float32).reshape(2, 6)[:, :3]
    assert json.loads(write_answer({"x": array}, by_row=True)) == {"predictions": [[0, 1, 2], [6, 7, 8]]}
    assert json.loads(write_answer({"x": np.zeros((2, 0, 5), object)}, by_row=False)) == {"outputs": [[], []]}


def test_bytes_go_in_base64_by_the_name_of_the_output():
    outputs = {"echo_bytes": np.array([b"\xff"], object)}
    assert json.loads(write_answer(outputs, by_row=True)) == {"predictions": [{"b64": "/w=="}]}


def test_what_json_has_no_word_for_is_an_error():
    with pytest.raises(RequestError, match="score are not finite") as raised:
        write_answer({"score": np.array([1, np.nan], np.float32)}, by_row=True)
    assert raised.value.status == 500
    with pytest.raises(RequestError, match="ask for fewer rows"):
        write_answer({"score": np.broadcast_to(np.float32(1), MOST_VALUES + 1)}, by_row=True)
