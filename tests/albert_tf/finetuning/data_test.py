"""Splits of a fine-tuning: one that is missing, one without labels, texts that are cut."""

import dataclasses
import json
import logging
import os
from pathlib import Path

import pytest

from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.finetune import run
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import make_task
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
