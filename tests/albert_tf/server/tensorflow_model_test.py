"""Checkpoints and SavedModels in the server: together as alone, as FillMask and Predictor, clear errors."""

import json

import numpy as np
import pytest
from running_server import running

from albert_tf.runtime.errors import InputError
from albert_tf.server.joining import join, make_rows, take_apart
from albert_tf.server.json_tensors import read_question
from albert_tf.server.request_error import RequestError
from albert_tf.server.tensorflow_model import TensorflowModel
from albert_tf.serving.fill_mask import FillMask
from albert_tf.serving.predictor import Predictor

TEXTS = ["bado mite", "[MASK] ro", "gi"], ["lu [MASK] ra [MASK] fo bado mite nu"], ["so"]


@pytest.fixture(scope="module")
def load(checkpoint_of):
    """A function of a name, to the served model of its checkpoint, loaded once."""
    loaded = {}
    # All of them first: to make one sets a seed, and what is no export would be traced anew.
    for name in MODELS:
        checkpoint_of(name)

    def load_once(name):
        if name not in loaded:
            loaded[name] = TensorflowModel(checkpoint_of(name))
        return loaded[name]

    return load_once


def questions(model, signature, *columns):
    """The inputs of requests, as a client's JSON gives them."""
    contents = [json.dumps({"signature_name": signature, "inputs": column}).encode() for column in columns]
    return [read_question(content, model.signatures, 1000).inputs for content in contents]


def ids(*rows):
    length = max(map(len, rows))
    return {
        "input_ids": [[*row, *[0] * (length - len(row))] for row in rows],
        "input_mask": [[1] * len(row) + [0] * (length - len(row)) for row in rows],
        "segment_ids": [[0] * length for _ in rows],
    }


IDS = ids([2, 9, 3], [2, 8, 7, 6, 3]), ids([2, 11, 12, 13, 14, 15, 3]), ids([2, 3])
POSITIONS = [[1, 2], [3, 0]], [[1, 2, 3]], [[1]]
_TEXT = [{"text": texts} for texts in TEXTS]
_SQUAD = [
    {"question": ["ba do"], "context": ["mite ro gi lu ra fo " * 8]},
    {"question": ["gi", "lu"], "context": ["ro ba", "mite do gi"]},
]
_CHOICES = [
    {"article": ["bado mite ro"], "question": ["gi _ ."], "options": [["lu", "ra fo"]]},
    {"article": ["so", "ro"], "question": ["ba", "do"], "options": [["a", "b"], ["gi lu ra", "d"]]},
]
CASES = [
    ("pretraining", "serving_default", _TEXT),
    ("pretraining", "tokens_from_text", _TEXT),
    ("pretraining", "mlm_from_text", _TEXT),
    ("pretraining", "fill_mask", [{**one, "top_k": 3} for one in _TEXT]),
    ("pretraining", "sop_from_text", [{"first": texts, "second": texts[::-1]} for texts in TEXTS]),
    ("pretraining", "mlm", [{**one, "mlm_positions": positions} for one, positions in zip(IDS, POSITIONS)]),
    ("classification", "classify", _TEXT),
    ("token_classification", "tag", [{"words": [["ba", "do"], ["mi", ""]]}, {"words": [["a", "b", "c"]]}]),
]
# Their graphs take long to trace.
SLOW = [
    ("pretraining", "tokens", IDS),
    ("pretraining", "sop", IDS),
    ("token_classification", "tag_text", _TEXT),
    ("entities", "find_entities", _TEXT),
    ("span_categories", "find_entities", _TEXT),
    ("pair", "classify", [{"text": texts, "text_pair": texts[::-1]} for texts in TEXTS]),
    ("multiple_choice", "choose", _CHOICES),
    ("span", "answer", _SQUAD),
    ("regression", "score", [{"text": texts, "text_pair": [""] * len(texts)} for texts in TEXTS]),
]
MODELS = sorted({name for name, *_ in (*CASES, *SLOW)})
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in SLOW]


