"""Splits of a fine-tuning: one that is missing, one without labels, texts that are cut."""

import collections
import dataclasses
import json
import logging
import os
from pathlib import Path

import pytest

from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.folds import FoldData
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.superglue import MultiRcTask
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer


@pytest.mark.parametrize(
    "split, flag, reason",
    [
        ("train", "do_train", "has neither train.tsv nor SST-2/train.tsv"),
        ("dev", "do_eval", "has neither dev.tsv nor SST-2/dev.tsv"),
        ("test", "do_predict", "has neither test.tsv nor SST-2/test.tsv"),
    ],
)
def test_a_missing_split_is_noticed_before_the_first_step(finetuning_settings, split, flag, reason):
    Path(finetuning_settings.data_dir, f"{split}.tsv").unlink()
    settings = dataclasses.replace(finetuning_settings, do_predict=True, pad_to_max_length=True)
    with pytest.raises(InputError, match=rf"has no {split} split; leave --{flag} out \(.*{reason}"):
        run(settings)
    assert not os.path.exists(os.path.join(settings.output_dir, "train_log.jsonl"))


def test_a_dev_split_without_labels_is_noticed_before_the_first_step(finetuning_settings, tmp_path):
    for split in ("train", "dev"):
        for level in ("middle", "high"):
            (tmp_path / "race" / split / level).mkdir(parents=True)
            article = {"article": "ba", "questions": ["ba"], "options": [["ba", "be", "bi", "bo"]], "answers": ["A"]}
            article["answers"] = [None] if split == "dev" else ["A"]
            (tmp_path / "race" / split / level / "1.txt").write_text(json.dumps(article))
    settings = dataclasses.replace(finetuning_settings, task_name="race", data_dir=str(tmp_path / "race"))
    with pytest.raises(InputError, match="the examples have no labels; the dev split needs them"):
        run(settings)


def test_texts_that_are_cut_are_counted(finetuning_settings, caplog):
    caplog.set_level(logging.INFO, logger="absl")
    settings = dataclasses.replace(finetuning_settings, task_settings=TaskSettings(max_seq_length=8))
    tokenizer = AlbertTokenizer(settings.spm_model_file)
    data = FinetuningData(settings, make_task(settings.task_name, settings.data_dir), tokenizer)
    data.read()
    told = [record.getMessage() for record in caplog.records if "longer than --max_seq_length=8" in record.getMessage()]
    assert [line.split(":")[0] for line in told] == ["train", "dev"]
    texts = [line.split("\t")[0] for line in Path(settings.data_dir, "train.tsv").read_text().splitlines()[1:]]
    lengths = [len(tokenizer.encode(text)) + 2 for text in texts]
    cut = sum(length > 8 for length in lengths)
    left_out = sum(max(0, length - 8) for length in lengths) / sum(lengths)
    assert 0 < cut < 60
    assert f"train: {cut} of 60 examples ({cut / 60:.1%}) are longer" in told[0]
    assert f"; {left_out:.1%} of all pieces are left out" in told[0]


def _questions(numbers, answers):
    """A file of MultiRC, a row for each answer, those of a question one after the other."""
    rows = [
        {"paragraph": "ba", "question": "be", "answer": "bi", "label": (number + answer) % 2}
        | {"idx": {"paragraph": number // 4, "question": number, "answer": answer}}
        for number in numbers
        for answer in range(answers(number))
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def make_multirc(finetuning_settings, tmp_path):
    """A function of changes to the settings, to data of 30 questions with 2 to 6 answers each, dev as train."""
    text = _questions(range(30), lambda number: 2 + number % 5)
    for name in ("train.jsonl", "val.jsonl"):
        (tmp_path / name).write_text(text)

    def make(**changes) -> FinetuningData:
        changes = {"task_name": "multirc", "data_dir": str(tmp_path)} | changes
        settings = dataclasses.replace(finetuning_settings, **changes)
        task = make_task(settings.task_name, settings.data_dir)
        return FinetuningData(settings, task, AlbertTokenizer(settings.spm_model_file))

    return make


@pytest.mark.parametrize("split", ["train", "dev"])
def test_a_cap_leaves_whole_questions(make_multirc, split):
    whole = make_multirc().split(split).examples
    seen = []
    for most in (6, 20, 50, 119):
        data = make_multirc(max_train_examples=most, max_eval_examples=most)
        found = data.split(split)
        groups = {example.group for example in found.examples}
        assert found.examples == [example for example in whole if example.group in groups]
        assert most - 6 < len(found.examples) == len(found.features) <= most
        seen.append(groups)
    assert seen[0] < seen[1] < seen[2] < seen[3]
    assert len(make_multirc(max_train_examples=120).split("train").examples) == 120
    flag = "max_train_examples" if split == "train" else "max_eval_examples"
    with pytest.raises(InputError, match=f"--{flag}=1 of --task_name=multirc: the group that is drawn first has . exa"):
        make_multirc(max_train_examples=1, max_eval_examples=1).split(split)


def test_a_cap_on_questions_has_features_and_scores_of_its_own(make_multirc, monkeypatch):
    capped = {"max_eval_examples": 20}
    now, digest = make_multirc(**capped).split("dev").examples, make_multirc(**capped).dev_digest
    whole = make_multirc().dev_digest
    # As an earlier version had it, in the same folder.
    monkeypatch.setattr(MultiRcTask, "unit", "")
    before = make_multirc(**capped)
    assert len(before.split("dev").features) == 20
    assert (before.split("dev").examples != now, before.dev_digest != digest) == (True, True)
    assert make_multirc().dev_digest == whole
    monkeypatch.undo()
    again = make_multirc(**capped).split("dev")
    assert len(again.features) == len(again.examples) == len(now)


def test_folds_have_whole_questions(make_multirc, tmp_path):
    (tmp_path / "val.jsonl").unlink()
    data, seen = make_multirc(num_folds=3, max_eval_examples=30), []
    for number in range(3):
        fold = FoldData(data, number)
        train, dev = (
            {example.group for example in split.examples} for split in (fold.split("train"), fold.split("dev"))
        )
        assert not train & dev
        of_dev = [example for example in data.split("train").examples if example.group in dev]
        assert fold.split("dev").examples == of_dev
        assert len(of_dev) <= 30
        seen.append(len(train))
    assert seen == [20, 20, 20]


def test_caps_and_folds_keep_the_rows_of_a_ranked_group_together(finetuning_settings, tmp_path):
    rows = [f"b{'aeiou'[number % 5]}\tbi\t{number % 2}\tq{number % 12}" for number in range(60)]
    (tmp_path / "train.tsv").write_text("\n".join(["text\tother\tlabel\tquery", *rows]) + "\n")
    options = TaskOptions(text_pair_column="other", group_column="query")

    def make(**changes) -> FinetuningData:
        settings = dataclasses.replace(finetuning_settings, data_dir=str(tmp_path), num_folds=3, **changes)
        task = make_task("classification", settings.data_dir, options)
        return FinetuningData(settings, task, AlbertTokenizer(settings.spm_model_file))

    capped = make(max_train_examples=17).split("train").examples
    assert list(collections.Counter(one.group for one in capped).values()) == [5, 5, 5]
    held_out = [{one.group for one in FoldData(make(), number).dev_splits()[0].examples} for number in range(3)]
    assert [len(groups) for groups in held_out] == [4, 4, 4]
    assert len(set.union(*held_out)) == 12
