"""Spans that may be answers, at their borders: the longest allowed one, the last piece, the window that counts."""

import numpy as np
import pytest

from albert_tf.finetuning.split_features import make_features
from albert_tf.tasks.squad_windows import MAX_CONTEXT, TEXT_ENDS, TEXT_STARTS, cut_windows, max_context
from albert_tf.tasks.task import TaskSettings

CONTEXT = "The river was in the city of paris and the film was good."


def _question(make_squad, tokenizer, beam, **settings):
    """(task, its examples, their features, settings) of one question."""
    task = make_squad("squad_v2", ("1", "where", ["paris"], False), beam=beam)
    settings = TaskSettings(max_seq_length=200, **settings)
    examples = task.examples("dev")
    return task, examples, make_features(task, examples, tokenizer, settings), settings


def _answer(case, spans):
    """The best answer where only these spans, (start, end, score), score at all."""
    task, examples, features, settings = case
    length = features[0].length
    if task.head == "span_beam":
        starts, ends, scores = (np.array(values) for values in zip(*spans))
        outputs = {
            "start_top_index": [starts],
            "start_top_log_probs": [scores / 2],
            "end_top_index": [ends[:, None]],
            "end_top_log_probs": [scores[:, None] / 2],
            "answerability_logits": [np.float32(0.0)],
        }
    else:
        outputs = {name: [np.full(length, -50.0)] for name in ("start_logits", "end_logits")}
        for start, end, score in spans:
            outputs["start_logits"][0][start] = outputs["end_logits"][0][end] = score / 2
    [prediction] = task.predictions(examples, features, outputs, settings)
    return prediction.best


@pytest.mark.parametrize("beam", [False, True])
@pytest.mark.parametrize("pieces", [2, 3, 5])
def test_an_answer_has_max_answer_length_pieces_at_most(make_squad, tokenizer, beam, pieces):
    for allowed, is_found in ((pieces - 1, False), (pieces, True), (pieces + 1, True)):
        case = _question(make_squad, tokenizer, beam, max_answer_length=allowed, n_best_size=1)
        feature = case[2][0]
        start = int(np.flatnonzero(np.asarray(feature.p_mask[1:]) == 0)[0]) + 1
        best = _answer(case, [(start, start + pieces - 1, 9.0)])
        assert (best.score == pytest.approx(9.0)) == is_found, (allowed, best)


@pytest.mark.parametrize("beam", [False, True])
def test_the_first_and_the_last_piece_of_the_paragraph_can_be_answers_and_none_beside_them(make_squad, tokenizer, beam):
    case = _question(make_squad, tokenizer, beam, n_best_size=1)
    feature = case[2][0]
    places = np.flatnonzero(np.asarray(feature.p_mask[1:]) == 0) + 1
    first, last = int(places[0]), int(places[-1])
    assert (first, last) == (list(feature.input_ids).index(tokenizer.sep_id) + 1, feature.length - 2)
    assert _answer(case, [(first, first, 9.0)]).start == 0
    assert _answer(case, [(last, last, 9.0)]).end == len(CONTEXT)
    for place in (0, first - 1, last + 1):
        assert _answer(case, [(place, place, 9.0)]).score < 0


@pytest.mark.parametrize("beam", [False, True])
def test_the_score_of_an_answer_is_the_sum_of_start_and_end(make_squad, tokenizer, beam):
    task, examples, features, settings = _question(make_squad, tokenizer, beam)
    start, length = list(features[0].input_ids).index(tokenizer.sep_id) + 1, features[0].length
    # Two spans of one piece: the sums decide, neither the starts nor the ends alone.
    if beam:
        outputs = {
            "start_top_index": [np.array([start, start + 1])],
            "start_top_log_probs": [np.array([-1.0, -2.0])],
            "end_top_index": [np.array([[start], [start + 1]])],
            "end_top_log_probs": [np.array([[-4.0], [-2.0]])],
            "answerability_logits": [np.float32(0.0)],
        }
    else:
        outputs = {name: [np.full(length, -50.0)] for name in ("start_logits", "end_logits")}
        outputs["start_logits"][0][[start, start + 1]] = -1.0, -2.0
        outputs["end_logits"][0][[start, start + 1]] = -4.0, -2.0
        outputs["start_logits"][0][start] = -3.0
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert (prediction.best.start_score, prediction.best.end_score) == (-2.0, -2.0)
    assert prediction.best.score == -4.0


def test_of_windows_with_as_much_context_the_longer_one_counts():
    # Piece 3 has one piece beside it in both: 1 + 0.01 * 5 in the first, 1 + 0.01 * 7 in the second.
    first, second = max_context([(0, 5), (2, 7)], 9)
    assert first.tolist() == [True, True, True, False, False]
    assert second.tolist() == [False, *[True] * 6]
    # And of equally long ones the first.
    first, second = max_context([(0, 5), (2, 5)], 7)
    assert first.tolist() == [True, True, True, True, False]
    assert second.tolist() == [False, False, True, True, True]


