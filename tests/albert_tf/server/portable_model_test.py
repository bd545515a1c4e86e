"""Exports as ONNX in the server: their own inputs as serving_default, and from texts the checkpoint's answers."""

import json
import subprocess
import sys

import numpy as np
import pytest

import albert_tf
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VectorDense
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.server.joining import make_rows
from albert_tf.server.json_tensors import read_question
from albert_tf.server.models import ModelSource, open_model
from albert_tf.server.request_error import RequestError
from albert_tf.server.tensorflow_model import TensorflowModel

pytestmark = pytest.mark.parity

TEXT = {"text": ["bado [MASK] mite", "[MASK] ro [MASK]", "gi"]}
CASES = [
    ("pretraining", "pretraining", "fill_mask", {**TEXT, "top_k": 3}),
    ("pretraining", "pretraining", "sop_from_text", {"first": ["bado mite"], "second": ["gi"]}),
    ("pretraining", "encoder", "tokens_from_text", TEXT),
    ("pretraining", "encoder", "embed_from_text", TEXT),
    ("pretraining", "embedding", "embed_from_text", TEXT),
    ("classification", None, "classify", TEXT),
    ("pair", None, "classify", {**TEXT, "text_pair": ["a", "b", "c"]}),
    ("multi_label", None, "classify", TEXT),
    ("regression", None, "score", {**TEXT, "text_pair": ["", "b", ""]}),
    ("multiple_choice", None, "choose", {"article": ["so ro"], "question": ["gi _"], "options": [["lu", "ra", "fo"]]}),
    ("token_classification", None, "tag", {"words": [["ba", "do", "gi"], ["mi", "", ""], ["", "", ""]]}),
    ("token_classification", None, "tag_text", {"text": ["ba do  gi", "mi", " "]}),
    (
        "entities",
        None,
        "find_entities",
        {"text": ["ba do  gi", "mi \N{GRINNING FACE}", " ", "mite ro gi lu ra fo " * 8]},
    ),
    ("span_categories", None, "find_entities", {"text": ["ba do  gi", " ", "mite ro gi lu ra fo " * 4]}),
    ("span", None, "answer", {"question": ["ba do"], "context": ["mite ro gi lu ra fo " * 8]}),
    ("span_beam", None, "answer", {"question": ["ba do"], "context": ["mite ro gi lu ra fo"]}),
]


@pytest.fixture(scope="module")
def export(checkpoint_of, tmp_path_factory):
    """A function of a checkpoint's name and a head, to the folder of an ONNX export, made once."""
    made = {}

    def make(name, head=None, **settings):
        key = (name, head, *settings.items())
        if key not in made:
            folder = str(tmp_path_factory.mktemp("onnx") / "export")
            given = {"init_checkpoint": checkpoint_of(name), "output_dir": folder, "format": "onnx", **settings}
            export_model(ModelExportSettings(**given, **({"head": head} if head else {})))
            made[key] = folder
        return made[key]

    return make


def opened(folder):
    return open_model(ModelSource("name", folder, 1))


def inputs_of(model, signature, column):
    content = json.dumps({"signature_name": signature, "inputs": column}).encode()
    return read_question(content, model.signatures, 1000).inputs


@pytest.mark.parametrize(("name", "head", "signature", "column"), CASES)
def test_texts_are_answered_as_by_the_checkpoint(checkpoint_of, export, name, head, signature, column):
    portable, model = opened(export(name, head)), TensorflowModel(checkpoint_of(name))
    found = portable.run(signature, inputs_of(portable, signature, column))
    wanted = model.run(signature, inputs_of(model, signature, column))
    assert found.keys() == portable.signatures[signature].outputs.keys()
    for output, form in portable.signatures[signature].outputs.items():
        array = found[output]
        assert array.ndim == len(form.axes)
        assert array.shape == wanted[output].shape, output
        if form.dtype == "float32":
            np.testing.assert_allclose(array, wanted[output], atol=1e-4, err_msg=output)
        else:
            assert array.tolist() == wanted[output].tolist(), output


