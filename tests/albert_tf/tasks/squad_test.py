"""Answers to SQuAD from outputs made by hand: plain and beam head, null odds, scores, files, the report."""

import json
from pathlib import Path

import numpy as np
import pytest

from albert_tf.finetuning.split_features import make_features
from albert_tf.tasks.squad_windows import MAX_CONTEXT, TEXT_ENDS, TEXT_STARTS
from albert_tf.tasks.task import TaskSettings

CONTEXT = "The river was in the city of paris and the film was good."
SETTINGS = TaskSettings(max_seq_length=40, doc_stride=8, n_best_size=3, max_answer_length=12)


def plain_outputs(features, chosen, length=60):
    """Logits that are high at (feature, start, end, score); -5 elsewhere, 0 at [CLS]."""
    outputs = {name: [np.full(length, -5.0, np.float32) for _ in features] for name in ("start_logits", "end_logits")}
    for rows in outputs.values():
        for row in rows:
            row[0] = 0.0
    for number, start, end, score in chosen:
        outputs["start_logits"][number][start] = outputs["end_logits"][number][end] = score / 2
    return outputs


def place_of(feature, text, context=CONTEXT):
    """The positions of the pieces that stand for a text."""
    start = int(np.flatnonzero(np.asarray(feature.notes[TEXT_STARTS]) == context.find(text))[0])
    end = int(np.flatnonzero(np.asarray(feature.notes[TEXT_ENDS]) == context.find(text) + len(text))[-1])
    return start, end


