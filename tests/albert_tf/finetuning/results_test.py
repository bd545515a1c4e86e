"""The threshold for test splits of SQuAD v2.0: that of dev, never one fitted to their own answers."""

import json
import types

import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.finetuning import results
from albert_tf.finetuning.results import Chosen, FinetuningResults
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import SquadTask
from albert_tf.tasks.squad_answers import Candidate, SquadPrediction

# Null odds of each question; the best threshold of dev is 1.0, that of test would be 4.0.
ODDS = {"dev": [1.0, 3.0], "test": [0.5, 4.0]}


def write_squad(folder, split, impossible):
    answer = {"text": "paris", "answer_start": 0}
    qas = [
        {"id": f"{split}{n}", "question": "where", "answers": [] if none else [answer], "is_impossible": none}
        for n, none in enumerate(impossible)
    ]
    contents = {"data": [{"paragraphs": [{"context": "paris", "qas": qas}]}]}
    (folder / f"{split}.json").write_text(json.dumps(contents))


@pytest.fixture
def make_results(tmp_path, monkeypatch):
    """A function that makes the results of a run whose model always says "paris"."""
    write_squad(tmp_path, "dev", [False, True])
    write_squad(tmp_path, "test", [False, False])

    def predict(steps, task, split, *_):
        best = Candidate("paris", 1.0, 1.0, 0, 5, 1.0)
        return [SquadPrediction(best, (best,), odds) for odds in ODDS[split.name]]

    monkeypatch.setattr(results, "predict_split", predict)

    def make(do_eval, splits=("dev", "test"), threshold=None):
        task = SquadTask("squad_v2", SplitFiles(str(tmp_path), ("{split}.json",)), null_score_diff_threshold=threshold)
        made = {name: types.SimpleNamespace(name=name, examples=task.examples(name)) for name in splits}
        data = types.SimpleNamespace(
            dev_splits=lambda: [made["dev"]],
            names=lambda kind: [name for name in made if name == kind],
            split=made.get,
            batch_shape=lambda size: None,
        )
        settings = types.SimpleNamespace(
            do_eval=do_eval,
            do_predict=True,
            **dict.fromkeys(("ensemble", "early_exit", "score_layers"), False),
            output_dir=str(tmp_path / "run"),
            eval_batch_size=8,
            task_settings=None,
        )
        run = types.SimpleNamespace(
            settings=settings,
            task=task,
            data=data,
            steps=None,
            stop_if_asked=None,
            cluster=types.SimpleNamespace(is_chief=True),
            checkpoints=types.SimpleNamespace(all=lambda: []),
        )
        return FinetuningResults(run)

    return make


def answers(tmp_path):
    return list(json.loads((tmp_path / "run" / "test_predictions.json").read_text()).values())


def test_a_test_split_with_answers_goes_by_the_threshold_of_dev(make_results, tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    found = make_results(do_eval=True).write(Chosen("somewhere", None, None))
    assert found["scores"]["dev"]["best_f1_thresh"] == found["threshold"] == 1.0
    # 0 would leave both without an answer, a threshold fitted to the test split none.
    assert answers(tmp_path) == ["paris", ""]
    assert "a question has no answer where its null_odds exceed 1, the best on dev" in caplog.text


@pytest.mark.parametrize(
    "evaluation, options, threshold, told",
    [
        ({"best_f1_thresh": 0.25}, {}, 0.25, "the best in the evaluation of somewhere"),
        ({"best_f1_thresh": 0.25}, {"null_score_diff_threshold": 4.0}, 4.0, "which somewhere was trained with"),
        (None, {}, 1.0, "the best on dev"),
    ],
)
def test_without_an_evaluation_the_threshold_is_the_stored_one_or_found_on_dev(
    make_results, tmp_path, caplog, evaluation, options, threshold, told
):
    caplog.set_level("INFO", logger="absl")
    task = FinetunedTask("span_beam", 2, name="squad_v2", options=options)
    found = make_results(do_eval=False).write(Chosen("somewhere", task, evaluation))
    assert "scores" not in found
    assert found["threshold"] == threshold
    assert answers(tmp_path) == ["" if odds > threshold else "paris" for odds in ODDS["test"]]
    assert told in caplog.text


def test_without_any_dev_split_the_threshold_is_0_with_a_warning(make_results, tmp_path, caplog):
    found = make_results(do_eval=False, splits=("test",)).write(Chosen("somewhere", None, None))
    assert found["threshold"] == 0.0
    assert answers(tmp_path) == ["", ""]
    [warning] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "no dev split, and none lies with the checkpoint" in warning.getMessage()


def test_a_threshold_that_was_given_is_the_one(make_results, tmp_path):
    found = make_results(do_eval=True, threshold=5.0).write(Chosen("somewhere", None, {"best_f1_thresh": 0.0}))
    assert "threshold" not in found
    assert answers(tmp_path) == ["paris", "paris"]
