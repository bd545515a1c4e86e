"""RACE on a fixture in the published format: files, features by hand, scores by level, bad articles."""

import json
from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.race import RaceTask
from albert_tf.tasks.task import TaskSettings

ARTICLE = {
    "article": "The river was in the city. The film was good.",
    "questions": ["Where was the river?", "The film was _ ."],
    "options": [["in the city", "in paris", "to the river", "and bad"], ["bad", "good", "of paris", "in the city"]],
    "answers": ["A", "B"],
    "id": "high10.txt",
}


@pytest.fixture
def race(write, tmp_path) -> RaceTask:
    """Two articles of each level in every split; the test split without answers."""
    for split in ("train", "dev", "test"):
        for level in ("middle", "high"):
            for number in (9, 10):
                article = ARTICLE | {"id": f"{level}{number}.txt"}
                if split == "test":
                    article = {name: value for name, value in article.items() if name != "answers"}
                write(f"race/{split}/{level}/{number}.txt", json.dumps(article))
    return RaceTask(str(tmp_path / "race"))


def predicted(task, examples, options):
    logits = [np.where(np.arange(4) == option, 2.0, 0.0) for option in options]
    return task.predictions(examples, [], {"logits": logits}, TaskSettings())


def test_every_article_is_read_in_order(race):
    examples = race.examples("train")
    assert [example.guid for example in examples] == [
        f"{level}{number}.txt-{question}" for level in ("middle", "high") for number in (9, 10) for question in (0, 1)
    ]
    assert [example.label for example in examples[:2]] == [0, 1]
    assert examples[0].options == tuple(ARTICLE["options"][0])
    assert race.splits() == ("train", "dev", "test")
    assert len(race.input_files("train")) == 4


def test_articles_without_an_id_have_one_of_level_and_file_and_no_id_comes_twice(race, write):
    for level in ("middle", "high"):
        write(f"race/dev/{level}/9.txt", json.dumps({name: value for name, value in ARTICLE.items() if name != "id"}))
    guids = [example.guid for example in race.examples("dev")]
    assert guids[:2] == ["middle9.txt-0", "middle9.txt-1"]
    assert len(set(guids)) == 8
    write("race/dev/high/9.txt", json.dumps(ARTICLE | {"id": "middle9.txt"}))
    with pytest.raises(InputError, match="high/9.txt: the question 'middle9.txt-0' is also in .*middle/9.txt"):
        race.examples("dev")


def test_one_level_can_be_taken(race):
    only = RaceTask(race.data_dir, ["high"])
    assert {example.level for example in only.examples("dev")} == {"high"}


def test_the_folder_above_will_do(race, tmp_path):
    (tmp_path / "above").mkdir()
    (tmp_path / "race").rename(tmp_path / "above" / "RACE")
    assert len(RaceTask(str(tmp_path / "above")).examples("dev")) == 8


def test_an_official_list_of_all_articles_is_left_alone(race, write):
    write("race/train/high/all.txt", "not JSON")
    assert len(race.examples("train")) == 8


def test_an_official_list_of_all_articles_will_do_alone(race, write):
    before = race.examples("train")
    for level in ("middle", "high"):
        folder = Path(race.data_dir, "train", level)
        articles = [json.loads((folder / f"{number}.txt").read_text()) for number in (9, 10)]
        for number in (9, 10):
            (folder / f"{number}.txt").unlink()
        write(f"race/train/{level}/all.txt", "".join(f"{json.dumps(article)}\n\n" for article in articles))
    assert race.examples("train") == before
    write("race/train/high/all.txt", f"{json.dumps(ARTICLE)}\n{{}}\n")
    with pytest.raises(InputError, match=r"all\.txt, line 2: article must be text"):
        race.examples("train")


def test_a_test_split_is_scored_only_with_its_answers(race):
    assert race.scores_test(race.examples("dev"))
    assert not race.scores_test(race.examples("test"))


def test_a_test_split_needs_no_answers(race):
    examples = race.examples("test")
    assert {example.label for example in examples} == {None}
    with pytest.raises(InputError, match="have no answers"):
        race.scores(examples, predicted(race, examples, [0] * 8))


