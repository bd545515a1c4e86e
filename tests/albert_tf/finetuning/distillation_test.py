"""Learning from a teacher: the loss by hand, its outputs from a file and from a model, what is refused."""

import contextlib
import dataclasses
import json
import os
import types

import numpy as np
import pytest
import tensorflow as tf

import albert_tf
from albert_tf import losses
from albert_tf.finetuning import distillation
from albert_tf.finetuning.distillation import ask_teacher, check_teacher
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.objectives import Objective
from albert_tf.inputs.finetuning_dataset import BatchShape, make_training_dataset
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.task import TaskSettings

LN3 = float(np.log(3.0))
ONE = np.ones(1, np.float32)


def test_the_divergence_from_a_teacher_by_hand():
    teacher, model = np.array([[0.0, LN3]], "float32"), np.array([[LN3, 0.0]], "float32")
    loss, count = losses.distillation_loss(model, teacher, ONE, "classification", 1.0)
    # KL([1/4, 3/4], [3/4, 1/4]).
    assert (float(loss), float(count)) == (pytest.approx(0.5 * LN3, rel=1e-5), 1)
    halved, _ = losses.distillation_loss(2 * model, 2 * teacher, ONE, "classification", 2.0)
    assert float(halved) == pytest.approx(4 * 0.5 * LN3, rel=1e-5)
    same, _ = losses.distillation_loss(model, model, ONE, "multi_label", 3.0)
    assert float(same) == pytest.approx(0.0, abs=1e-6)
    # Of each label KL([1/4, 3/4], [1/2, 1/2]) = ln 2 - entropy.
    several, _ = losses.distillation_loss(
        np.zeros((1, 2), "float32"), np.array([[LN3, -LN3]], "float32"), ONE, "multi_label", 1.0
    )
    assert float(several) == pytest.approx(np.log(2) - (0.25 * np.log(4) + 0.75 * np.log(4 / 3)), rel=1e-4)
    number, _ = losses.distillation_loss(
        np.array([[1.0]], "float32"), np.array([[4.0]], "float32"), ONE, "regression", 5.0
    )
    assert float(number) == 9.0


