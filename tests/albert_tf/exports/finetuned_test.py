"""Exported fine-tuned models predict what the model predicts, from texts; and `predict` on files and standard input."""

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.settings import ExportSettings
from albert_tf.finetuning.split_features import make_features
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.runtime.errors import InputError
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.race import RaceTask
from albert_tf.tasks.squad import SquadTask
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.token_classification import TokenClassification
from albert_tf.tokenization.tokenizer import AlbertTokenizer

ROOT = Path(__file__).resolve().parents[3]
LONGEST = 24


@pytest.fixture
def finetuned(tmp_path, save_finetuned):
    """A function that writes a checkpoint of a head with random weights, and returns its folder and its model."""

    def make(*arguments, **settings):
        return str(tmp_path / "checkpoint"), save_finetuned(tmp_path / "checkpoint", *arguments, **settings)

    return make


def _export(folder, tmp_path) -> str:
    saved = str(tmp_path / "saved_model")
    assert export_saved_model(ExportSettings(init_checkpoint=folder, output_dir=saved)) < 1e-5
    return saved


TEXTS = ["bada gimo rasu", "Lefi, 1995.", "", "tade " * 40]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_seed_that_is_set_in_between_changes_no_answer(finetuned):
    folder, _ = finetuned("classification", ("good", "bad"))
    predictor = Predictor(folder)
    before = predictor.predict(["bada gimo"])
    tf.random.set_seed(1)
    assert predictor.predict(["bada gimo"]) == before


@pytest.mark.slow
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
    with pytest.raises(InputError, match="example 1: no 'text'; there is 'text_pair'"):
        predictor.predict([{"text_pair": "bada"}])


@pytest.mark.slow
def test_labels_that_may_be_several_are_those_from_one_half_on(finetuned, tmp_path):
    folder, _ = finetuned("multi_label", ("a", "b", "c", "d"))
    (prediction,) = Predictor(_export(folder, tmp_path)).predict([{"text": "bada gimo"}])
    assert prediction["labels"] == [name for name, value in prediction["probabilities"].items() if value >= 0.5]
    assert abs(sum(prediction["probabilities"].values()) - 1) > 1e-3


def test_a_model_that_was_only_pretrained_predicts_nothing(export_checkpoint, export_vocabulary):
    with pytest.raises(InputError, match="was only pre-trained; run_finetuning makes"):
        Predictor(export_checkpoint)


def _outputs(model, features, head):
    """The model's outputs for each feature alone, as the evaluation would have them."""
    outputs, compute = {}, tf.function(lambda inputs: model(inputs), reduce_retracing=True)
    for feature in features:
        ids = np.array([feature.input_ids]) if head != "multiple_choice" else _padded(feature.input_ids)
        segments = np.array([feature.segment_ids]) if head != "multiple_choice" else _padded(feature.segment_ids)
        inputs = {"input_ids": ids, "segment_ids": segments, "input_mask": (ids > 0).astype("int32")}
        if feature.p_mask is not None:
            inputs["p_mask"] = np.array([feature.p_mask])
        for name, value in compute(inputs).items():
            outputs.setdefault(name, []).append(value.numpy()[0])
    return outputs


def _padded(rows):
    padded = np.zeros((1, len(rows), max(map(len, rows))), "int32")
    for place, row in enumerate(rows):
        padded[0, place, : len(row)] = row
    return padded


def _texts(rng, count, shortest, longest):
    words = ["Bada", "gimo", "rasu,", "Lefi", "1995,", "tadé", "ﬁno", "sogu.", "(kilo)", "日本"]
    return [" ".join(rng.choices(words, k=rng.randint(shortest, longest))) for _ in range(count)]


def test_an_export_is_long_enough_for_its_spans(finetuned, tmp_path):
    folder, _ = finetuned("span_categories", ("a",), max_span_length=6)
    given = {"init_checkpoint": folder, "output_dir": str(tmp_path / "x"), "max_seq_length": 14}
    for export in (
        lambda: export_saved_model(ExportSettings(**given)),
        lambda: export_model(ModelExportSettings(**given, format="onnx")),
    ):
        with pytest.raises(
            InputError, match="max_span_length=6 pieces need a max_seq_length of 15 or more; received 14"
        ):
            export()


