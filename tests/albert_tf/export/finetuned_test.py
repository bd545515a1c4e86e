"""Exported fine-tuned models predict what the model predicts, from texts; and `predict` on files and standard input."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.errors import InputError
from albert_tf.export.predictor import Predictor
from albert_tf.export.saved_model import ExportSettings, export_saved_model
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.training import checkpoints
from albert_tf.training.finetuned_task import FinetunedTask

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 24


@pytest.fixture
def finetuned(tmp_path, export_vocabulary):
    """A function that writes a checkpoint of a head with random weights, and returns its folder and its model."""

    def make(head, labels=(), fields=("text",), **settings):
        keras.utils.set_random_seed(3)
        config = AlbertConfig(
            **{"vocab_size": 120, "embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 2},
            **{"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64},
            initializer_range=0.3,
        )
        model = make_finetuning_model(config, head, len(labels))
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        tokenizer = AlbertTokenizer(export_vocabulary)
        count = len(labels) or 1
        task = FinetunedTask(head, count, tuple(labels), "mine", fields, {"max_seq_length": LONGEST, **settings})
        vocabulary = {"file": "small.model", "sha256": tokenizer.sha256, "size": tokenizer.vocab_size}
        weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
        checkpoints.write_weights(str(folder), config, weights, vocabulary, task)
        (folder / "small.model").write_bytes(Path(export_vocabulary).read_bytes())
        return str(folder), model

    return make


def _export(folder, tmp_path) -> str:
    saved = str(tmp_path / "saved_model")
    assert export_saved_model(ExportSettings(init_checkpoint=folder, output_dir=saved)) < 1e-5
    return saved


TEXTS = ["bada gimo rasu", "Lefi, 1995.", "", "tade " * 40]


def test_a_text_has_the_models_probabilities_for_each_label(finetuned, tmp_path, export_vocabulary):
    folder, model = finetuned("classification", ("good", "bad", "neither"))
    predictions = Predictor(_export(folder, tmp_path)).predict([{"text": text} for text in TEXTS])
    tokenizer = AlbertTokenizer(export_vocabulary)
    for text, prediction in zip(TEXTS, predictions, strict=True):
        ids = [tokenizer.cls_id, *tokenizer.encode(text)[: LONGEST - 2], tokenizer.sep_id]
        logits = model({"input_ids": np.array([ids])})["logits"].numpy()[0]
        expected = np.exp(logits) / np.exp(logits).sum()
        assert list(prediction["probabilities"]) == ["good", "bad", "neither"]
        np.testing.assert_allclose(list(prediction["probabilities"].values()), expected, atol=1e-5)
        assert prediction["label"] == ("good", "bad", "neither")[int(np.argmax(logits))]
    assert Predictor(folder).predict([{"text": text} for text in TEXTS]) == [
        {"label": one["label"], "probabilities": pytest.approx(one["probabilities"], abs=1e-6)} for one in predictions
    ]


def test_a_pair_may_lack_its_second_text_only_if_the_task_says_so(finetuned, tmp_path, export_vocabulary):
    folder, model = finetuned("regression", fields=("text", "text_pair?"))
    predictor = Predictor(_export(folder, tmp_path))
    alone, pair = predictor.predict([{"text": "bada"}, {"text": "bada", "text_pair": "gimo rasu"}])
    tokenizer = AlbertTokenizer(export_vocabulary)
    first, second = ([*tokenizer.encode(text), tokenizer.sep_id] for text in ("bada", "gimo rasu"))
    one = model({"input_ids": np.array([[tokenizer.cls_id, *first]])})
    segments = [0] * (1 + len(first)) + [1] * len(second)
    both = model({"input_ids": np.array([[tokenizer.cls_id, *first, *second]]), "segment_ids": np.array([segments])})
    assert alone["score"] == pytest.approx(float(one["logits"][0, 0]), abs=1e-5)
    assert pair["score"] == pytest.approx(float(both["logits"][0, 0]), abs=1e-5)
    with pytest.raises(InputError, match="example 1: 'text' must be text. Received None"):
        predictor.predict([{"text_pair": "bada"}])


def test_labels_that_may_be_several_are_those_from_one_half_on(finetuned, tmp_path):
    folder, _ = finetuned("multi_label", ("a", "b", "c", "d"))
    (prediction,) = Predictor(_export(folder, tmp_path)).predict([{"text": "bada gimo"}])
    assert prediction["labels"] == [name for name, value in prediction["probabilities"].items() if value >= 0.5]
    assert abs(sum(prediction["probabilities"].values()) - 1) > 1e-3


def test_a_model_that_was_only_pretrained_predicts_nothing(checkpoint, export_vocabulary):
    with pytest.raises(InputError, match="was only pre-trained; run_finetuning makes"):
        Predictor(checkpoint)


@pytest.mark.parametrize("file_format", ["jsonl", "tsv"])
def test_predict_reads_files_and_standard_input_alike(finetuned, tmp_path, file_format):
    folder, _ = finetuned("classification", ("good", "bad"))
    table = tmp_path / "texts.tsv"
    table.write_text("text\nbada gimo\nrasu\n")
    command = [sys.executable, "-m", "albert_tf.predict", f"--output_dir={folder}", f"--format={file_format}"]
    written = tmp_path / "predictions"
    subprocess.run([*command, f"--input_file={table}", f"--output_file={written}"], check=True, cwd=ROOT)
    piped = subprocess.run(
        command, input='bada gimo\n{"text": "rasu"}\n', text=True, capture_output=True, check=True, cwd=ROOT
    ).stdout
    assert piped == written.read_text()
    lines = piped.splitlines()
    if file_format == "jsonl":
        assert [set(json.loads(line)) for line in lines] == [{"label", "probabilities"}] * 2
    else:
        assert lines[0] == "label\tprobabilities: good\tprobabilities: bad"
        assert len(lines) == 3