def test_the_teacher_has_its_share_of_the_loss():
    outputs = {"logits": tf.constant([[LN3, 0.0], [9.0, 0.0]])}
    batch = {"label": tf.constant([0, 1]), "example_weight": tf.constant([1.0, 0.0])}
    batch["teacher_logits"] = tf.constant([[0.0, LN3], [5.0, 5.0]])
    objective = Objective("classification", distillation=(1.0, 0.25))
    loss, correct = objective.loss(outputs, batch, objective.counts(batch))
    assert float(loss) == pytest.approx(0.75 * np.log(4 / 3) + 0.25 * 0.5 * LN3, rel=1e-5)
    assert float(correct) == 1.0


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_probabilities_of_a_file_go_with_their_examples_into_the_batches(make_data, tmp_path):
    shares = np.linspace(0.1, 0.9, 60)
    path = _write(tmp_path / "soft.jsonl", [{"probabilities": {"1": x, "0": 1 - x}} for x in shares])
    data = make_data(teacher=path)
    ask_teacher(data, None, True)
    dataset = make_training_dataset(data.training_split().features, BatchShape(8, (48,)), 1, 3)
    for batch in dataset:
        expected = np.log(shares[batch["feature_index"].numpy()])
        np.testing.assert_allclose(batch["teacher_logits"][:, 1], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([{"probabilities": {"0": 0.5, "1": 0.5}}], "has 1 lines, and the training split 60 examples"),
        ([{"error": "no text"}], "line 1: no probabilities of 0, 1"),
        ([{"probabilities": {"0": float("nan"), "1": 0.5}}], "line 1: no probabilities of 0, 1"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(make_data, tmp_path, rows, match):
    with pytest.raises(InputError, match=match):
        ask_teacher(make_data(teacher=_write(tmp_path / "soft.jsonl", rows)), None, True)
    with pytest.raises(InputError, match="no such file; predict --format=jsonl"):
        ask_teacher(make_data(teacher="missing.jsonl"), None, True)


@pytest.mark.parametrize(
    ("changes", "head", "match"),
    [
        ({"teacher": "t"}, "span", "--teacher means nothing to t, a task of span"),
        ({"teacher": "t", "do_train": False}, "regression", "--teacher goes with --do_train"),
        ({"distillation_weight": 0.9}, "classification", "--distillation_weight goes with --teacher"),
    ],
)
def test_what_no_teacher_can_do_is_refused(finetuning_settings, changes, head, match):
    task = types.SimpleNamespace(name="t", head=head)
    with pytest.raises(FlagError, match=match):
        check_teacher(dataclasses.replace(finetuning_settings, **changes), task)


@pytest.fixture
def stand_in_teacher(finetuning_settings, monkeypatch):
    """A teacher that is none: its `task` may be changed, and `asked` has the number of examples of every time."""
    model = types.SimpleNamespace(weights=[np.ones(2)])
    teacher = types.SimpleNamespace(model=model, source="t", cleaning=None, task=None, asked=[])
    teacher.vocabulary_file = finetuning_settings.spm_model_file

    def predict(steps, features, shape):
        teacher.asked.append(len(features))
        return {"logits": [np.array([teacher.model.weights[0][0] - 1, row.example]) for row in features]}

    monkeypatch.setattr(distillation, "load_pretrained", lambda path: teacher)
    monkeypatch.setattr(distillation, "FinetuningSteps", lambda *args: None)
    monkeypatch.setattr(distillation, "predict_features", predict)
    return teacher


def _strategy():
    return types.SimpleNamespace(scope=contextlib.nullcontext)


def test_a_teacher_is_asked_again_about_other_texts_alone(make_data, stand_in_teacher):
    def ask(**changes):
        data = make_data(teacher="t", **changes)
        stand_in_teacher.task = data.finetuned_task()
        ask_teacher(data, _strategy(), True)
        return data

    train = os.path.join(ask().settings.data_dir, "train.tsv")
    ask()
    assert stand_in_teacher.asked == [60]
    with open(train) as file:
        lines = file.read().splitlines()
    with open(train, "w") as file:
        file.write("\n".join([lines[0], "kama lana\t1", *lines[2:], ""]))
    ask()
    ask(task_settings=TaskSettings(max_seq_length=4))
    assert stand_in_teacher.asked == [60, 60, 60]
    ask(max_train_examples=59)
    assert stand_in_teacher.asked == [60, 60, 60, 59]


def test_a_teacher_never_speaks_for_the_one_before_it(make_data, stand_in_teacher, monkeypatch):
    def ask(number):
        data = make_data(teacher="t")
        stand_in_teacher.task = data.finetuned_task()
        stand_in_teacher.model.weights = [np.full(2, 1.0 + number)]
        ask_teacher(data, _strategy(), True)
        return data.training_split().features.columns["teacher_logits"].values[0]

    def killed(*args):
        raise KeyboardInterrupt

    assert ask(3) == 3.0
    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        # Whatever comes after the outputs are written.
        patch.setattr(distillation.files, "write_json", killed)
        ask(4)
    assert (ask(3), ask(4), ask(4)) == (3.0, 4.0, 4.0)


def test_a_teacher_of_a_different_task_is_refused_though_its_classes_are_called_the_same(make_data, stand_in_teacher):
    data = make_data(teacher="t")
    stand_in_teacher.task = dataclasses.replace(data.finetuned_task(), name="cola")
    with pytest.raises(InputError, match=r"--teacher=t was fine-tuned for cola .*, not for sst-2"):
        ask_teacher(data, _strategy(), True)
    stand_in_teacher.task = dataclasses.replace(data.finetuned_task(), name=None)
    ask_teacher(data, _strategy(), True)


@pytest.mark.slow
def test_a_model_and_the_file_of_its_probabilities_teach_the_same(finetuning_settings, tmp_path, read_weights):
    teacher = dataclasses.replace(finetuning_settings, output_dir=str(tmp_path / "teacher"))
    run(teacher)
    with open(os.path.join(teacher.data_dir, "train.tsv")) as file:
        texts = [line.rsplit("\t", 1)[0] for line in file.read().splitlines()[1:]]
    path = _write(tmp_path / "soft.jsonl", albert_tf.Predictor(teacher.output_dir).predict(texts))
    found = []
    for name in (teacher.output_dir, path):
        folder = str(tmp_path / f"student-{len(found)}")
        settings = dataclasses.replace(
            finetuning_settings, teacher=name, distillation_weight=1.0, output_dir=folder, random_seed=7
        )
        results = run(settings)
        found.append(read_weights(folder))
    for name, value in found[0].items():
        np.testing.assert_allclose(value, found[1][name], atol=1e-4, err_msg=name)
    assert run(settings) == results
