"""Shared by the tests of fine-tuning: the data of a run, before its first step."""

import dataclasses

import pytest

from albert_tf.finetuning.data import FinetuningData
from albert_tf.tasks.registry import make_task
from albert_tf.tokenization.tokenizer import AlbertTokenizer


@pytest.fixture
def make_data(finetuning_settings):
    """A function of changes to `finetuning_settings`, to the data of such a run."""

    def make(**changes) -> FinetuningData:
        settings = dataclasses.replace(finetuning_settings, **changes)
        tokenizer = AlbertTokenizer(settings.spm_model_file)
        return FinetuningData(settings, make_task(settings.task_name, settings.data_dir), tokenizer)

    return make
