"""An opened export as ONNX or LiteRT: what it says of itself, what it takes, and what is refused in one line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import albert_tf
from albert_tf.exports.export_file import write_export
from albert_tf.runtime.errors import InputError
from albert_tf.serving import portable_model
from albert_tf.serving.outputs import ModelFailedError
from albert_tf.serving.portable_model import PortableModel

IDS = ("input_ids", "input_mask", "segment_ids")


@pytest.fixture
def folder(tmp_path, small_config, monkeypatch):
    """A folder like those of export_model, whose file a stand-in for onnxruntime runs: logits are sums of ids."""

    def opened(source, num_threads, needed_by, precision, has_branches):
        assert Path(source).read_bytes() == b"a model"
        opened.threads = num_threads
        return lambda inputs: {"logits": inputs["input_ids"].sum(axis=1, keepdims=True).astype("float32")}

    monkeypatch.setitem(portable_model._RUNNERS, "onnx", opened)
    (tmp_path / "model.onnx").write_bytes(b"a model")
    (tmp_path / "vocabulary.model").write_bytes(b"a vocabulary")
    forms = [{"name": name, "dtype": "int32", "shape": ["batch", "length"]} for name in IDS]
    about = {
        "model_format": "onnx",
        "model_file": "model.onnx",
        "precision": "float32",
        "head": "classification",
        "inputs": forms,
        "outputs": [{"name": "logits", "dtype": "float32", "shape": ["batch", 1]}],
        "max_seq_length": 8,
        "batch_size": None,
        "fixed_length": False,
        "vocabulary": {"file": "vocabulary.model"},
        "cleaning": {},
        "config": small_config.to_dict(),
    }

    def write(**changes):
        write_export(str(tmp_path), about | changes, place="")
        return str(tmp_path)

    write.opened = opened
    return write


def test_ids_alone_will_do_and_hugging_faces_names_too(folder):
    model = albert_tf.load(folder())
    assert isinstance(model, PortableModel)
    assert model([[2, 3], [4, 5]])["logits"].tolist() == [[5], [9]]
    given = {"input_ids": np.array([[2, 3]]), "attention_mask": [[1, 0]], "token_type_ids": None}
    assert model(given)["logits"].tolist() == [[5]]
    assert (model.head, model.task, model.length, model.input_names) == ("classification", None, None, IDS)


def test_no_answer_is_in_the_padding_unless_it_is_told_otherwise(folder, monkeypatch):
    monkeypatch.setitem(portable_model._RUNNERS, "onnx", lambda *_, **__: lambda inputs: {"logits": inputs["p_mask"]})
    forms = [{"name": name, "dtype": "int32", "shape": ["batch", "length"]} for name in (*IDS, "p_mask")]
    model = albert_tf.load(folder(head="span_beam", inputs=forms))
    batch = {"input_ids": [[2, 3, 0]], "attention_mask": [[1, 1, 0]]}
    assert model(batch)["logits"].tolist() == [[0, 0, 1]]
    assert model(batch | {"p_mask": [[0, 1, 1]]})["logits"].tolist() == [[0, 1, 1]]


def test_threads_are_those_that_are_asked_for_else_those_there_are(folder):
    PortableModel(folder(), num_threads=3)
    assert folder.opened.threads == 3
    PortableModel(folder())
    assert folder.opened.threads >= 1
    for wrong in (0, -1, 1.5):
        with pytest.raises(InputError, match="num_threads must be at least 1"):
            PortableModel(folder(), num_threads=wrong)


def _all(ids, **changes):
    ids = np.array(ids)
    return {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids), **changes}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"input_ids": [[1]]}, "has an input 'input_mask', which is missing; its inputs are input_ids, input_mask"),
        (_all([[1]], logits=[[1]]), "has no input 'logits'"),
        (_all([1, 2]), r"`input_ids` must have the shape \[batch, length\]. Received \[2\]"),
        (_all([[1, 2]], input_mask=[[1]]), r"`input_mask` must have .* with batch=1, length=2. Received \[1, 1\]"),
        (_all(np.zeros((0, 3), int)), r"Received \[0, 3\]"),
        (_all([[1, 2]], segment_ids=[[0], [1, 1]]), "`segment_ids` has rows of unequal lengths"),
        (_all([[1.5]]), "`input_ids` must be integers. Received the dtype float64"),
        (_all([["a"]]), "`input_ids` must be integers"),
        (_all([[99999]]), "`input_ids` must lie between 0 and"),
        (_all([[-1]]), "`input_ids` must lie between 0 and"),
        (_all([[1 << 40]]), "`input_ids` must be numbers of 32 bits"),
        (_all([[1]], input_mask=[[2]]), "`input_mask` must lie between 0 and 1"),
        (_all(np.ones((1, 9999), int)), r"takes sequences of 1 to \d+ pieces. Received 9999"),
    ],
)
def test_inputs_that_do_not_fit_are_one_line(inputs, message, folder):
    model = PortableModel(folder())
    with pytest.raises(InputError, match=message) as error:
        model.run(inputs)
    assert "\n" not in str(error.value)


def test_a_fixed_shape_is_held_to(folder):
    forms = [{"name": name, "dtype": "int32", "shape": [2, 8]} for name in IDS]
    model = PortableModel(folder(inputs=forms, batch_size=2, fixed_length=True))
    assert (model.batch_size, model.length) == (2, 8)
    with pytest.raises(InputError, match=r"must have the shape \[2, 8\]. Received \[1, 8\]"):
        model.run(_all(np.ones((1, 8), int)))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / "model.onnx").write_bytes(b"b model"), "model.onnx is damaged: its size or checksum"),
        (lambda path: (path / "model.onnx").unlink(), "model.onnx is missing; copy the export as a whole"),
        (lambda path: (path / "export.json").write_text('{"format": "x"}'), "export.json: not written by"),
        (
            lambda path: (path / "export.json").write_text((path / "export.json").read_text().replace("8", "9", 1)),
            "export.json: damaged, or changed after it was written",
        ),
    ],
)
def test_a_folder_that_is_not_what_was_written_is_refused(damage, message, folder, tmp_path):
    path = folder()
    damage(tmp_path)
    with pytest.raises(InputError, match=message):
        PortableModel(path)


@pytest.mark.parametrize("changes", [{"model_file": "../model.onnx"}, {"vocabulary": {"file": "/etc/passwd"}}])
def test_a_file_without_a_checksum_is_not_opened(changes, folder):
    with pytest.raises(InputError, match="is no file of this export; export the model again"):
        PortableModel(folder(**changes))


def test_no_odd_value_in_export_json_is_a_traceback(folder, tmp_path):
    names = [name for name in json.loads(Path(folder(), "export.json").read_text()) if name not in ("sha256", "format")]
    refused = 0
    for name in names:
        for value in (None, 5, -1, "x", [], {}, [5], {"name": 1}, True):
            (tmp_path / "export.json").unlink()
            try:
                PortableModel(folder(**{name: value}))
            except InputError as error:
                assert "\n" not in str(error)
                refused += 1
    assert refused > 50


def test_a_failure_of_the_library_is_one_line(folder):
    model = PortableModel(folder())

    def fail(inputs):
        raise RuntimeError("[ONNXRuntimeError] : 1 : FAIL : no\nmore lines")

    model._run = fail
    with pytest.raises(InputError, match=r"the model failed: \[ONNXRuntimeError\] : 1 : FAIL : no$"):
        model([[1]])
    with pytest.raises(InputError, match="is an export, which cannot be trained"):
        model([[1]], training=True)


def test_outputs_are_those_that_the_export_names(folder):
    model = PortableModel(folder())
    model._run = lambda inputs: {"logits": np.zeros((1, 1), "float32"), "LayerNormalization_7": np.zeros(1)}
    assert model([[1]]).keys() == {"logits"}
    model._run = lambda inputs: {}
    with pytest.raises(ModelFailedError, match="the model has no output 'logits'; export the model again"):
        model([[1]])


@pytest.mark.parity
@pytest.mark.parametrize(("format_name", "file"), [("onnx", "model.onnx"), ("litert", "model.tflite")])
def test_a_file_that_the_library_cannot_load_is_one_line(format_name, file, portable_export, tmp_path):
    copy = Path(shutil.copytree(portable_export("classification", format_name), tmp_path / "copy"))
    (copy / file).write_bytes(b"no model")
    about = json.loads((copy / "export.json").read_text())
    (copy / "export.json").unlink()
    write_export(
        str(copy), {name: about[name] for name in about if name not in ("files", "sha256", "format")}, place=""
    )
    with pytest.raises(InputError, match=f"{file} cannot be loaded: .*; export the model again"):
        PortableModel(copy)


@pytest.mark.parity
@pytest.mark.parametrize("format_name", ["onnx", "litert"])
def test_load_gives_a_model_whose_outputs_are_the_models(format_name, portable_export, predictors, export_vocabulary):
    folder = portable_export("classification", format_name)
    model, other = albert_tf.load(folder), albert_tf.load(predictors["classification"].path)
    tokenizer = albert_tf.load_tokenizer(folder)
    assert tokenizer.sha256 == albert_tf.AlbertTokenizer(export_vocabulary).sha256
    inputs = tokenizer(["bada gimo", "lefi"])
    np.testing.assert_allclose(model(inputs)["logits"], other(inputs)["logits"], atol=1e-4)
