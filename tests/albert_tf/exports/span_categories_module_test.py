"""Spans found by the graph of an export: those of the task, for odd texts, long ones, and several at once."""

import random

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.finetuning.data import make_features
from albert_tf.runtime.errors import InputError
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.span_categories import SpanCategories
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer

LABELS = ("X", "Y")
LENGTHS = {"max_seq_length": 24, "doc_stride": 9, "max_span_length": 4}
# Without the few characters that TensorFlow and Python lower-case in different ways.
CHARACTERS = "abcZ 12,.-\t\u00a0éÉ\u0301ﬁ①½㎏日本한\u200b\U0001f600\u2764\ufe0fह…"


def _texts():
    rng = random.Random(0)
    words = ["Bada", "gimo", "rasu,", "Lefi", "1995,", "tadé", "ﬁno", "(kilo)", "日本", "\U0001f600"]
    long = [" ".join(rng.choices(words, k=rng.randint(1, 60))) for _ in range(6)]
    odd = ["".join(rng.choices(CHARACTERS, k=rng.randint(0, 30))) for _ in range(20)]
    return [*long, *odd, "", " \u0301 \t"]


@pytest.mark.slow
def test_spans_are_those_of_the_task_from_a_checkpoint_and_a_saved_model(tmp_path, save_finetuned, export_vocabulary):
    model = save_finetuned(tmp_path / "run", "span_categories", LABELS, ("text",), "span_categories", doc_stride=9)
    task, tokenizer = SpanCategories(None, labels=LABELS), AlbertTokenizer(export_vocabulary)
    settings, texts = TaskSettings(**LENGTHS), _texts()
    examples = [task.make_example({"text": text}, "here") for text in texts]
    features = make_features(task, examples, tokenizer, settings)
    assert len(features) > len(texts) + 10
    ids = np.zeros((len(features), LENGTHS["max_seq_length"]), np.int32)
    for number in range(len(features)):
        ids[number, : features[number].length] = features[number].input_ids
    logits = model({"input_ids": ids, "input_mask": (ids > 0).astype(np.int32)})["logits"].numpy()
    wanted = task.predictions(examples, features, {"logits": logits}, settings)
    assert sum(map(len, wanted)) > 200
    saved = str(tmp_path / "saved_model")
    assert export_saved_model(ExportSettings(init_checkpoint=str(tmp_path / "run"), output_dir=saved)) < 1e-5
    for path in (str(tmp_path / "run"), saved):
        for text, row, answer in zip(texts, wanted, Predictor(path).predict(texts), strict=True):
            found = answer["entities"]
            assert [(one["label"], one["start"], one["end"]) for one in found] == [tuple(one.entity) for one in row], (
                text
            )
            assert [one["text"] for one in found] == [text[one["start"] : one["end"]] for one in found]
            assert [one["score"] for one in found] == pytest.approx([one.score for one in row], abs=1e-5)
    outputs = tf.saved_model.load(saved).signatures["serving_default"](text=tf.constant(texts))
    assert set(outputs) == {"entities", "labels", "starts", "ends", "scores"}
    assert {tuple(value.shape) for value in outputs.values()} == {(len(texts), max(map(len, wanted)))}


def test_a_length_without_room_for_two_of_the_longest_spans_is_refused(tmp_path, save_finetuned):
    save_finetuned(tmp_path / "run", "span_categories", LABELS, ("text",), "span_categories", max_span_length=11)
    with pytest.raises(InputError, match="max_span_length=11 pieces need a max_seq_length of 25 or more"):
        Predictor(str(tmp_path / "run"))