@pytest.mark.parametrize(
    ("name", "signature", "columns"), [*CASES, *SLOW], ids=lambda value: value if isinstance(value, str) else ""
)
def test_together_is_as_alone(load, name, signature, columns):
    model = load(name)
    inputs = questions(model, signature, *columns)
    parts = [make_rows(model, signature, one) for one in inputs]
    assert len({part.key for part in parts}) == 1
    together = take_apart(parts, model.run(parts[0].signature, join(parts)))
    for own, found in zip(inputs, together, strict=True):
        alone = model.run(signature, own)
        assert found.keys() == alone.keys() == model.signatures[signature].outputs.keys()
        for output, array in alone.items():
            assert found[output].shape == array.shape, output
            assert found[output].dtype == array.dtype, output
            if array.dtype.kind == "f":
                np.testing.assert_allclose(found[output], array, atol=1e-5, err_msg=output)
            else:
                assert found[output].tolist() == array.tolist(), output


def test_a_client_gets_what_fill_mask_gives(load, checkpoint_of):
    text = "lu [MASK] ra [MASK] fo"
    (filled,) = FillMask(checkpoint_of("pretraining"))([text], top_k=4)
    with running({"fill": load("pretraining")}) as client:
        asked = {"signature_name": "fill_mask", "instances": [{"text": text, "top_k": 4}]}
        status, content = client.ask(asked, "fill")
    assert status == 200
    (found,) = content["predictions"]
    assert found["mask_count"] == 2
    assert found["pieces"] == [[one.piece for one in mask] for mask in filled.masks]
    chances = [[one.probability for one in mask] for mask in filled.masks]
    np.testing.assert_allclose(found["probabilities"], chances, atol=1e-5)


def test_a_client_gets_what_predict_gives(load, checkpoint_of):
    texts = ["bado mite", "ro"]
    wanted = Predictor(checkpoint_of("classification")).predict(texts)
    with running({"mood": load("classification")}) as client:
        status, content = client.ask({"instances": texts}, "mood")
    assert status == 200
    assert [one["label"] for one in content["predictions"]] == [one["label"] for one in wanted]
    for found, one in zip(content["predictions"], wanted):
        assert dict(zip(found["labels"], found["probabilities"])) == pytest.approx(one["probabilities"], abs=1e-6)


@pytest.mark.parametrize(
    ("signature", "column", "message"),
    [
        ("tokens", ids([2, 9999, 3]), "input_ids must be less than 120."),
        ("tokens", ids([2, -1, 3]), "input_ids must not be negative."),
        ("tokens", {**ids([2, 3]), "segment_ids": [[0, 7]]}, "segment_ids must be less than 2."),
        ("tokens", ids([5] * 25), "Sequences are at most 24 pieces long."),
        ("mlm", {**ids([2, 3]), "mlm_positions": [[2]]}, "mlm_positions must be less than S."),
        ("fill_mask", {"text": ["[MASK]"], "top_k": 0}, "top_k must be at least 1."),
    ],
)
def test_what_the_graph_refuses_is_one_line(load, signature, column, message):
    model = load("pretraining")
    (inputs,) = questions(model, signature, column)
    with pytest.raises(RequestError) as raised:
        model.run(signature, inputs)
    assert raised.value.status == 400
    assert message in str(raised.value)
    assert "node" not in str(raised.value)


@pytest.mark.parametrize("column", [{"text": []}, {"text": [""]}, {"text": ["\u0000", "\ud7ff\U0010ffff\u0301" * 50]}])
def test_odd_texts_have_answers(load, column):
    model = load("pretraining")
    (inputs,) = questions(model, "tokens_from_text", column)
    assert model.run("tokens_from_text", inputs)["pooled_output"].shape[0] == len(column["text"])


def test_outputs_without_axes_are_arrays(load):
    found = load("pretraining").run("tokenization_info", {})
    assert found["do_lower_case"].item() is True
    assert found["vocab_file"].item().endswith(b"small.model")


def test_what_is_no_model_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        TensorflowModel(str(tmp_path))


@pytest.mark.slow
def test_a_saved_model_is_as_its_checkpoint(load, checkpoint_of, tmp_path):
    from albert_tf.exports.saved_model import export_saved_model
    from albert_tf.exports.settings import ExportSettings

    folder = str(tmp_path / "export")
    export_saved_model(ExportSettings(init_checkpoint=checkpoint_of("classification"), output_dir=folder))
    exported, model = TensorflowModel(folder), load("classification")
    assert exported.signatures == model.signatures
    (inputs,) = questions(model, "classify", {"text": TEXTS[0]})
    for name, array in model.run("classify", inputs).items():
        found = exported.run("serving_default", inputs)[name]
        assert found.tolist() == array.tolist() if array.dtype == object else found == pytest.approx(array, abs=1e-6)
