"""Predictor on exports as ONNX and LiteRT: the answers of the task and of the checkpoint, without TensorFlow."""

import dataclasses
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_fixtures import HEADS_ASKED

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.export_file import write_export
from albert_tf.inputs.finetuning_features import FeatureSet
from albert_tf.runtime.errors import InputError
from albert_tf.serving import portable_model
from albert_tf.serving.like_lengths import to_row
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.glue import GlueTask
from albert_tf.tasks.race import RaceTask
from albert_tf.tasks.squad import SquadTask
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.token_classification import TokenClassification
from albert_tf.tokenization.tokenizer import AlbertTokenizer

ROOT = Path(__file__).resolve().parents[3]
# Importing them raises in the process.
WITHOUT = "import sys; sys.modules.update(dict.fromkeys(('tensorflow', 'keras', 'tensorflow_text')));"
needs_runtimes = pytest.mark.parity


def _texts(count, longest, seed=0):
    rng = random.Random(seed)
    words = ["Bada", "gimo", "rasu,", "Lefi", "1995,", "tadé", "ﬁno", "sogu.", "(kilo)", "日本"]
    return [" ".join(rng.choices(words, k=rng.randint(1, longest))) for _ in range(count)]


def _examples(head):
    """Fields for a head: short and long texts, empty ones, several windows, unequal numbers of options."""
    if head in ("span", "span_beam"):
        contexts = [*_texts(4, 60), "", "  \u0301 ", *_texts(2, 5)]
        return [{"question": q, "context": c} for q, c in zip(["bada", "gimo", "", "Lefi"] * 2, contexts)]
    if head == "multiple_choice":
        return [
            {"article": article, "question": question, "options": _texts(2 + number % 3, 2, seed=number)}
            for number, (article, question) in enumerate(zip(_texts(6, 30), ["bada _", "", "_", "gimo", "Lefi", "ba"]))
        ]
    if head == "token_classification":
        return [{"words": text.split()} for text in [*_texts(5, 40), "", "tade" * 60, "a \u0301 b"]]
    if head in ("pair", "regression"):
        return [{"text": a, "text_pair": b} for a, b in zip(_texts(6, 30), [*_texts(5, 30, seed=1), ""])]
    return [{"text": text} for text in [*_texts(8, 40), "", "tade " * 40]]


