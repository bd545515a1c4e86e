"""Folders of export_model: what is in them, what is refused, what a failure leaves; and docs/serving.md's own lines."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.exports.depth import DepthSettings
from albert_tf.portable import export as export_module
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.runtime.errors import InputError
from albert_tf.serving.predictor import Predictor
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabulary_file import parse_model

ROOT = Path(__file__).resolve().parents[3]
needs_onnx = pytest.mark.parity
WITHOUT = "import sys; sys.modules.update(dict.fromkeys(('tensorflow', 'keras', 'albert_tf')));"


@pytest.fixture
def settings(checkpoints, tmp_path):
    """A function that makes the settings of an export of the classifier as ONNX, but for changes."""

    def make(**changes):
        given = {"init_checkpoint": checkpoints["classification"], "output_dir": tmp_path / "out", "format": "onnx"}
        return ModelExportSettings(**(given | changes))

    return make


@needs_onnx
def test_the_folder_says_what_is_in_it(settings, tmp_path, export_vocabulary):
    error = export_model(settings())
    folder = tmp_path / "out"
    about = json.loads((folder / "export.json").read_text())
    names = ["export.json", "model.onnx", "tokenizer.json", "vocabulary.model"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name, described in about["files"].items():
        contents = (folder / name).read_bytes()
        assert described == {"bytes": len(contents), "sha256": hashlib.sha256(contents).hexdigest()}
    assert sorted(about["files"]) == names[1:]
    assert (folder / "vocabulary.model").read_bytes() == Path(export_vocabulary).read_bytes()
    assert about["labels"] == about["task"]["labels"] == ["good", "bad"]
    assert (about["head"], about["precision"], about["max_seq_length"]) == ("classification", "float32", 24)
    assert about["outputs"] == [{"name": "logits", "dtype": "float32", "shape": ["batch", 2]}]
    assert about["cleaning"]["do_lower_case"] is True
    assert about["largest_error"] == pytest.approx(error)
    assert set(about["versions"]) == {"onnx", "onnxruntime"}


@needs_onnx
def test_tokenizer_json_is_that_of_the_vocabulary_and_its_cleaning(settings, tmp_path, export_vocabulary):
    export_model(settings(cleaning=TextCleaning(do_lower_case=False, keep_accents=True)))
    library = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    tokenizer = AlbertTokenizer(export_vocabulary, do_lower_case=False, keep_accents=True)
    for text in ("bado mite ro.", "Bädo, 1995, MITE"):
        assert library.encode(text, add_special_tokens=False).ids == tokenizer.encode(text)


@needs_onnx
def test_a_vocabulary_that_tokenizer_json_cannot_hold_is_exported_without(
    settings, tmp_path, checkpoints, export_vocabulary, caplog
):
    proto = parse_model(Path(export_vocabulary).read_bytes(), export_vocabulary)
    proto.normalizer_spec.add_dummy_prefix = False
    (tmp_path / "other.model").write_bytes(proto.SerializeToString())
    export_model(settings(init_checkpoint=checkpoints["pretraining"], spm_model_file=tmp_path / "other.model"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "export.json",
        "model.onnx",
        "vocabulary.model",
    ]
    line = next(record.getMessage() for record in caplog.records if "tokenizer.json" in record.getMessage())
    assert line.startswith(f"{tmp_path}/other.model: no tokenizer.json is written, since the vocabulary treats white")
    assert line.endswith("; programs without sentencepiece, such as a web page, cannot read it")


@needs_onnx
def test_an_export_is_replaced_only_when_asked_to_and_by_a_whole_one(settings, tmp_path, monkeypatch):
    export_model(settings())
    with pytest.raises(InputError, match="holds an export already; --overwrite|overwrite replaces it"):
        export_model(settings(precision="int8"))
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    monkeypatch.setattr(export_module, "TOLERANCES", {"int8": 0.0})
    with pytest.raises(RuntimeError, match="classification: logits differs from the model's"):
        export_model(settings(precision="int8", overwrite=True))
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    monkeypatch.undo()
    export_model(settings(precision="int8", overwrite=True))
    assert (tmp_path / "out" / "model.onnx").stat().st_size < len(before["model.onnx"])


@needs_onnx
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head": "pretraining"}, "head=pretraining: .* was fine-tuned for .*; leave the flag out"),
        ({"max_seq_length": 65}, "max_seq_length=65 is more than the model's max_position_embeddings=64"),
        ({"init_checkpoint": "nowhere"}, "nowhere"),
        ({"spm_model_file": "nothing.model"}, "nothing.model"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, message, settings, tmp_path):
    with pytest.raises((InputError, OSError), match=message) as error:
        export_model(settings(**changes))
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "module"), [("onnx", "onnx"), ("onnx", "onnxruntime"), ("litert", "ai_edge_litert")])
def test_a_package_that_is_missing_is_named_with_its_pip_line(name, module, settings, monkeypatch):
    for one in ("onnx", "onnxruntime", "ai_edge_litert", "ai_edge_litert.interpreter"):
        monkeypatch.setitem(sys.modules, one, sys.modules[__name__])
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "ai_edge_litert.interpreter")
    with pytest.raises(InputError, match=rf"format={name} needs {module}: pip install 'albert_tf\[{name}\]'"):
        export_model(settings(format=name))


def test_a_saved_model_is_the_one_of_export_saved_model(settings, monkeypatch):
    asked = []
    monkeypatch.setattr(export_module, "export_saved_model", lambda given: asked.append(given) or 0.5)
    assert export_model(settings(format="saved_model", precision="bfloat16")) == 0.5
    assert asked[0] == settings(format="saved_model", precision="bfloat16").for_saved_model()


@needs_onnx
@pytest.mark.parametrize("name", ["onnx", "litert"])
@pytest.mark.parametrize("options", [{}, {"long_texts": "mean"}])
def test_texts_leave_an_export_where_they_leave_the_checkpoint(name, options, settings, tmp_path, save_finetuned):
    run, depth = str(tmp_path / "run"), {"exit_confidence": 0.6}
    own = {"early_exit": True, "options": options, "doc_stride": 9, "name": "classification"}
    save_finetuned(tmp_path / "run", "classification", ("good", "bad"), **own)
    export_model(settings(init_checkpoint=run, format=name, precision="float32", **depth))
    about = json.loads((tmp_path / "out" / "export.json").read_text())
    assert about["early_exit"] == {"head": "classification", "confidence": 0.6}
    assert [form["name"] for form in about["outputs"]] == ["logits", "layers"]
    texts = ["bado mite ro", "gi", "lu", "", "mite ro gi lu ra fo " * 8, "so ro " * 20]
    found = Predictor(str(tmp_path / "out")).predict(texts)
    wanted = Predictor(run, depth=DepthSettings(**depth)).predict(texts)
    for one, other in zip(found, wanted, strict=True):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-4)
        assert (one["label"], one["layers"]) == (other["label"], other["layers"])
    assert len({one["layers"] for one in found}) > 1


@needs_onnx
def test_the_command_prints_size_and_error(checkpoints, tmp_path):
    command = [sys.executable, "-m", "albert_tf.export_model", "--format=onnx", f"--output_dir={tmp_path / 'out'}"]
    done = subprocess.run(
        [*command, f"--init_checkpoint={checkpoints['pretraining']}"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"model\.onnx: 0\.\d MB; largest absolute error against the model: \d", done.stderr)
    again = subprocess.run(
        [*command, f"--init_checkpoint={checkpoints['span']}"], capture_output=True, text=True, cwd=ROOT
    )
    assert again.returncode == 1
    assert again.stderr.splitlines()[-1].startswith(f"export_model: --output_dir: {tmp_path / 'out'} holds an export")
    assert "Traceback" not in again.stderr


def _lines_of_the_document() -> str:
    """The Python of docs/serving.md that needs no TensorFlow."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/serving.md").read_text(), flags=re.M | re.S)
    (code,) = [block for block in blocks if "onnxruntime" in block]
    return code


