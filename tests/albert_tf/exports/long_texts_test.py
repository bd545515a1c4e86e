"""Long texts in windows, asked of a checkpoint, of a SavedModel and of ONNX: the logits that the task pools."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import TextExample, sigmoid, softmax
from albert_tf.tasks.text_windows import pool_logits, window_features
from albert_tf.tokenization.tokenizer import AlbertTokenizer

LABELS = ("a", "b", "c")
TEXTS = ["bada gimo rasu " * 30, "Lefi, 1995.", "", "tade " * 22, "tade " * 23 + "rasu"]


def pooled(model, vocabulary, pooling):
    """The logits of each text, by the model and the task."""
    tokenizer, settings = AlbertTokenizer(vocabulary), TaskSettings(24, doc_stride=9)
    examples = [TextExample("", text) for text in TEXTS]
    made = [one for at, example in enumerate(examples) for one in window_features(at, example, tokenizer, settings)]
    assert len(made) > len(TEXTS) + 5
    ids = np.zeros((len(made), 24), np.int32)
    for number, feature in enumerate(made):
        ids[number, : len(feature.input_ids)] = feature.input_ids
    logits = model({"input_ids": ids, "input_mask": (ids > 0).astype(np.int32)})["logits"].numpy()
    return pool_logits(made, logits, len(TEXTS), pooling)


def numbers_of(answer):
    return [answer["score"]] if "score" in answer else list(answer["probabilities"].values())


@pytest.fixture
def trained(tmp_path, save_finetuned):
    """A function of head and pooling, to a checkpoint's folder and its model."""

    def make(head, pooling):
        labels = () if head == "regression" else LABELS
        options, folder = {"long_texts": pooling}, tmp_path / "run"
        model = save_finetuned(folder, head, labels, ("text",), "classification", options, doc_stride=9)
        return str(folder), model

    return make


OF_LOGITS = {"classification": softmax, "multi_label": sigmoid, "regression": lambda logits: logits}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "pooling"), [("classification", "mean"), ("multi_label", "max"), ("regression", "mean")]
)
def test_a_checkpoint_and_a_saved_model_answer_for_whole_texts(head, pooling, trained, tmp_path, export_vocabulary):
    folder, model = trained(head, pooling)
    wanted = OF_LOGITS[head](pooled(model, export_vocabulary, pooling))
    saved = str(tmp_path / "saved_model")
    if head == "classification":
        export_saved_model(ExportSettings(init_checkpoint=folder, output_dir=saved))
        served = tf.saved_model.load(saved).signatures["serving_default"]
        assert served(text=tf.constant([], tf.string))["probabilities"].shape == (0, len(LABELS))
    for path in [folder, *([saved] if head == "classification" else [])]:
        found = [numbers_of(answer) for answer in Predictor(path).predict(TEXTS)]
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parity
@pytest.mark.parametrize(("head", "pooling"), [("classification", "max"), ("multi_label", "mean")])
def test_an_onnx_file_answers_for_whole_texts(head, pooling, trained, tmp_path, export_vocabulary):
    folder, model = trained(head, pooling)
    wanted = OF_LOGITS[head](pooled(model, export_vocabulary, pooling))
    exported = str(tmp_path / "onnx")
    export_model(ModelExportSettings(init_checkpoint=folder, output_dir=exported, format="onnx", precision="float32"))
    found = [numbers_of(answer) for answer in Predictor(exported).predict(TEXTS)]
    np.testing.assert_allclose(found, wanted, atol=1e-5)