def test_the_length_of_a_window_weighs_less_than_one_piece_of_context():
    # Piece 4: two pieces beside it in the short window, one in the long one.
    short, long = max_context([(2, 5), (3, 60)], 63)
    assert short[4 - 2]
    assert not long[4 - 3]


def test_windows_follow_at_the_stride_and_end_with_the_text():
    assert cut_windows(10, 6, 4) == [(0, 6), (4, 6)]
    assert cut_windows(11, 6, 4) == [(0, 6), (4, 6), (8, 3)]
    assert cut_windows(6, 6, 4) == [(0, 6)]
    assert cut_windows(0, 6, 4) == [(0, 0)]
    # A stride beyond the window would leave pieces out.
    assert cut_windows(12, 6, 9) == [(0, 6), (6, 6)]


@pytest.mark.parametrize("beam", [False, True])
def test_an_answer_starts_where_its_window_has_the_most_context(make_squad, tokenizer, beam):
    task = make_squad("squad_v2", ("1", "where", ["paris"], False), beam=beam)
    settings = TaskSettings(max_seq_length=40, doc_stride=8, max_answer_length=12)
    examples = task.examples("dev")
    features = make_features(task, examples, tokenizer, settings)
    # Windows that hold the answer, and the piece it starts with.
    places = [(number, features[number].label) for number in range(len(features)) if not features[number].label[2]]
    assert len(places) > 1
    counted = [number for number, (start, *_) in places if features[number].notes[MAX_CONTEXT][start]]
    assert len(counted) == 1
    for number, (start, end, _) in places:
        if beam:
            nothing = np.zeros((1, 1), int)
            ends = [nothing + (end if other == number else 0) for other in range(len(features))]
            outputs = {
                "start_top_index": [np.array([start if other == number else 0]) for other in range(len(features))],
                "start_top_log_probs": [np.array([-0.5])] * len(features),
                "end_top_index": ends,
                "end_top_log_probs": [np.array([[-0.5]])] * len(features),
                "answerability_logits": [np.float32(0.0)] * len(features),
            }
        else:
            names = ("start_logits", "end_logits")
            outputs = {name: [np.full(feature.length, -50.0) for feature in features] for name in names}
            outputs["start_logits"][number][start] = outputs["end_logits"][number][end] = 5.0
        [prediction] = task.predictions(examples, features, outputs, settings)
        assert (prediction.best.text == "paris") == (number in counted)


@pytest.mark.parametrize("beam", [False, True])
def test_one_text_is_one_candidate_at_its_best_place(make_squad, tokenizer, beam):
    case = _question(make_squad, tokenizer, beam, max_answer_length=5)
    task, examples, features, settings = case
    starts, ends = (np.asarray(features[0].notes[name]) for name in (TEXT_STARTS, TEXT_ENDS))
    places = []
    for begin in (CONTEXT.index("the city"), CONTEXT.index("the film")):
        start = int(np.flatnonzero(starts == begin)[-1])
        places.append((start, int(np.flatnonzero(ends == begin + 3)[-1])))
    assert len(set(places)) == 2
    spans = [(*places[0], 4.0), (*places[1], 6.0)]
    assert _answer(case, spans).start == CONTEXT.index("the film")
    outputs = {"answerability_logits": [np.float32(0.0)]}
    if beam:
        outputs |= {
            "start_top_index": [np.array([start for start, _ in places])],
            "start_top_log_probs": [np.array([2.0, 3.0])],
            "end_top_index": [np.array([[end] for _, end in places])],
            "end_top_log_probs": [np.array([[2.0], [3.0]])],
        }
    else:
        for name, side in (("start_logits", 0), ("end_logits", 1)):
            outputs[name] = [np.full(features[0].length, -50.0)]
            for place, score in zip(places, (2.0, 3.0)):
                outputs[name][0][place[side]] = score
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert [candidate.text for candidate in prediction.candidates].count("the") == 1


def test_the_odds_of_no_answer_are_of_start_and_end_at_cls(make_squad, tokenizer):
    task, examples, features, settings = _question(make_squad, tokenizer, beam=False)
    outputs = {name: [np.full(features[0].length, -50.0)] for name in ("start_logits", "end_logits")}
    outputs["start_logits"][0][0], outputs["end_logits"][0][0] = 3.0, -1.0
    place = list(features[0].input_ids).index(tokenizer.sep_id) + 1
    outputs["start_logits"][0][place] = outputs["end_logits"][0][place] = 0.5
    [prediction] = task.predictions(examples, features, outputs, settings)
    assert prediction.null_odds == pytest.approx((3.0 - 1.0) - (0.5 + 0.5))


@pytest.mark.parametrize("answer", ["The", "river", "good."])
def test_an_answer_at_either_end_of_the_paragraph_is_labelled(make_squad, tokenizer, answer):
    task = make_squad("squad_v1", ("1", "where", [answer], False))
    [feature] = make_features(task, task.examples("train"), tokenizer, TaskSettings(max_seq_length=200))
    start, end, impossible = feature.label
    assert not impossible
    texts = feature.notes[TEXT_STARTS][start], feature.notes[TEXT_ENDS][end]
    assert CONTEXT[texts[0] : texts[1]] == answer