def test_ids_are_the_default(export):
    model = opened(export("classification"))
    column = {"input_ids": [[2, 9, 3]], "input_mask": [[1, 1, 1]], "segment_ids": [[0, 0, 0]]}
    outputs = model.run("serving_default", inputs_of(model, "serving_default", column))
    assert outputs["logits"].shape == (1, 2)
    with pytest.raises(RequestError, match="`input_ids` must lie between 0 and 119"):
        model.run("serving_default", inputs_of(model, "serving_default", {**column, "input_ids": [[2, 999, 3]]}))


def test_layers_of_early_exit_are_an_output_of_every_signature(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "run", "classification", ("good", "bad"), early_exit=True)
    places = {"init_checkpoint": str(tmp_path / "run"), "output_dir": str(tmp_path / "out")}
    export_model(ModelExportSettings(format="onnx", exit_confidence=0.9, **places))
    model = opened(str(tmp_path / "out"))
    for signature, column in (
        ("classify", TEXT),
        ("serving_default", {name: [[1, 1]] for name in ("input_ids", "input_mask", "segment_ids")}),
    ):
        found = model.run(signature, inputs_of(model, signature, column))
        assert found["layers"].dtype == np.int32
        assert 1 <= found["layers"].min() <= found["layers"].max() <= 4
        assert model.signatures[signature].outputs["layers"].axes == ("batch",)


def test_an_encoder_without_its_dense_layer_gives_pieces_and_no_vectors(checkpoint_of, export_vocabulary, tmp_path):
    model = albert_tf.load(checkpoint_of("pretraining"))
    model.pooling = Pooling("mean", True, 12, VectorDense(5, "tanh", np.ones((16, 5), "f"), np.zeros(5, "f")))
    vocabulary = {"vocabulary_file": export_vocabulary}
    albert_tf.save(model, tmp_path / "model", "sentence_transformers", **vocabulary)
    places = {"init_checkpoint": str(tmp_path / "model"), "output_dir": str(tmp_path / "out")}
    export_model(ModelExportSettings(format="onnx", head="encoder", **places))
    opened_model = opened(str(tmp_path / "out"))
    assert "embed_from_text" not in opened_model.signatures
    outputs = opened_model.run("tokens_from_text", inputs_of(opened_model, "tokens_from_text", TEXT))
    assert outputs["sequence_output"].shape[::2] == (3, 16)


def test_no_texts_have_no_rows_and_no_options_are_the_clients_fault(export):
    model = opened(export("pretraining", "encoder"))
    outputs = model.run("tokens_from_text", inputs_of(model, "tokens_from_text", {"text": []}))
    assert {name: array.shape[0] for name, array in outputs.items()} == dict.fromkeys(outputs, 0)
    assert outputs["sequence_output"].shape[-1] == 16
    model = opened(export("multiple_choice"))
    column = {"article": ["so ro"], "question": ["gi _"], "options": [[]]}
    with pytest.raises(RequestError, match="no options to choose from") as caught:
        model.run("choose", inputs_of(model, "choose", column))
    assert caught.value.status == 400


def test_int8_of_onnx_runs_requests_one_by_one(export):
    model = opened(export("classification", precision="int8"))
    assert make_rows(model, "classify", inputs_of(model, "classify", TEXT)).key is None


def test_it_runs_without_tensorflow(export):
    program = (
        "import sys\nsys.modules['tensorflow'] = None\nsys.modules['keras'] = None\n"
        "from albert_tf.server.app import create_app\n"
        f"app = create_app(['mood={export('classification')}'])\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_failure_of_the_model_is_a_fault_and_a_wrong_input_the_clients(export):
    model = opened(export("classification"))
    ids = {name: np.ones((1, 4), np.int32) for name in ("input_ids", "input_mask", "segment_ids")}

    def fail(inputs):
        raise RuntimeError("no memory")

    with pytest.raises(RequestError) as raised:
        model.run("serving_default", ids | {"input_ids": np.full((1, 4), 10**6, np.int32)})
    assert raised.value.status == 400
    model._model._run = fail
    with pytest.raises(RequestError, match=r"^the model failed: no memory$") as raised:
        model.run("serving_default", ids)
    assert raised.value.status == 500
