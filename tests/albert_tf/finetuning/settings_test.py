"""Settings of a fine-tuning: those that are refused, and the steps that epochs become."""

import dataclasses
import json

import pytest
from absl import flags

from albert_tf import run_finetuning, run_squad_v2
from albert_tf.finetuning import finetune, summary
from albert_tf.official.command_line import resolve
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings_flags import values_of
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.strategy import TpuAddress


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"num_seeds": 0}, "--num_seeds must be at least 1"),
        ({"do_train": False, "do_eval": False}, "at least one of --do_train, --do_eval and --do_predict"),
        ({"lora_alpha": 8.0}, "--lora_alpha goes with --lora_rank"),
        ({"early_stopping_patience": 1, "do_eval": False}, "--early_stopping_patience goes by"),
        ({"layerwise_learning_rate_decay": 0.0}, r"must lie in \(0, 1\]"),
        ({"hidden_dropout_prob": 1.0}, "--hidden_dropout_prob must lie in"),
        ({"num_train_steps": 0}, "--num_train_steps must be at least 1"),
        ({"num_train_epochs": 0.0}, "--num_train_epochs must lie in"),
        ({"train_batch_size": 0}, "--train_batch_size must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(finetuning_settings, changes, match):
    with pytest.raises(InputError, match=match):
        dataclasses.replace(finetuning_settings, **changes)


def test_epochs_and_warm_up_become_steps(finetuning_settings):
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=None, num_warmup_steps=None, num_train_epochs=2.5
    )
    assert settings.steps_for(60) == 20
    assert settings.warmup_for(20) == 2
    assert dataclasses.replace(settings, warmup_proportion=0.3).warmup_for(33) == 9
    with pytest.raises(InputError, match="--warmup_proportion must lie in"):
        dataclasses.replace(settings, warmup_proportion=1.0)
    assert finetuning_settings.steps_for(60) == 12


def test_a_checkpoint_comes_each_epoch_unless_epochs_are_long_or_many(finetuning_settings):
    settings = dataclasses.replace(finetuning_settings, num_train_steps=None, save_checkpoints_steps=None)
    assert settings.saving_for(60) == 8
    assert settings.saving_for(100_000) == 1000
    assert dataclasses.replace(settings, num_train_epochs=500).saving_for(60) == 10 * 8
    assert finetuning_settings.saving_for(60) == 4


@pytest.mark.parametrize("changes", [{}, {"learning_rates": "1e-05,0.002", "learning_rate": 5e-5, "num_seeds": 2}])
def test_settings_as_a_flag_file_give_the_same_settings(finetuning_settings, tmp_path, monkeypatch, changes):
    settings = dataclasses.replace(
        finetuning_settings,
        resolved_flags="",
        task_options=TaskOptions(labels=("a,b", "c"), beam=False, null_score_diff_threshold=-1.5),
        cleaning=TextCleaning(do_lower_case=False, normalization="NFKC"),
        tpu=TpuAddress("pod"),
        num_train_epochs=2,
        **changes,
    )
    given = flags.FlagValues()
    run_finetuning.define_flags(given)
    (tmp_path / "some.flags").write_text(settings.to_flags())
    given(["run_finetuning", f"--flagfile={tmp_path / 'some.flags'}"])
    seen = []
    monkeypatch.setattr(run_finetuning.allocator, "set_up_memory", lambda **kwargs: None)
    monkeypatch.setattr(run_finetuning, "import_tensorflow", lambda **kwargs: None)
    monkeypatch.setattr(finetune, "run", lambda settings: seen.append(settings) or {})
    monkeypatch.setattr(summary, "format_results", str)
    run_finetuning.run_with(given)
    assert dataclasses.replace(seen[0], resolved_flags="") == settings
    assert set(seen[0].resolved_flags.splitlines()) == set(settings.to_flags().splitlines())


@pytest.mark.parametrize("given", [(), ("--max_seq_length=512",), ("--max_seq_length=384", "--doc_stride=32")])
def test_lengths_that_are_left_out_are_known_from_those_that_are_given(given):
    values = flags.FlagValues()
    run_finetuning.define_flags(values)
    values(["run_finetuning", *given])
    settings = TaskSettings(**values_of(TaskSettings, values))
    wanted = {"max_seq_length": 96, "doc_stride": 16, "max_query_length": 8}
    wanted |= {name: int(value) for name, value in (word[2:].split("=") for word in given)}
    known = {"max_seq_length": 96, "doc_stride": 16, "max_query_length": 8}
    assert settings.completed_by(known) == TaskSettings(**wanted)
    assert dataclasses.replace(settings, n_best_size=3).completed_by(known) == TaskSettings(**wanted, n_best_size=3)
    assert f"{values['max_seq_length'].default}" == "512"
    assert json.loads(json.dumps(dataclasses.asdict(TaskSettings())))["max_seq_length"] == 512


def test_lengths_of_an_official_command_line_are_the_official_ones():
    values = flags.FlagValues()
    run_squad_v2.define_flags(values)
    values(["run_squad_v2", "--output_dir=out", "--do_predict", "--predict_file=dev.json"])
    ((_, own),) = resolve("run_squad_v2", values, {"run_finetuning": run_finetuning})
    settings = TaskSettings(**values_of(TaskSettings, own))
    known = {"max_seq_length": 96, "doc_stride": 16, "max_query_length": 8}
    assert settings.completed_by(known) == settings
    assert settings.max_seq_length == 384
