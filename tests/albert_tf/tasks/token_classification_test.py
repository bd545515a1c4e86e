"""Tags of words: CoNLL files, pieces and windows by hand, entity scores against the rules of conlleval."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entities import are_entity_tags, entities_of, entity_scores
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.token_classification import WORDS

TRAIN = """-DOCSTART- -X- O O

Paris NNP B-NP B-LOC
was VBD B-VP O
good JJ B-ADJP O

The DT B-NP O
river NN I-NP B-LOC
city NN I-NP I-LOC
"""


@pytest.fixture
def make(write, tmp_path):
    """A function of the training file's contents, and options, that returns the task."""

    def make_own(contents=TRAIN, **options):
        for split in ("train", "dev"):
            write(f"own/{split}.txt", contents)
        return make_task("token_classification", str(tmp_path / "own"), TaskOptions(**options))

    return make_own


def outputs_for(features, tags_of):
    """Logits whose highest is the tag of each word, at its first piece; nonsense elsewhere."""
    rows = []
    for feature in features:
        row = np.random.default_rng(0).normal(size=(len(feature.input_ids) + 4, 3)).astype(np.float32)
        for place, word in enumerate(feature.notes[WORDS]):
            if word:
                row[place] = np.eye(3)[tags_of[feature.example][word - 1]] * 9
        rows.append(row)
    return {"logits": rows}


def all_features(task, examples, tokenizer, settings):
    return [f for index, example in enumerate(examples) for f in task.features(index, example, tokenizer, settings)]


def test_sentences_and_tags_are_read(make):
    task = make()
    first, second = task.examples("train")
    assert task.labels == ("O", "B-LOC", "I-LOC")
    assert (first.words, first.tags) == (("Paris", "was", "good"), (1, 0, 0))
    assert (second.words, second.tags) == (("The", "river", "city"), (0, 1, 2))
    assert (task.head, task.metric) == ("token_classification", "f1")


def test_other_columns_can_hold_the_tags(make):
    task = make(label_column="1")
    assert task.labels == ("DT", "JJ", "NN", "NNP", "VBD")
    assert task.metric == "accuracy"


def test_tabs_comments_line_ends_and_byte_order_marks(make):
    task = make("\ufeff# sent_id = 1\r\nNew York\tB-LOC\r\nis\tO\r\n\r\n#\tO\r\n")
    assert [example.words for example in task.examples("train")] == [("New York", "is"), ("#",)]


def test_a_hash_without_tabs_is_a_word(make):
    assert make("# O\nParis B-LOC\n").examples("train")[0].words == ("#", "Paris")


def test_the_first_piece_carries_the_tag(make, tokenizer):
    task = make()
    [feature] = task.features(4, task.examples("train")[1], tokenizer, TaskSettings())
    pieces = [tokenizer.encode(word) for word in ("The", "river", "city")]
    assert feature.input_ids == [tokenizer.cls_id, *itertools.chain(*pieces), tokenizer.sep_id]
    wanted = [-1]
    for word, tag in zip(pieces, (0, 1, 2)):
        wanted += [tag] + [-1] * (len(word) - 1)
    assert feature.label == [*wanted, -1]
    assert feature.segment_ids == [0] * len(feature.input_ids)


def test_a_word_that_cleaning_removes_is_an_unknown_one(make, tokenizer):
    task = make("\u0301 B-LOC\n\u200b O\na O\n")
    [feature] = task.features(0, task.examples("train")[0], tokenizer, TaskSettings())
    assert [label for label in feature.label if label >= 0] == [1, 0, 0]
    assert tokenizer.unk_id in feature.input_ids


@pytest.mark.parametrize(("max_seq_length", "doc_stride"), [(8, 2), (8, 100), (12, 3), (5, 1), (64, 7)])
def test_every_word_of_a_long_sentence_counts_once(make, tokenizer, max_seq_length, doc_stride):
    words = [f"{word}{'xyz' * (number % 4)}" for number, word in enumerate(["the", "river", "city", "paris"] * 12)]
    tags = [number % 3 for number in range(len(words))]
    names = ("O", "B-LOC", "I-LOC")
    task = make("".join(f"{word} {names[tag]}\n" for word, tag in zip(words, tags)), labels=names)
    examples = task.examples("train")
    settings = TaskSettings(max_seq_length=max_seq_length, doc_stride=doc_stride)
    features = all_features(task, examples, tokenizer, settings)
    assert all(feature.length <= max_seq_length for feature in features)
    counted = [word for feature in features for word in feature.notes[WORDS] if word]
    assert sorted(counted) == list(range(1, len(words) + 1))
    assert [label for feature in features for label in feature.label if label >= 0] == [tags[w - 1] for w in counted]
    assert task.predictions(examples, features, outputs_for(features, [tags]), settings) == [tuple(tags)]


def test_no_room_is_one_line(make, tokenizer):
    task = make()
    with pytest.raises(InputError, match="max_seq_length must be at least 3; received 2"):
        task.features(0, task.examples("train")[0], tokenizer, TaskSettings(max_seq_length=2))


