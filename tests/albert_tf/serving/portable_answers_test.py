"""Predictor on exports as ONNX and LiteRT: the answers of the model they were made of, and no TensorFlow."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from export_fixtures import HEADS_ASKED

from albert_tf.runtime.errors import InputError
from albert_tf.serving.predictor import Predictor

ROOT = Path(__file__).resolve().parents[3]
# Importing them raises in the process.
WITHOUT = "import sys; sys.modules.update(dict.fromkeys(('tensorflow', 'keras', 'tensorflow_text')));"
pytestmark = pytest.mark.parity


def _texts(count, longest, seed=0):
    rng = random.Random(seed)
    words = ["Bada", "gimo", "rasu,", "Lefi", "1995,", "tadé", "ﬁno", "sogu.", "(kilo)", "日本"]
    return [" ".join(rng.choices(words, k=rng.randint(1, longest))) for _ in range(count)]


def _examples(head):
    """Fields for a head: short and long texts, empty ones, several windows, unequal numbers of options."""
    if head in ("span", "span_beam"):
        contexts = [*_texts(4, 60), "", "  \u0301 ", *_texts(2, 5)]
        return [{"question": q, "context": c} for q, c in zip(_texts(8, 4, seed=1), contexts)]
    if head == "multiple_choice":
        return [
            {"article": article, "question": question, "options": _texts(2 + number % 3, 5, seed=number)}
            for number, (article, question) in enumerate(zip(_texts(6, 30), ["bada _ rasu", "", "_", *_texts(3, 4)]))
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
        else:
            assert found[name] == value, name


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


@pytest.mark.parametrize("shape", [{"batch_size": 3}, {"fixed_length": True}, {"batch_size": 2, "fixed_length": True}])
@pytest.mark.parametrize("head", ["classification", "span"])
def test_a_file_of_a_fixed_shape_answers_any_number_of_texts_of_any_length(head, shape, portable_export, predictors):
    predictor, examples = Predictor(portable_export(head, "onnx", **shape)), _examples(head)
    for one, other in zip(predictor.predict(examples), predictors[head].predict(examples), strict=True):
        _assert_same(one, other, 1e-4)


@pytest.mark.parametrize("format_name", ["onnx", "litert"])
def test_a_text_has_one_answer_in_int8_whoever_is_beside_it(format_name, portable_export):
    predictor, examples = Predictor(portable_export("classification", format_name, precision="int8")), _examples("")
    together = predictor.predict(examples)
    for example, found in zip(examples, together, strict=True):
        _assert_same(predictor.predict(example)[0], found, 1e-5)


def _run(code, folder, *arguments, stdin=""):
    command = [sys.executable, "-c", f"{WITHOUT}\n{code}", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("format_name", ["onnx", "litert"])
def test_predictor_needs_neither_tensorflow_nor_keras(format_name, portable_export):
    folder, texts = portable_export("classification", format_name), ["Bada gimo", "Lefi, 1995."]
    code = "import albert_tf, json; print(json.dumps(albert_tf.Predictor(sys.argv[1]).predict(sys.argv[2:])))"
    done = _run(code, folder, folder, *texts)
    assert done.returncode == 0, done.stderr
    for found, wanted in zip(json.loads(done.stdout), Predictor(folder).predict(texts), strict=True):
        _assert_same(found, wanted, 1e-6)


def test_the_command_needs_neither_and_takes_a_number_of_threads(portable_export):
    folder = portable_export("span", "onnx")
    code = "import runpy; sys.argv[0] = 'predict'; runpy.run_module('albert_tf.predict', run_name='__main__')"
    rows = "\n".join(map(json.dumps, _examples("span")))
    done = _run(code, folder, f"--model={folder}", "--num_threads=1", stdin=rows)
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line)["answer"] for line in done.stdout.splitlines()]
    assert found == [one["answer"] for one in Predictor(folder).predict(_examples("span"))]


def test_a_portable_model_that_does_not_predict_is_one_line(portable_export):
    for head, settings, message in [
        ("pretraining", {}, "of a model that was only pre-trained; fill_mask asks it"),
        ("classification", {"head": "encoder"}, "of the encoder alone, which predicts nothing"),
    ]:
        with pytest.raises(InputError, match=message):
            Predictor(portable_export(head, "onnx", **settings))
