"""Digests of all that features depend on: of a run's data, and of the split that its checkpoints are compared by."""

import dataclasses

import pytest

from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.split_features import feature_key
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer

ROWS = "text\tother\tlabel\tsecond\n" + "ba\tbi\t0\t1\nbe\tbo\t1\t0\nbi\tba\t0\t0\n"


@pytest.fixture
def make(finetuning_settings, tmp_path):
    """A function of the files' text, options and settings to the data of a run on it."""

    def data_of(text=ROWS, options=TaskOptions(text_column="text", label_column="label"), **changes) -> FinetuningData:
        for split in ("train", "dev"):
            (tmp_path / f"{split}.tsv").write_text(text)
        settings = dataclasses.replace(finetuning_settings, data_dir=str(tmp_path), task_options=options, **changes)
        task = make_task("classification", settings.data_dir, options)
        return FinetuningData(settings, task, AlbertTokenizer(settings.spm_model_file))

    return data_of


def _digests(data):
    return data.digest, data.dev_digest


def test_the_same_files_and_options_are_the_same_data(make):
    assert _digests(make()) == _digests(make())


@pytest.mark.parametrize(
    "changes",
    [
        {"text": ROWS.replace("ba\tbi\t0", "ba\tbi\t1")},
        {"options": TaskOptions(text_column="text", label_column="second")},
        {"options": TaskOptions(text_column="other", label_column="label")},
        {"options": TaskOptions(text_column="text", text_pair_column="other", label_column="label")},
        {"task_settings": TaskSettings(max_seq_length=7)},
    ],
    ids=["label", "label_column", "text_column", "text_pair_column", "max_seq_length"],
)
def test_whatever_makes_other_features_is_other_data(make, changes):
    usual = _digests(make())
    assert all(one != other for one, other in zip(usual, _digests(make(**changes)), strict=True))


def test_splits_that_are_not_asked_for_do_not_count(make, tmp_path):
    data = make(do_train=True, do_eval=False)
    before = data.digest
    (tmp_path / "dev.tsv").write_text(ROWS.replace("bo", "ba"))
    again = FinetuningData(data.settings, data.task, data.tokenizer)
    assert again.digest == before
    (tmp_path / "train.tsv").write_text(ROWS.replace("bo", "ba"))
    assert FinetuningData(data.settings, data.task, data.tokenizer).digest != before


def test_a_key_names_task_split_vocabulary_and_files(make):
    data = make()
    key = feature_key(data.task, "dev", data.tokenizer, data.settings.task_settings)
    assert key["task"]["split"] == "dev" and key["task"]["label"] == "label"
    assert key["vocabulary"]["vocabulary"] == data.tokenizer.sha256
    assert key["data"]["files"] == 1
