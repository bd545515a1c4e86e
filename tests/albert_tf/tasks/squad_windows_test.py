"""Questions and windows by hand; every question and answer of the real shares, counted."""

import lzma

import numpy as np
import pytest

from albert_tf.finetuning.split_features import make_features
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import SquadTask
from albert_tf.tasks.squad_windows import MAX_CONTEXT, TEXT_ENDS, TEXT_STARTS, cut_windows, max_context
from albert_tf.tasks.task import TaskSettings

CONTEXT = "The river was in the city of paris and the film was good."
NAMES = ("{split}-v*.json",)


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


def test_a_feature_by_hand(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where was the film", ["city of paris"], False))
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


def test_a_long_question_is_cut_and_a_long_paragraph_gives_windows(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where " * 50, ["paris"], False))
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


def test_no_room_for_the_paragraph_is_one_line(make_squad, tokenizer):
    task = make_squad("squad_v1", ("1", "where was the film", ["paris"], False))
    with pytest.raises(InputError, match="max_seq_length=6 leaves .* pieces for the paragraph"):
        task.features(0, task.examples("train")[0], tokenizer, TaskSettings(max_seq_length=6))


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
    """An answer that is not recovered to the character starts or ends within a piece, and the pieces hold it."""
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
