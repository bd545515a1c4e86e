"""SQuAD: reading, windows, labels, answers from outputs made by hand, files; and every question of the real shares."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from albert_tf.errors import InputError
from albert_tf.tasks.feature_sets import make_features
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import SquadTask
from albert_tf.tasks.squad_windows import MAX_CONTEXT, TEXT_ENDS, TEXT_STARTS, cut_windows, max_context
from albert_tf.tasks.task import TaskSettings

CONTEXT = "The river was in the city of paris and the film was good."
SETTINGS = TaskSettings(max_seq_length=40, doc_stride=8, n_best_size=3, max_answer_length=12)
NAMES = ("{split}-v*.json",)


def squad(*questions, context=CONTEXT):
    """A file of one paragraph; questions are (id, question, answers, impossible), None answers: no labels."""
    qas = []
    for qas_id, question, answers, impossible in questions:
        qa = {"id": qas_id, "question": question}
        if answers is not None:
            qa |= {"answers": [{"text": text, "answer_start": context.find(text)} for text in answers]}
            qa |= {"is_impossible": True} if impossible else {}
        qas.append(qa)
    return {"version": "v", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}


@pytest.fixture
def make(write, tmp_path):
    """A function of (task name, questions ...) that writes train, dev and test files and returns the task."""

    def make_task(name, *questions, **options):
        contents = json.dumps(squad(*questions))
        for split in ("train", "dev", "test"):
            write(f"squad/{split}-v1.1.json", contents)
        return SquadTask(name, SplitFiles(str(tmp_path / "squad"), NAMES), **options)

    return make_task


def test_questions_are_read(make):
    task = make("squad_v2", ("1", "where?", ["paris", "city of paris"], False), ("2", "who?", [], True))
    first, second = task.examples("train")
    assert (first.qas_id, first.question, first.context, first.is_impossible) == ("1", "where?", CONTEXT, False)
    assert [(answer.text, answer.start) for answer in first.answers] == [("paris", 29), ("city of paris", 21)]
    assert (second.answers, second.is_impossible) == ((), True)
    assert task.splits() == ("train", "dev", "test")


def test_a_test_file_needs_no_answers(make):
    task = make("squad_v1", ("1", "where?", None, False))
    [example] = task.examples("test")
    assert example.is_impossible is None
    with pytest.raises(InputError, match=r"dev-v1.1.json, data\[0\].paragraphs\[0\].qas\[0\]: no answers; training"):
        task.examples("dev")
    with pytest.raises(InputError, match="have no answers, so there is nothing to score"):
        task.scores([example], [])


def test_a_test_file_with_some_answers_counts_as_one_without(make, caplog):
    task = make("squad_v1", ("1", "where?", None, False), ("2", "where?", ["paris"], False))
    assert [(example.is_impossible, example.answers) for example in task.examples("test")] == [(None, ())] * 2
    assert "1 of 2 examples have no label" in caplog.text


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("squad_v1", lambda s: s["qas"][0].pop("id"), r"qas\[0\]: id must be text; received None"),
        ("squad_v1", lambda s: s["qas"][0].update(question=5), r"qas\[0\]: question must be text; received 5"),
        ("squad_v1", lambda s: s.pop("context"), r"paragraphs\[0\]: context must be text"),
        ("squad_v1", lambda s: s.update(qas={}), r"paragraphs\[0\]: qas must be a list"),
        ("squad_v1", lambda s: s["qas"].append("x"), r"qas\[1\]: id must be text; received a value that is no object"),
        ("squad_v1", lambda s: s["qas"][0].update(answers=[]), r"qas\[0\]: the list of answers is empty; SQuAD v1.1"),
        ("squad_v1", lambda s: s["qas"][0].update(is_impossible=True), r"use --task_name=squad_v2"),
        ("squad_v2", lambda s: s["qas"][0].update(is_impossible=1), r"is_impossible must be true or false"),
        (
            "squad_v1",
            lambda s: s["qas"][0]["answers"][0].update(text="rome"),
            r'answers\[0\]: the answer "rome" is not',
        ),
        ("squad_v1", lambda s: s["qas"][0]["answers"][0].update(text=" "), r"answers\[0\]: the answer is empty"),
        (
            "squad_v1",
            lambda s: s["qas"][0]["answers"][0].update(answer_start="3"),
            "answer_start must be a whole number",
        ),
        ("squad_v1", lambda s: s["qas"].append(s["qas"][0]), r"qas\[1\]: the id '1' is also that of data\[0\].par"),
        ("squad_v1", lambda s: s["qas"].clear(), "train-v1.1.json holds no questions"),
    ],
)
def test_a_bad_file_is_one_line_with_its_place(write, tmp_path, name, change, message):
    contents = squad(("1", "where?", ["paris"], False))
    change(contents["data"][0]["paragraphs"][0])
    write("train-v1.1.json", json.dumps(contents))
    with pytest.raises(InputError, match=message) as caught:
        SquadTask(name, SplitFiles(str(tmp_path), NAMES)).examples("train")
    assert "train-v1.1.json" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "not JSON"),
        ('{"data": [}', r"not JSON: .*line 1 column 11"),
        ("[]", "a JSON object was expected; this is a list"),
        ("{}", "data must be a list; received None"),
    ],
)
def test_a_file_that_is_no_squad_is_named(write, tmp_path, contents, message):
    write("train-v1.1.json", contents)
    with pytest.raises(InputError, match=f"train-v1.1.json: .*{message}|train-v1.1.json: {message}"):
        SquadTask("squad_v1", SplitFiles(str(tmp_path), NAMES)).examples("train")


def test_an_answer_beside_its_place_is_found_where_it_stands(write, tmp_path, caplog):
    contents = squad(("1", "what?", ["the"], False))
    contents["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 20
    write("train-v1.1.json", json.dumps(contents))
    [example] = SquadTask("squad_v1", SplitFiles(str(tmp_path), NAMES)).examples("train")
    assert example.answers[0].start == 17
    assert "1 answers do not stand where answer_start says" in caplog.text


def test_files_are_named_or_found(tmp_path, write):
    files = SplitFiles(str(tmp_path), NAMES)
    with pytest.raises(InputError, match="has no dev file .dev-v..json.; give it as --dev_file"):
        files.find("dev")
    write("dev-v1.1.json", "")
    write("dev-v2.0.json", "")
    with pytest.raises(InputError, match=r"several dev files \(dev-v1.1.json, dev-v2.0.json\); give one as --dev_file"):
        files.find("dev")
    named = write("else/where.json", "")
    assert SplitFiles(str(tmp_path), NAMES, dev_file=named).find("dev") == named
    assert SplitFiles(None, NAMES, dev_file=named).splits() == ("dev",)
    with pytest.raises(InputError, match="--train_file or --data_dir must say where"):
        SplitFiles(None, NAMES).find("train")
    with pytest.raises(InputError, match="--data_dir=none does not exist"):
        SplitFiles("none", NAMES).find("train")
    with pytest.raises(InputError, match="--train_file=none does not exist"):
        SplitFiles("none", NAMES, train_file="none").find("train")


def test_windows_overlap_and_reach_the_end():
    assert cut_windows(10, 20, 5) == [(0, 10)]
    assert cut_windows(20, 10, 5) == [(0, 10), (5, 10), (10, 10)]
    assert cut_windows(21, 10, 5) == [(0, 10), (5, 10), (10, 10), (15, 6)]
    assert cut_windows(25, 10, 20) == [(0, 10), (10, 10), (20, 5)]
    assert cut_windows(0, 10, 5) == [(0, 0)]


def test_every_piece_has_most_context_in_one_window():
    windows = cut_windows(21, 10, 5)
    best = max_context(windows, 21)
    owners = np.zeros(21, int)
    for (start, length), is_best in zip(windows, best):
        owners[start : start + length] += is_best
    assert (owners == 1).all()
    # Piece 7: 2 to the right of it in the first window, 2 to the left in the second: a tie, the first one counts.
    assert best[0].tolist() == [True] * 8 + [False] * 2
    assert best[1].tolist() == [False] * 3 + [True] * 5 + [False] * 2


def test_a_feature_by_hand(make, tokenizer):
    task = make("squad_v1", ("1", "where was the film", ["city of paris"], False))
    [feature] = task.features(0, task.examples("train")[0], tokenizer, TaskSettings(max_seq_length=200))
    question, context = tokenizer.encode("where was the film"), tokenizer.encode(CONTEXT)
    assert feature.input_ids == [tokenizer.cls_id, *question, tokenizer.sep_id, *context, tokenizer.sep_id]
    before = len(question) + 2
    assert feature.segment_ids == [0] * before + [1] * (len(context) + 1)
    assert feature.p_mask == [0] + [1] * (before - 1) + [0] * len(context) + [1]
    start, end, impossible = feature.label
    assert impossible == 0
    assert CONTEXT[feature.notes[TEXT_STARTS][start] : feature.notes[TEXT_ENDS][end]] == "city of paris"
    assert feature.notes[MAX_CONTEXT].tolist() == [0] * before + [1] * len(context) + [0]


def test_a_long_question_is_cut_and_a_long_paragraph_gives_windows(make, tokenizer):
    task = make("squad_v1", ("1", "where " * 50, ["paris"], False))
    settings = TaskSettings(max_seq_length=20, max_query_length=5, doc_stride=4)
    features = task.features(3, task.examples("train")[0], tokenizer, settings)
    assert len(features) > 1
    assert all(len(feature.input_ids) <= 20 for feature in features)
    assert all(feature.input_ids[6] == tokenizer.sep_id for feature in features)
    assert {feature.example for feature in features} == {3}
    labels = [feature.label for feature in features]
    assert (0, 0, 1) in labels
    for feature in features:
        start, end, impossible = feature.label
        if not impossible:
            assert CONTEXT[feature.notes[TEXT_STARTS][start] : feature.notes[TEXT_ENDS][end]] == "paris"
    assert any(not impossible for *_, impossible in labels)


def test_no_room_for_the_paragraph_is_one_line(make, tokenizer):
    task = make("squad_v1", ("1", "where was the film", ["paris"], False))
    with pytest.raises(InputError, match="max_seq_length=6 leaves .* pieces for the paragraph"):
        task.features(0, task.examples("train")[0], tokenizer, TaskSettings(max_seq_length=6))


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


def test_the_best_span_is_the_answer(make, tokenizer):
    task = make("squad_v1", ("1", "where", ["city of paris"], False))
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


def test_spans_backwards_and_too_long_ones_are_no_answers(make, tokenizer):
    task = make("squad_v1", ("1", "where", ["paris"], False))
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


def test_no_allowed_span_gives_an_empty_answer(make, tokenizer):
    task = make("squad_v1", ("1", "where", ["paris"], False))
    examples = task.examples("dev")
    settings = TaskSettings(max_seq_length=200, max_answer_length=0)
    features = make_features(task, examples, tokenizer, settings)
    [prediction] = task.predictions(examples, features, plain_outputs(features, [], 200), settings)
    assert prediction.best.text == ""
    assert task.scores(examples, [prediction]) == {"exact": 0.0, "f1": 0.0}


def test_starts_count_where_the_window_has_most_context(make, tokenizer):
    task = make("squad_v1", ("1", "where", ["paris"], False))
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


def test_the_null_odds_are_those_of_the_least_doubtful_window(make, tokenizer):
    task = make("squad_v2", ("1", "where", ["paris"], False), beam=False)
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
    """What the beam head gives: rows of (start index, end index, log-probability), K = 2, and the answerability."""
    outputs = {name: [] for name in ("start_top_log_probs", "start_top_index", "end_top_log_probs", "end_top_index")}
    for spans in rows:
        outputs["start_top_index"].append(np.array([span[0] for span in spans]))
        outputs["start_top_log_probs"].append(np.array([span[2] for span in spans], np.float32))
        outputs["end_top_index"].append(np.array([[span[1], 0] for span in spans]))
        outputs["end_top_log_probs"].append(np.array([[span[2], -0.5] for span in spans], np.float32))
    outputs["answerability_logits"] = [np.float32(3.0 - number) for number in range(len(features))]
    return outputs


def test_the_beam_heads_spans_are_answers(make, tokenizer):
    task = make("squad_v2", ("1", "where", ["city of paris"], False))
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


def test_scores_of_v2_have_the_best_threshold(make, tokenizer):
    task = make("squad_v2", *QUESTIONS)
    examples = task.examples("dev")
    predictions = predictions_of(task, examples, tokenizer, ["paris", "river", "the film was good"], [-2.0, 1.0, -1.0])
    scores = task.scores(examples, predictions)
    # "film was good" against "the film": one word of three and of one in common.
    assert scores["f1"] == scores["best_f1"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert scores["best_f1_thresh"] == -1.0
    assert scores["best_exact"] == pytest.approx(2 / 3)
    assert scores["best_exact_thresh"] == -2.0
    assert scores["NoAns_f1"] == 1.0
    assert task.answers(examples, predictions) == ["paris", "", "the film was good"]
    strict = make("squad_v2", *QUESTIONS, null_score_diff_threshold=-1.5)
    assert strict.answers(examples, predictions) == ["paris", "", ""]
    assert strict.scores(examples, predictions)["exact"] == pytest.approx(2 / 3)


def test_predictions_are_written_in_the_official_formats(make, tokenizer, tmp_path):
    task = make("squad_v2", *QUESTIONS)
    examples = task.examples("dev")
    predictions = predictions_of(task, examples, tokenizer, ["paris", "river", "film"], [-2.0, 1.0, -1.0])
    paths = task.write_predictions(str(tmp_path / "out"), "dev", examples, predictions)
    assert [Path(path).name for path in paths] == ["predictions.json", "nbest_predictions.json", "null_odds.json"]
    answers, nbest, odds = (json.loads(Path(path).read_text()) for path in paths)
    assert answers == {"1": "paris", "2": "", "3": "film"}
    assert odds == {"1": -2.0, "2": 1.0, "3": -1.0}
    assert nbest["1"][0] == {"text": "paris", "probability": 1.0, "start_log_prob": -1.0, "end_log_prob": -1.0}
    plain = make("squad_v1", ("1", "where", ["paris"], False))
    names = [Path(path).name for path in plain.write_predictions(str(tmp_path), "test", [], [])]
    assert names == ["test_predictions.json", "test_nbest_predictions.json"]


def test_a_report_counts_the_kinds_of_errors(make, tokenizer):
    task = make("squad_v2", *QUESTIONS, null_score_diff_threshold=0.0)
    examples = task.examples("dev")
    predictions = predictions_of(task, examples, tokenizer, ["city of paris", "river", "film"], [-2.0, -1.0, 1.0])
    report = task.report(examples, predictions)
    counts = {kind: count for kind, count in report.values["counts"].items() if count}
    assert counts == {"partly right": 1, "made up": 1, "missed": 1}
    assert 'partly right: where "city of paris" instead of "paris"' in report.text


def test_a_question_that_was_typed_becomes_an_example(make):
    example = make("squad_v1").make_example({"question": "where?", "context": CONTEXT}, "line 1")
    assert (example.question, example.context, example.is_impossible) == ("where?", CONTEXT, None)


def share(shared, name, folder):
    """A file of the share, unpacked."""
    path = folder / name.removesuffix(".xz")
    path.write_bytes(lzma.decompress((shared / "data" / "squad" / name).read_bytes()))
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file", "questions", "in_windows", "exact", "exact_normalized"),
    [
        ("squad_v1", "train-v1.1-first.json.xz", 4370, 4408, 4352, 4381),
        ("squad_v1", "dev-v1.1-share.json.xz", 2975, 3032, 3027, 3030),
        ("squad_v2", "cs224n-dev-v2.0.json.xz", 6078, 2958, 2953, 2956),
    ],
)
def test_no_question_is_lost_and_answers_are_recovered(
    shared, official_tokenizer, tmp_path, name, file, questions, in_windows, exact, exact_normalized
):
    """Where an answer is not recovered to the character, it starts or ends within a piece, and the pieces hold it."""
    from albert_tf.tasks.squad_scores import exact_match
    from albert_tf.tokenization.alignment import align

    task = SquadTask(name, SplitFiles(None, NAMES, train_file=share(shared, file, tmp_path)))
    examples = task.examples("train")
    features = make_features(task, examples, official_tokenizer, TaskSettings(max_seq_length=384))
    assert len(examples) == questions
    assert {feature.example for feature in features} == set(range(questions))
    found = characters = normalized = 0
    labelled = set()
    for feature in features:
        example, (start, end, impossible) = examples[feature.example], feature.label
        if impossible:
            continue
        labelled.add(feature.example)
        answer, first, last = example.answers[0], feature.notes[TEXT_STARTS][start], feature.notes[TEXT_ENDS][end]
        found += 1
        characters += example.context[first:last] == answer.text
        normalized += exact_match(example.context[first:last], answer.text)
        assert first <= answer.start
        assert answer.start + len(answer.text) <= last
        if example.context[first:last] != answer.text:
            aligned = align(official_tokenizer, example.context)
            assert answer.start not in aligned.starts or answer.start + len(answer.text) not in aligned.ends
    assert labelled == {number for number, example in enumerate(examples) if example.answers}
    assert (found, characters, normalized) == (in_windows, exact, exact_normalized)


@pytest.mark.slow
def test_every_one_of_several_gold_answers_has_pieces(shared, official_tokenizer, tmp_path):
    from albert_tf.tokenization.alignment import align

    path = share(shared, "dev-v1.1-share.json.xz", tmp_path)
    aligned, answers, whole = {}, 0, 0
    for example in SquadTask("squad_v1", SplitFiles(None, NAMES, dev_file=path)).examples("dev"):
        if example.context not in aligned:
            aligned[example.context] = align(official_tokenizer, example.context)
        for answer in example.answers:
            pieces = aligned[example.context].pieces_of(answer.start, answer.start + len(answer.text))
            assert pieces is not None
            text = aligned[example.context].text_of(*pieces)
            assert answer.text.strip() in text
            answers += 1
            whole += text == answer.text
    assert (answers, whole) == (10270, 10247)