def test_the_best_span_is_the_answer(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where", ["city of paris"], False))
    examples = task.examples("dev")
    settings = TaskSettings(max_seq_length=200, n_best_size=2, max_answer_length=40)
    features = make_features(task, examples, tokenizer, settings)
    start, end = place_of(features[0], "city of paris")
    outputs = plain_outputs(features, [(0, start, end, 8.0)], length=features[0].length + 3)
    outputs["start_logits"][0][-1] = outputs["end_logits"][0][-1] = 50.0  # padding
    outputs["start_logits"][0][1] = 50.0  # the question
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert prediction.best.text == "city of paris"
    assert prediction.null_odds is None
    assert len(prediction.candidates) == 2
    assert sum(candidate.probability for candidate in prediction.candidates) == pytest.approx(1.0)
    assert task.scores(examples, [prediction]) == {"exact": 1.0, "f1": 1.0}


def test_spans_backwards_and_too_long_ones_are_no_answers(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where", ["paris"], False))
    examples = task.examples("dev")
    settings = TaskSettings(max_seq_length=200, max_answer_length=2, n_best_size=20)
    features = make_features(task, examples, tokenizer, settings)
    first, last = place_of(features[0], "river")[0], place_of(features[0], "paris")[1]
    backwards = plain_outputs(features, [(0, last, first, 20.0)], length=features[0].length)
    for prediction in task.predictions(examples, features, backwards, settings):
        for candidate in prediction.candidates:
            assert candidate.start < candidate.end
    too_long = plain_outputs(features, [(0, first, last, 20.0)], length=features[0].length)
    [prediction] = task.predictions(examples, features, too_long, settings)
    assert CONTEXT[prediction.best.start : prediction.best.end] == prediction.best.text
    assert "river was in the city" not in prediction.best.text


def test_no_allowed_span_gives_an_empty_answer(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where", ["paris"], False))
    examples = task.examples("dev")
    settings = TaskSettings(max_seq_length=200, n_best_size=1, max_answer_length=1)
    features = make_features(task, examples, tokenizer, settings)
    first, last = place_of(features[0], "river")[0], place_of(features[0], "paris")[1]
    backwards = plain_outputs(features, [(0, last, first, 9.0)], 200)
    [prediction] = task.predictions(examples, features, backwards, settings)
    assert prediction.best.text == ""
    assert task.scores(examples, [prediction]) == {"exact": 0.0, "f1": 0.0}


def test_starts_count_where_the_window_has_most_context(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where", ["paris"], False))
    examples = task.examples("dev")
    features = make_features(task, examples, tokenizer, SETTINGS)
    numbers = [n for n, feature in enumerate(features) if not feature.label[2]]
    assert len(numbers) > 1
    chosen = [(n, features[n].label[0], features[n].label[1], 9.0) for n in numbers]
    best = [n for n, start, *_ in chosen if features[n].notes[MAX_CONTEXT][start]]
    assert len(best) == 1
    [prediction] = task.predictions(examples, features, plain_outputs(features, chosen), SETTINGS)
    assert prediction.best.text == "paris"
    wrong = [row for row in chosen if row[0] not in best]
    [prediction] = task.predictions(examples, features, plain_outputs(features, wrong), SETTINGS)
    assert prediction.best.text != "paris"


def test_the_null_odds_are_those_of_the_least_doubtful_window(make_squad, tokenizer):
    task = make_squad("squad_v2", ("1", "where", ["paris"], False), beam=False)
    examples = task.examples("dev")
    features = make_features(task, examples, tokenizer, SETTINGS)
    number = next(n for n, f in enumerate(features) if not f.label[2] and f.notes[MAX_CONTEXT][f.label[0]])
    outputs = plain_outputs(features, [(number, *features[number].label[:2], 6.0)])
    for n in range(len(features)):
        outputs["start_logits"][n][0] = 4.0 + n
    [prediction] = task.predictions(examples, features, outputs, SETTINGS)
    assert prediction.best.text == "paris"
    assert prediction.null_odds == pytest.approx(4.0 - 6.0)
    assert [candidate.text for candidate in prediction.candidates[:2]] == ["paris", ""]
    assert len(prediction.candidates) == SETTINGS.n_best_size


def beam_outputs(features, rows):
    """Outputs of the beam head: rows of (start index, end index, log-probability), K = 2, and the answerability."""
    outputs = {name: [] for name in ("start_top_log_probs", "start_top_index", "end_top_log_probs", "end_top_index")}
    for spans in rows:
        outputs["start_top_index"].append(np.array([span[0] for span in spans]))
        outputs["start_top_log_probs"].append(np.array([span[2] for span in spans], np.float32))
        outputs["end_top_index"].append(np.array([[span[1], 0] for span in spans]))
        outputs["end_top_log_probs"].append(np.array([[span[2], -0.5] for span in spans], np.float32))
    outputs["answerability_logits"] = [np.float32(3.0 - number) for number in range(len(features))]
    return outputs


def test_the_beam_heads_spans_are_answers(make_squad, tokenizer):
    task = make_squad("squad_v2", ("1", "where", ["city of paris"], False))
    assert task.head == "span_beam"
    examples = task.examples("dev")
    settings = TaskSettings(max_seq_length=200, max_answer_length=40)
    features = make_features(task, examples, tokenizer, settings)
    good, better = place_of(features[0], "city of paris"), place_of(features[0], "river")
    outputs = beam_outputs(features, [[(*good, -2.0), (*better, -1.0)]])
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert [candidate.text for candidate in prediction.candidates] == ["river", "city of paris"]
    assert prediction.best.score == pytest.approx(-2.0)
    assert prediction.null_odds == pytest.approx(3.0)
    # Spans on [CLS], in the question or on padding are none.
    outputs = beam_outputs(features, [[(0, 0, -0.1), (1, 2, -0.1)]])
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert prediction.best.text == ""
    outputs = beam_outputs(features, [[(features[0].length, features[0].length, -0.1), (*good, -5.0)]])
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert prediction.best.text == "city of paris"


def predictions_of(task, examples, tokenizer, texts, odds):
    """Predictions that say these texts, through outputs of the beam head."""
    settings = TaskSettings(max_seq_length=200, max_answer_length=40)
    features = make_features(task, examples, tokenizer, settings)
    rows = [[(*place_of(feature, text), -1.0), (0, 0, -1.0)] for feature, text in zip(features, texts)]
    outputs = beam_outputs(features, rows) | {"answerability_logits": [np.float32(value) for value in odds]}
    return task.predictions(examples, features, outputs, settings)


QUESTIONS = [
    ("1", "where", ["paris"], False),
    ("2", "who", [], True),
    ("3", "what was good", ["film", "the film"], False),
]


def test_scores_of_v2_have_the_best_threshold(make_squad, tokenizer):
    task = make_squad("squad_v2", *QUESTIONS)
    examples = task.examples("dev")
    predictions = predictions_of(task, examples, tokenizer, ["paris", "river", "the film was good"], [-2.0, 1.0, -1.0])
    scores = task.scores(examples, predictions)
    # "film was good" against "the film": one word of three and of one in common.
    assert scores["f1"] == scores["best_f1"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert scores["best_f1_thresh"] == -1.0
    assert scores["best_exact"] == pytest.approx(2 / 3)
    assert scores["best_exact_thresh"] == -2.0
    assert scores["NoAns_f1"] == 1.0
    assert scores[task.threshold_score] == -1.0
    assert task.with_threshold(-1.0).answers(predictions) == ["paris", "", "the film was good"]
    strict = make_squad("squad_v2", *QUESTIONS, null_score_diff_threshold=-1.5)
    assert strict.threshold_score is None
    assert strict.answers(predictions) == ["paris", "", ""]
    assert strict.scores(examples, predictions)["exact"] == pytest.approx(2 / 3)


def test_predictions_are_written_in_the_official_formats(make_squad, tokenizer, tmp_path):
    task = make_squad("squad_v2", *QUESTIONS)
    examples = task.examples("dev")
    predictions = predictions_of(task, examples, tokenizer, ["paris", "river", "film"], [-2.0, 1.0, -1.0])
    paths = task.write_predictions(str(tmp_path / "out"), "dev", examples, predictions)
    assert [Path(path).name for path in paths] == ["predictions.json", "nbest_predictions.json", "null_odds.json"]
    answers, nbest, odds = (json.loads(Path(path).read_text()) for path in paths)
    assert answers == {"1": "paris", "2": "", "3": "film"}
    assert odds == {"1": -2.0, "2": 1.0, "3": -1.0}
    assert nbest["1"][0] == {"text": "paris", "probability": 1.0, "start_log_prob": -1.0, "end_log_prob": -1.0}
    plain = make_squad("squad_v1", ("1", "where", ["paris"], False))
    names = [Path(path).name for path in plain.write_predictions(str(tmp_path), "test", [], [])]
    assert names == ["test_predictions.json", "test_nbest_predictions.json"]


def test_a_report_counts_the_kinds_of_errors(make_squad, tokenizer):
    task = make_squad("squad_v2", *QUESTIONS, null_score_diff_threshold=0.0)
    examples = task.examples("dev")
    predictions = predictions_of(task, examples, tokenizer, ["city of paris", "river", "film"], [-2.0, -1.0, 1.0])
    report = task.report(examples, predictions)
    counts = {kind: count for kind, count in report.values["counts"].items() if count}
    assert counts == {"partly right": 1, "made up": 1, "missed": 1}
    assert 'partly right: where "city of paris" instead of "paris"' in report.text


def test_a_question_that_was_typed_becomes_an_example(make_squad):
    example = make_squad("squad_v1").make_example({"question": "where?", "context": CONTEXT}, "line 1")
    assert (example.question, example.context, example.is_impossible) == ("where?", CONTEXT, None)