def test_predictions_are_scored_reported_and_written(make, tokenizer, tmp_path):
    task = make()
    examples = task.examples("dev")
    settings = TaskSettings()
    features = all_features(task, examples, tokenizer, settings)
    predictions = task.predictions(examples, features, outputs_for(features, [(1, 0, 0), (0, 1, 0)]), settings)
    scores = task.scores(examples, predictions)
    assert scores == pytest.approx({"accuracy": 5 / 6, "precision": 0.5, "recall": 0.5, "f1": 0.5})
    report = task.report(examples, predictions)
    assert report.values["kinds"][1] == {"kind": "LOC", "precision": 0.5, "recall": 0.5, "f1": 0.5, "entities": 2}
    assert "missed LOC 'river city': The river city" in report.text
    [path] = task.write_predictions(str(tmp_path / "out"), "dev", examples, predictions)
    assert Path(path).read_text() == (
        "Paris B-LOC B-LOC\nwas O O\ngood O O\n\nThe O O\nriver B-LOC B-LOC\ncity I-LOC O\n\n"
    )


def test_a_word_with_a_space_stays_one_column(make, write, tmp_path):
    task = make()
    write("own/dev.txt", "New York\tB-LOC\nwas\tO\n")
    [path] = task.write_predictions(str(tmp_path / "out"), "dev", task.examples("dev"), [(0, 1)])
    assert [len(line.split()) for line in Path(path).read_text().splitlines()] == [3, 3, 0]
    assert Path(path).read_text().startswith("New_York B-LOC ")


def test_a_test_file_needs_no_tags(make, write):
    task = make()
    write("own/test.txt", "Paris\nwas\n\ngood\n")
    examples = task.examples("test")
    assert [(example.words, example.tags) for example in examples] == [(("Paris", "was"), None), (("good",), None)]
    with pytest.raises(InputError, match="have no tags"):
        task.scores(examples, [(0, 0), (0,)])


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "train.txt holds no sentences"),
        ("\n\n", "train.txt holds no sentences"),
        ("Paris\n", "train.txt, line 1: one column; a word and its tag were expected"),
        ("Paris NNP B-LOC\nwas O\n", "train.txt, line 2: 2 columns; the lines before it have 3"),
        ("Paris\tB-LOC\nwas\t\n", "train.txt, line 2: column -1 .from 0. is empty"),
        ("Paris O\n", "at least two tags are needed, each once; received O"),
        (b"Paris O\n\xff\xfe B-LOC\n", "train.txt, line 2: not UTF-8"),
    ],
)
def test_a_bad_file_is_one_line_with_file_and_line(make, contents, message):
    with pytest.raises(InputError, match=message):
        make(contents)


def test_a_tag_that_training_did_not_have_is_named(make, write):
    task = make()
    write("own/dev.txt", "Paris O\nwas B-PER\n")
    with pytest.raises(InputError, match="dev.txt, line 2: unknown tag 'B-PER'; the tags are O, B-LOC, I-LOC"):
        task.examples("dev")


def test_columns_of_conll_files_are_numbers(make):
    with pytest.raises(InputError, match="--label_column: the columns of CoNLL files have numbers"):
        make(label_column="tag")
    for columns in ({"text_column": "-1"}, {"label_column": "0"}, {"text_column": "1", "label_column": "-3"}):
        with pytest.raises(InputError, match="line [13]: --text_column=.* are the same of its 4 columns$"):
            make(**columns)
    with pytest.raises(InputError, match="line 3: there is no column 7 .from 0.; the line has 4"):
        make(label_column="7")


def test_a_text_that_was_typed_becomes_words(make):
    task = make()
    assert task.make_example({"text": "Paris  was\tgood"}, "line 1").words == ("Paris", "was", "good")
    assert task.make_example({"words": ["New York"]}, "line 1").words == ("New York",)
    for fields in ({}, {"text": "a", "words": ["a"]}, {"sentence": "a"}, {"words": [1]}):
        with pytest.raises(InputError, match="line 1: "):
            task.make_example(fields, "line 1")


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("B-PER I-PER O B-LOC", {("PER", 0, 1), ("LOC", 3, 3)}),
        # Next to each other: B starts a new one.
        ("B-PER B-PER I-PER", {("PER", 0, 0), ("PER", 1, 2)}),
        # I after O, or after another kind, starts one too.
        ("I-PER I-LOC O I-LOC", {("PER", 0, 0), ("LOC", 1, 1), ("LOC", 3, 3)}),
        ("B-PER I-LOC", {("PER", 0, 0), ("LOC", 1, 1)}),
        ("S-PER E-LOC B-ORG E-ORG I-ORG", {("PER", 0, 0), ("LOC", 1, 1), ("ORG", 2, 3), ("ORG", 4, 4)}),
        ("O O", set()),
        ("", set()),
        ("B-a-b I-a-b", {("a-b", 0, 1)}),
    ],
)
def test_entities_by_hand(tags, found):
    assert entities_of(tags.split()) == found


def test_entity_scores_by_hand():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC"]]
    predicted = [["B-PER", "O", "O", "B-LOC"], ["O"]]
    # Said: PER (0, 0), LOC; true: PER (0, 1), LOC, LOC.
    assert entity_scores(gold, predicted) == pytest.approx({"precision": 0.5, "recall": 1 / 3, "f1": 0.4})
    assert entity_scores([["O"]], [["O"]]) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_which_tags_are_those_of_entities():
    assert are_entity_tags(["O", "B-PER", "I-PER"])
    assert not are_entity_tags(["O", "NN"])
    assert not are_entity_tags(["O"])
    assert not are_entity_tags(["O", "B-"])
