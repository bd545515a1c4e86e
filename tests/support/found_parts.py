"""Parts of texts that a model finds, entities or spans: the same by the task, a checkpoint and a SavedModel."""

import random

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.finetuning.split_features import make_features
from albert_tf.serving.predictor import Predictor

# Without the few characters that TensorFlow and Python lower-case in different ways.
CHARACTERS = "abcZ 12,.-\t\u00a0éÉ\u0301ﬁ①½㎏日本한\u200b\U0001f600\u2764\ufe0fह…"
_WORDS = ["Bada", "gimo", "rasu,", "Lefi", "1995,", "tadé", "ﬁno", "(kilo)", "日本", "\U0001f600"]


def odd_texts(num_long, num_odd):
    """Texts of many words, texts of odd characters, and two of next to nothing."""
    rng = random.Random(0)
    long = [" ".join(rng.choices(_WORDS, k=rng.randint(1, 60))) for _ in range(num_long)]
    odd = ["".join(rng.choices(CHARACTERS, k=rng.randint(0, 30))) for _ in range(num_odd)]
    return [*long, *odd, "", " \u0301 \t"]


def assert_served_as_by_task(model, task, tokenizer, settings, texts, folder, fewest):
    """A checkpoint at folder/run and its SavedModel find what the task finds by the model's logits: so many or more."""
    examples = [task.make_example({"text": text}, "here") for text in texts]
    features = make_features(task, examples, tokenizer, settings)
    assert len(features) > len(texts) + 10
    ids = np.zeros((len(features), settings.max_seq_length), np.int32)
    for number in range(len(features)):
        ids[number, : features[number].length] = features[number].input_ids
    logits = model({"input_ids": ids, "input_mask": (ids > 0).astype(np.int32)})["logits"].numpy()
    wanted = task.predictions(examples, features, {"logits": logits}, settings)
    assert sum(map(len, wanted)) >= fewest
    run, saved = str(folder / "run"), str(folder / "saved_model")
    assert export_saved_model(ExportSettings(init_checkpoint=run, output_dir=saved)) < 1e-5
    for path in (run, saved):
        for text, row, answer in zip(texts, wanted, Predictor(path).predict(texts), strict=True):
            found = answer["entities"]
            places = [(one["label"], one["start"], one["end"]) for one in found]
            assert places == [tuple(one.entity) for one in row], text
            assert [one["text"] for one in found] == [text[one["start"] : one["end"]] for one in found]
            assert [one["score"] for one in found] == pytest.approx([one.score for one in row], abs=1e-5)
    outputs = tf.saved_model.load(saved).signatures["serving_default"](text=tf.constant(texts))
    assert set(outputs) == {"entities", "labels", "starts", "ends", "scores"}
    assert {tuple(value.shape) for value in outputs.values()} == {(len(texts), max(map(len, wanted)))}