def _assert_same(found, wanted, tolerance):
    """The same fields, with numbers alike to within a tolerance and everything else the same."""
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        if name in ("probabilities", "score", "null_odds"):
            assert found[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name
        elif name == "entities":
            for one, other in zip(found[name], value, strict=True):
                _assert_same(one, other, tolerance)
        else:
            assert found[name] == value, name


def _compute(head, inputs):
    """A stand-in for a model: every output of a row is some function of its own ids that are no padding."""
    ids, mask = inputs["input_ids"], inputs["input_mask"]
    waves = np.sin(ids * (1.3 + inputs["segment_ids"]) + np.arange(ids.shape[-1])) * mask
    pooled = waves.sum(axis=-1)
    if head == "multiple_choice":
        return {"logits": pooled.astype("float32")}
    if head == "token_classification":
        return {"logits": np.stack([waves, waves**2, 0.2 * np.cos(ids)], axis=-1).astype("float32")}
    if head == "span":
        return {"start_logits": waves.astype("float32"), "end_logits": np.cos(3.0 * waves).astype("float32")}
    if head == "span_beam":
        return _beam(waves - 1e30 * inputs["p_mask"], pooled)
    return {"logits": np.stack([pooled, np.cos(pooled), 0.3 * pooled], axis=-1).astype("float32")}


def _beam(scores, pooled, width=3):
    starts = np.argsort(-scores, axis=-1, kind="stable")[:, :width]
    ends = np.stack([np.argsort(-scores * (1 + start), kind="stable") for start in range(width)], axis=1)[:, :, :width]
    rows = np.arange(len(scores))
    return {
        "start_top_log_probs": scores[rows[:, None], starts].astype("float32"),
        "start_top_index": starts.astype("int32"),
        "end_top_log_probs": scores[rows[:, None, None], ends].astype("float32"),
        "end_top_index": ends.astype("int32"),
        "answerability_logits": pooled.astype("float32"),
    }


# {head: (the task, its FinetunedTask)}.
_SETTINGS = {"max_seq_length": 24, "doc_stride": 7, "max_query_length": 6, "max_qa_length": 9, "max_answer_length": 8}
_TASKS = {
    "classification": (GlueTask("mnli", "nowhere"), ("contradiction", "entailment", "neutral"), ("text", "text_pair")),
    "multiple_choice": (RaceTask("nowhere"), (), ("article", "question", "options")),
    "token_classification": (TokenClassification(None, labels=("O", "B-X", "I-X")), ("O", "B-X", "I-X"), ()),
    "span": (SquadTask("squad_v2", None, beam=False), (), ()),
    "span_beam": (SquadTask("squad_v2", None, beam=True), (), ()),
}


@pytest.fixture
def computed(tmp_path, monkeypatch, export_vocabulary, small_config):
    """A function of a head, to the folder of an export whose file `_compute` runs."""

    def make(head, **options):
        _, labels, fields = _TASKS[head]
        monkeypatch.setitem(portable_model._RUNNERS, "onnx", lambda *_, **__: lambda inputs: _compute(head, inputs))
        name = {"classification": "mnli", "multiple_choice": "race"}.get(head, head)
        name = "squad_v2" if "span" in head else name
        task = FinetunedTask(head, len(labels) or 1, labels, name, fields, _SETTINGS, options=options)
        axes = ["batch", "options", "length"] if head == "multiple_choice" else ["batch", "length"]
        names = ["input_ids", "input_mask", "segment_ids", *(["p_mask"] if head == "span_beam" else [])]
        sample = _compute(head, dict.fromkeys(("input_ids", "input_mask", "segment_ids", "p_mask"), np.ones((1, 4))))
        (tmp_path / "model.onnx").write_bytes(b"")
        shutil.copy(export_vocabulary, tmp_path / "vocabulary.model")
        size = AlbertTokenizer(export_vocabulary).vocab_size
        about = {
            "model_format": "onnx",
            "model_file": "model.onnx",
            "precision": "float32",
            "head": head,
            "inputs": [{"name": name, "dtype": "int32", "shape": axes} for name in names],
            "outputs": [{"name": name, "dtype": "float32", "shape": ["batch"]} for name in sample],
            "max_seq_length": _SETTINGS["max_seq_length"],
            "batch_size": None,
            "fixed_length": False,
            "vocabulary": {"file": "vocabulary.model"},
            "cleaning": {},
            "config": dataclasses.replace(small_config, vocab_size=size, max_position_embeddings=64).to_dict(),
            "task": task.to_dict(),
        }
        (tmp_path / "export.json").unlink(missing_ok=True)
        write_export(str(tmp_path), about, place="")
        return str(tmp_path)

    return make


@pytest.mark.parametrize("head", _TASKS)
def test_answers_are_those_of_the_tasks_evaluation(head, computed, export_vocabulary):
    folder, (task, labels, _) = computed(head), _TASKS[head]
    examples = _examples("pair" if head == "classification" else head)
    if head == "multiple_choice":
        # The task itself has four options, the model any number.
        examples = [{**example, "options": _texts(4, 5, seed=number)} for number, example in enumerate(examples)]
    settings, tokenizer = TaskSettings(**_SETTINGS), AlbertTokenizer(export_vocabulary)
    made = [task.make_example(example, "here") for example in examples]
    features = [one for index, example in enumerate(made) for one in task.features(index, example, tokenizer, settings)]
    alone = [_compute(head, {k: v[None] for k, v in to_row(one, tokenizer.pad_id).items()}) for one in features]
    outputs = {name: [row[name][0] for row in alone] for name in alone[0]}
    wanted = task.predictions(made, FeatureSet.from_features(features, head), outputs, settings)
    for answer, prediction, example in zip(Predictor(folder).predict(examples), wanted, examples, strict=True):
        if head == "token_classification":
            assert answer == {"words": example["words"], "tags": [labels[tag] for tag in prediction]}
        elif head == "multiple_choice":
            assert answer["choice"] == prediction.option
            assert answer["probabilities"] == pytest.approx(prediction.probabilities, abs=1e-6)
        elif head == "classification":
            assert answer["label"] == labels[prediction.value]
            assert list(answer["probabilities"].values()) == pytest.approx(prediction.probabilities, abs=1e-6)
        else:
            assert answer["null_odds"] == pytest.approx(prediction.null_odds, rel=1e-5)
            assert answer["answer"].strip() == ("" if prediction.null_odds > 0 else prediction.best.text)
            assert example["context"][answer["start"] : answer["end"]] == answer["answer"]
    has_windows = head in ("token_classification", "span", "span_beam")
    assert (len(features) > len(made)) == has_windows


def test_predictor_and_command_import_neither_tensorflow_nor_keras(computed):
    folder, texts = computed("token_classification"), ["Bada gimo", "Lefi, 1995."]
    code = """
import numpy as np
from albert_tf.serving import portable_model
def compute(inputs):
    return {"logits": np.eye(3, dtype="float32")[inputs["input_ids"] % 3]}
portable_model._RUNNERS["onnx"] = lambda *_, **__: compute
import albert_tf
answers = albert_tf.Predictor(sys.argv[1][len("--model="):]).predict(sys.argv[2:])
sys.argv[0] = "predict"
print([answer["tags"] for answer in answers])
from albert_tf.predict import main
main()
"""
    done = _run(code, f"--model={folder}", *texts)
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines = done.stdout.splitlines()
    assert str([json.loads(line)["tags"] for line in lines]) == first


def test_no_answer_is_given_above_the_tasks_threshold(computed):
    examples = _examples("span")[:4]
    always, never = ({"null_score_diff_threshold": value} for value in (-1e9, 1e9))
    assert [one["answer"] for one in Predictor(computed("span", **always)).predict(examples)] == [""] * 4
    assert all(one["answer"] for one in Predictor(computed("span", **never)).predict(examples))


@needs_runtimes
@pytest.mark.parametrize("format_name", ["onnx", "litert"])
@pytest.mark.parametrize("head", HEADS_ASKED)
def test_answers_are_those_of_the_checkpoint_alone_or_among_others(head, format_name, portable_export, predictors):
    predictor, examples = Predictor(portable_export(head, format_name)), _examples(head)
    assert predictor.fields == predictors[head].fields
    wanted, found = predictors[head].predict(examples), predictor.predict(examples)
    for one, other in zip(found, wanted, strict=True):
        _assert_same(one, other, 1e-4)
    for example, together in zip(examples[::-1], found[::-1], strict=True):
        _assert_same(predictor.predict(example)[0], together, 1e-5)


@needs_runtimes
@pytest.mark.parametrize("shape", [{"batch_size": 3}, {"fixed_length": True}, {"batch_size": 2, "fixed_length": True}])
@pytest.mark.parametrize("head", ["classification", "span"])
def test_a_file_of_a_fixed_shape_answers_any_number_of_texts_of_any_length(head, shape, portable_export, predictors):
    predictor, examples = Predictor(portable_export(head, "onnx", **shape)), _examples(head)
    for one, other in zip(predictor.predict(examples), predictors[head].predict(examples), strict=True):
        _assert_same(one, other, 1e-4)


@needs_runtimes
@pytest.mark.parametrize("format_name", ["onnx", "litert"])
def test_a_text_has_one_answer_in_int8_whoever_is_beside_it(format_name, portable_export):
    predictor, examples = Predictor(portable_export("classification", format_name, precision="int8")), _examples("")
    together = predictor.predict(examples)
    for example, found in zip(examples, together, strict=True):
        _assert_same(predictor.predict(example)[0], found, 1e-5)


def _run(code, *arguments, stdin=""):
    command = [sys.executable, "-c", f"{WITHOUT}\n{code}", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=ROOT)


@needs_runtimes
@pytest.mark.parametrize("format_name", ["onnx", "litert"])
def test_predictor_needs_neither_tensorflow_nor_keras(format_name, portable_export):
    folder, texts = portable_export("classification", format_name), ["Bada gimo", "Lefi, 1995."]
    code = "import albert_tf, json; print(json.dumps(albert_tf.Predictor(sys.argv[1]).predict(sys.argv[2:])))"
    done = _run(code, folder, *texts)
    assert done.returncode == 0, done.stderr
    for found, wanted in zip(json.loads(done.stdout), Predictor(folder).predict(texts), strict=True):
        _assert_same(found, wanted, 1e-6)


@needs_runtimes
def test_the_command_needs_neither_and_takes_a_number_of_threads(portable_export):
    folder = portable_export("span", "onnx")
    code = "sys.argv[0] = 'predict'; from albert_tf.predict import main; main()"
    rows = "\n".join(map(json.dumps, _examples("span")))
    done = _run(code, f"--model={folder}", "--num_threads=1", stdin=rows)
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line)["answer"] for line in done.stdout.splitlines()]
    assert found == [one["answer"] for one in Predictor(folder).predict(_examples("span"))]


@needs_runtimes
def test_a_portable_model_that_does_not_predict_is_one_line(portable_export):
    for head, settings, message in [
        ("pretraining", {}, "of a model that was only pre-trained; fill_mask asks it"),
        ("classification", {"chosen": "encoder"}, "of the encoder alone, which predicts nothing"),
    ]:
        with pytest.raises(InputError, match=message):
            Predictor(portable_export(head, "onnx", **settings))
