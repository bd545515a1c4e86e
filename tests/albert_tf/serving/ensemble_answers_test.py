"""Several models as one: means by hand, models that are not of one task, and a Predictor of several paths."""

import types

import numpy as np
import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.depth import DepthSettings
from albert_tf.runtime.errors import InputError
from albert_tf.serving import predictor
from albert_tf.serving.ensemble_answers import EnsembleAnswers
from albert_tf.serving.model_kind import models_of

LABELS = {"classification": ("a", "b"), "multi_label": ("a", "b")}


def _model(head, answer, fields=("text",), labels=None, name=None):
    labels = LABELS.get(head, ()) if labels is None else labels
    task = FinetunedTask(head, len(labels) or 1, labels, name)
    return types.SimpleNamespace(task=task, fields=fields, answer=lambda examples: [answer] * len(examples))


@pytest.mark.parametrize(
    ("head", "answers", "mean"),
    [
        (
            "classification",
            [
                {"label": "a", "labels": ["a", "b"], "probabilities": np.array([0.6, 0.4])},
                {"label": "b", "labels": ["b", "a"], "probabilities": np.array([0.9, 0.1])},
            ],
            {"label": "b", "labels": ["a", "b"], "probabilities": [0.35, 0.65]},
        ),
        (
            "multi_label",
            [
                {"labels": ["a", "b"], "probabilities": np.array([0.6, 0.4]), "thresholds": np.array([0.5, 0.1])},
                {"labels": ["a", "b"], "probabilities": np.array([0.2, 0.8]), "thresholds": np.array([0.3, 0.3])},
            ],
            {"labels": ["a", "b"], "probabilities": [0.4, 0.6], "thresholds": [0.4, 0.2]},
        ),
        ("regression", [{"score": 1.0}, {"score": 4.0}], {"score": 2.5}),
        (
            "multiple_choice",
            [
                {"choice": 0, "probabilities": np.array([0.6, 0.4])},
                {"choice": 1, "probabilities": np.array([0.1, 0.9])},
            ],
            {"choice": 1, "probabilities": [0.35, 0.65]},
        ),
    ],
)
def test_the_mean_answers(head, answers, mean):
    models = [_model(head, answer) for answer in answers]
    for found in EnsembleAnswers(models, ["x", "y"]).answer([{"text": "one"}, {"text": "two"}]):
        assert found.keys() == mean.keys()
        for name, value in mean.items():
            if name in ("label", "labels"):
                assert found[name] == value
            else:
                np.testing.assert_allclose(found[name], value)


@pytest.mark.parametrize(
    ("other", "match"),
    [
        (_model("regression", {}), "y was fine-tuned for .* give models of one task"),
        (_model("classification", {}, labels=("a", "c")), "give models of one task"),
        (_model("classification", {}, fields=("text", "text_pair")), "give models of one task"),
        (_model("span", {}), "y was fine-tuned for .*, whose answers have no mean"),
        (_model("classification", {}, name="sst-2"), "give models of one task"),
    ],
)
def test_models_of_several_tasks_are_refused(other, match):
    with pytest.raises(InputError, match=match):
        EnsembleAnswers([_model("classification", {}, name="cola"), other], ["x", "y"])


def test_a_model_without_thresholds_has_the_usual_one():
    answers = [{"labels": ["a"], "probabilities": np.array([0.4])} for _ in range(2)]
    answers[0]["thresholds"] = np.array([0.1])
    models = [_model("multi_label", answer, labels=("a",)) for answer in answers]
    (found,) = EnsembleAnswers(models, ["x", "y"]).answer([{"text": "one"}])
    assert found["thresholds"].tolist() == [pytest.approx(0.3)]


def test_a_predictor_of_several_paths_asks_all_of_them(monkeypatch, tmp_path):
    models = {"x": _model("regression", {"score": 1.0}), "y": _model("regression", {"score": 2.0})}
    monkeypatch.setattr(predictor, "_open_one", lambda path, num_threads, depth: models[path])
    assert predictor.Predictor("x,y").predict("a text") == [{"score": 1.5}]
    with pytest.raises(InputError, match="--patience is for a single model; an ensemble computes all layers"):
        predictor.Predictor("x,y", depth=DepthSettings(patience=2))
    (tmp_path / "x,y").mkdir()
    (tmp_path / "x,y" / "model.ckpt-1.index").touch()
    for place in (tmp_path / "x,y", tmp_path / "x,y" / "model.ckpt-1"):
        assert models_of(str(place)) == [str(place)]