def test_a_feature_has_every_option(race, tokenizer):
    example = race.examples("dev")[1]
    [feature] = race.features(5, example, tokenizer, TaskSettings())
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    article = tokenizer.encode(ARTICLE["article"])
    for ids, segments, option in zip(feature.input_ids, feature.segment_ids, example.options):
        asked = tokenizer.encode(f"The film was {option} .")
        assert ids == [cls, *article, sep, *asked, sep]
        assert segments == [0] * (len(article) + 2) + [1] * (len(asked) + 1)
    assert (feature.example, feature.label) == (5, 1)


def test_the_end_of_the_question_and_the_start_of_the_article_are_kept(race, tokenizer):
    example = race.examples("dev")[0]
    [feature] = race.features(0, example, tokenizer, TaskSettings(max_seq_length=16, max_qa_length=5))
    article, asked = tokenizer.encode(ARTICLE["article"]), tokenizer.encode("Where was the river? in the city")
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    assert feature.input_ids[0] == [cls, *article[:8], sep, *asked[-5:], sep]
    assert feature.length == 16
    with pytest.raises(InputError, match="must be at least max_qa_length"):
        race.features(0, example, tokenizer, TaskSettings(max_seq_length=7, max_qa_length=5))


def test_accuracy_is_also_given_by_level(race):
    examples = race.examples("dev")
    found = predicted(race, examples, [0, 1, 0, 1, 0, 1, 3, 3])
    assert race.scores(examples, found) == {"accuracy": 0.75, "accuracy_middle": 1.0, "accuracy_high": 0.5}
    report = race.report(examples, found)
    assert report.values["confusion_matrix"][0] == [3, 0, 0, 1]
    assert "The film was good ." in report.text


def test_predictions_are_letters(race, tmp_path):
    examples = race.examples("test")
    [path] = race.write_predictions(str(tmp_path / "out"), "test", examples, predicted(race, examples, [2] * 8))
    values = json.loads(Path(path).read_text())
    assert values["high9.txt-1"]["answer"] == "C"
    assert sum(values["high9.txt-1"]["probabilities"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": ["A"]}, "2 questions, 2 options, 1 answers"),
        ({"answers": ["A", "E"]}, "question 2: the answer must be one of A, B, C, D; received 'E'"),
        ({"answers": ["A", 1]}, "question 2: the answer must be one of"),
        ({"answers": ["A", "AB"]}, "question 2: the answer must be one of"),
        ({"options": [["a", "b", "c", "d"], ["a", "b"]]}, "question 2: 2 options; RACE has 4"),
        ({"options": [["a", "b", "c", "d"], "abcd"]}, "question 2: a question must be text, and its options a list"),
        ({"questions": ["a", None]}, "question 2: a question must be text"),
        ({"article": None}, "article must be text; received None"),
        ({"questions": "why"}, "questions must be a list; received 'why'"),
    ],
)
def test_a_bad_article_is_one_line_with_its_file(race, write, change, message):
    write("race/train/high/11.txt", json.dumps(ARTICLE | change))
    with pytest.raises(InputError, match=message) as caught:
        race.examples("train")
    assert "11.txt" in str(caught.value)


@pytest.mark.parametrize("contents", ["", "{", "[]"])
def test_an_article_that_is_no_json_object_is_named(race, write, contents):
    write("race/train/high/11.txt", contents)
    with pytest.raises(InputError, match="11.txt: (not JSON|a JSON object)"):
        race.examples("train")


def test_answers_must_be_there_but_in_a_test_split(race, write):
    article = {name: value for name, value in ARTICLE.items() if name != "answers"}
    write("race/dev/high/11.txt", json.dumps(article))
    with pytest.raises(InputError, match="answers must be a list; received None"):
        race.examples("dev")


def test_no_articles_and_no_folder_are_named(tmp_path):
    with pytest.raises(InputError, match="no RACE articles there"):
        RaceTask(str(tmp_path)).examples("train")
    with pytest.raises(InputError, match="--data_dir=none does not exist"):
        RaceTask("none").examples("train")


def test_a_question_that_was_typed_becomes_an_example(race):
    fields = {"article": "a", "question": "b", "options": ["1", "2", "3", "4"]}
    assert race.make_example(fields, "line 1").options == ("1", "2", "3", "4")
    with pytest.raises(InputError, match="line 1: 2 options"):
        race.make_example(fields | {"options": ["1", "2"]}, "line 1")
    with pytest.raises(InputError, match="'options' must be a list of texts"):
        race.make_example(fields | {"options": "1234"}, "line 1")