def test_an_export_is_long_enough_for_questions(finetuned, tmp_path):
    folder, _ = finetuned("span", (), ("question", "context"), name="squad_v1", max_query_length=12)
    places = {"init_checkpoint": folder, "output_dir": str(tmp_path / "x")}
    with pytest.raises(InputError, match="--max_seq_length=15 leaves no room beside long questions; give at least 16"):
        export_saved_model(ExportSettings(**places, max_seq_length=15))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, beam",
    [
        pytest.param("squad_v1", False, marks=pytest.mark.slow),
        pytest.param("squad_v1", True, marks=pytest.mark.slow),
        pytest.param("squad_v2", False, marks=pytest.mark.slow),
        ("squad_v2", True),
    ],
)
def test_an_answer_and_its_place_are_the_tasks(finetuned, tmp_path, export_vocabulary, name, beam):
    rng = random.Random(0)
    settings = TaskSettings(max_seq_length=LONGEST, max_query_length=6, doc_stride=5, max_answer_length=8)
    head = "span_beam" if beam else "span"
    own = {field: value for field, value in dataclasses.asdict(settings).items() if field != "max_seq_length"}
    folder, model = finetuned(head, (), ("question", "context"), name=name, **own)
    task, tokenizer = SquadTask(name, None, beam=beam), AlbertTokenizer(export_vocabulary)
    fields = [
        {"question": question, "context": context}
        for question, context in zip(_texts(rng, 12, 1, 5), [*_texts(rng, 10, 1, 40), "", "  \u0301 "])
    ]
    examples = [task.make_example(values, "test") for values in fields]
    features = make_features(task, examples, tokenizer, settings)
    predictions = task.predictions(examples, features, _outputs(model, features, head), settings)
    answers = Predictor(_export(folder, tmp_path)).predict(fields)
    assert sum(len(example.context) > 60 for example in examples) > 3
    for values, prediction, answer in zip(fields, predictions, answers, strict=True):
        assert ("null_odds" in answer) == (name == "squad_v2")
        if name == "squad_v2":
            assert answer["null_odds"] == pytest.approx(prediction.null_odds, rel=1e-4, abs=1e-4)
        if name == "squad_v1" or prediction.null_odds <= 0:
            assert answer["answer"].strip() == prediction.best.text
            assert (answer["start"], answer["end"]) == (prediction.best.start, prediction.best.end)
        else:
            assert (answer["answer"], answer["start"], answer["end"]) == ("", 0, 0)
        assert values["context"][answer["start"] : answer["end"]] == answer["answer"]


@pytest.mark.slow
def test_a_tag_is_the_tasks_for_every_word_of_a_long_sentence_too(finetuned, tmp_path, export_vocabulary):
    rng = random.Random(0)
    settings, labels = TaskSettings(max_seq_length=LONGEST, doc_stride=9), ("O", "B-X", "I-X")
    folder, model = finetuned("token_classification", labels, ("words?", "text?"), doc_stride=9)
    task, tokenizer = TokenClassification(None, labels=labels), AlbertTokenizer(export_vocabulary)
    sentences = [text.split() for text in _texts(rng, 8, 1, 30)] + [[], ["tade" * 30, "\u0301"]]
    examples = [task.make_example({"words": words}, "test") for words in sentences]
    features = make_features(task, examples, tokenizer, settings)
    assert len(features) > len(examples) + 5
    predictions = task.predictions(examples, features, _outputs(model, features, "token_classification"), settings)
    saved = _export(folder, tmp_path)
    tagged = Predictor(saved).predict([{"words": words} for words in sentences])
    for words, tags, found in zip(sentences, predictions, tagged, strict=True):
        assert found == {"words": words, "tags": [labels[tag] for tag in tags]}
    texts = [" ".join(words) for words in sentences]
    assert Predictor(folder).predict([{"text": text} for text in texts]) == tagged
    default = tf.saved_model.load(saved).signatures["serving_default"](text=tf.constant(texts))
    for words, found, row, tags in zip(sentences, tagged, default["words"].numpy(), default["tags"].numpy()):
        assert [word.decode() for word in row if word] == words
        assert [tag.decode() for tag in tags if tag] == found["tags"]


@pytest.mark.slow
def test_an_option_is_chosen_as_by_the_task(finetuned, tmp_path, export_vocabulary):
    rng = random.Random(0)
    settings = TaskSettings(max_seq_length=LONGEST, max_qa_length=9)
    folder, model = finetuned("multiple_choice", (), ("article", "question", "options"), max_qa_length=9)
    task, tokenizer = RaceTask("nowhere"), AlbertTokenizer(export_vocabulary)
    questions = [*_texts(rng, 3, 0, 6), "bada _ rasu", "_ gimo _", "_"]
    fields = [
        {"article": article, "question": question, "options": _texts(rng, 4, 1, 5)}
        for article, question in zip(_texts(rng, 6, 0, 20), questions)
    ]
    examples = [task.make_example(values, "test") for values in fields]
    features = make_features(task, examples, tokenizer, settings)
    predictions = task.predictions(examples, features, _outputs(model, features, "multiple_choice"), settings)
    for prediction, chosen in zip(predictions, Predictor(_export(folder, tmp_path)).predict(fields), strict=True):
        assert chosen["choice"] == prediction.option
        np.testing.assert_allclose(chosen["probabilities"], prediction.probabilities, atol=1e-5)
    fewer = {**fields[1], "options": fields[1]["options"][:3]}
    together, alone = Predictor(folder).predict([fields[0], fewer, fields[2]]), Predictor(folder).predict([fewer])
    assert [len(one["probabilities"]) for one in together] == [4, 3, 4]
    assert together[1]["probabilities"] == pytest.approx(alone[0]["probabilities"], abs=1e-6)
