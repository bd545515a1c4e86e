"""The handles of fine-tuning: each reaches what it is there for."""

import dataclasses
from pathlib import Path

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.finetuning.finetune import run
from albert_tf.finetuning.model_source import model_and_vocabulary
from albert_tf.finetuning.run import FinetuningRun
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.cluster import Cluster
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.strategy import make_strategy


@pytest.fixture
def make_run(make_data):
    """A function of changes to the settings, to a run that has taken no step."""

    def make(**changes) -> FinetuningRun:
        data = make_data(**changes)
        config, *_ = model_and_vocabulary(data.settings)
        return FinetuningRun(data.settings, config, data, make_strategy("one_device"), Cluster(), StopSignals())

    return make


def test_optimizer_clip_and_schedule_have_the_official_values_or_those_that_are_given(make_run):
    run = make_run()
    names = ("beta_2", "epsilon", "weight_decay_rate")
    assert [getattr(run.optimizer, name) for name in names] == [0.999, 1e-6, 0.01]
    assert run.steps.max_gradient_norm == 1.0
    assert [float(run.schedule(step)) for step in (0, 6, 11)] == pytest.approx([0.0, 0.0015, 0.00025])
    own = {"beta_2": 0.98, "adam_epsilon": 1e-8, "weight_decay_rate": 0.1, "max_gradient_norm": 0.5}
    run = make_run(**own, learning_rate_schedule="stable_decay", decay_proportion=0.25)
    assert [getattr(run.optimizer, name) for name in names] == [0.98, 1e-8, 0.1]
    assert run.steps.max_gradient_norm == 0.5
    assert [float(run.schedule(step)) for step in (0, 1, 9, 10)] == pytest.approx([0.0, 0.003, 0.003, 0.002])


def test_without_training_no_schedule_has_to_fit(make_run):
    changes = {"do_train": False, "learning_rate_schedule": "stable_decay", "num_warmup_steps": 200}
    assert make_run(**changes).schedule is not None


def test_a_schedule_that_does_not_fit_into_the_run_is_refused(finetuning_settings):
    settings = dataclasses.replace(finetuning_settings, learning_rate_schedule="stable_decay", decay_proportion=1.0)
    with pytest.raises(InputError, match="are longer than the run of 12"):
        settings.check_schedule(12, 1)


@pytest.mark.slow
def test_texts_are_cleaned_as_in_the_training_by_a_later_command_that_says_nothing(finetuning_settings):
    path = Path(finetuning_settings.data_dir, "test.tsv")
    path.write_text("index\tsentence\n0\tBada KAMA lana\n1\tRasu\n")
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=2, cleaning=TextCleaning(do_lower_case=False), do_predict=True
    )
    run(settings)
    written = Path(settings.output_dir, "test_predictions.jsonl")
    before, _ = written.read_text(), written.unlink()
    changes = {"do_train": False, "do_eval": False, "cleaning": TextCleaning(), "spm_model_file": None}
    later = dataclasses.replace(settings, **changes)
    run(later)
    assert written.read_text() == before
    assert model_and_vocabulary(later)[2] == settings.cleaning
    assert run(dataclasses.replace(later, do_train=True, do_eval=True, num_train_steps=3))["scores"]
    assert model_and_vocabulary(later)[2] == settings.cleaning
    assert model_and_vocabulary(dataclasses.replace(later, cleaning=TextCleaning(keep_accents=True)))[2].keep_accents


@pytest.mark.slow
def test_texts_are_cut_as_in_the_training_by_a_later_command_that_says_nothing(finetuning_settings):
    config = AlbertConfig.from_json_file(finetuning_settings.albert_config_file)
    dataclasses.replace(config, max_position_embeddings=512).to_json_file(finetuning_settings.albert_config_file)
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=2, task_settings=TaskSettings(max_seq_length=5), do_predict=True
    )
    first, written = run(settings), Path(settings.output_dir, "test_predictions.jsonl")
    before, _ = written.read_text(), written.unlink()
    later = dataclasses.replace(settings, do_train=False, task_settings=TaskSettings())
    assert run(later)["scores"] == first["scores"]
    assert written.read_text() == before
    other = dataclasses.replace(later, output_dir=f"{settings.output_dir}-later", init_checkpoint=settings.output_dir)
    assert run(other)["scores"] == first["scores"]
    # The usual length, given, is not one that was left out.
    run(dataclasses.replace(later, task_settings=TaskSettings(max_seq_length=512)))
    assert written.read_text() != before