@needs_onnx
@pytest.mark.parametrize("text", ["A charming film.", "Bäda gimo, 1995, and rásu: " + "tade " * 30])
def test_the_documents_lines_answer_as_predict_does_where_there_is_no_tensorflow(text, settings, tmp_path, checkpoints):
    export_model(settings(output_dir=tmp_path / "served" / "sst-2_onnx"))
    code = _lines_of_the_document()
    assert "A charming film." in code
    program = f"{WITHOUT}\n{code.replace('A charming film.', text)}\nprint(ids.tolist(), logits.tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    label, rest = done.stdout.splitlines()
    ids, logits = json.loads(f"[{rest.replace('] [', '], [')}]")
    (answer,) = Predictor(checkpoints["classification"]).predict([text])
    assert label == answer["label"]
    tokenizer = AlbertTokenizer(str(tmp_path / "served" / "sst-2_onnx" / "vocabulary.model"))
    assert ids == [[tokenizer.cls_id, *tokenizer.encode(text)[:22], tokenizer.sep_id]]
    model = load_pretrained(checkpoints["classification"]).model
    np.testing.assert_allclose(logits, model({"input_ids": np.array(ids)})["logits"], atol=2e-5)


def test_without_means_that_tensorflow_cannot_be_imported():
    done = subprocess.run([sys.executable, "-c", f"{WITHOUT} import tensorflow"], capture_output=True, text=True)
    assert "ModuleNotFoundError: import of tensorflow halted" in done.stderr
