"""Heads of earlier checkpoints: taken over by a run of the same task or by a flag, else started afresh or refused."""

import dataclasses
import logging
from pathlib import Path

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.pretrained import initialise_finetuning, load_pretrained
from albert_tf.finetuning.earlier_runs import exit_pooling, head_dropout
from albert_tf.finetuning.finetune import run
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError


@pytest.mark.slow
def test_a_head_is_only_taken_from_a_checkpoint_of_the_same_task(
    finetuning_settings, small_config, tmp_path, caplog, read_weights
):
    pretrained = AlbertForPretraining(dataclasses.replace(small_config, vocab_size=60, max_position_embeddings=48))
    folder = tmp_path / "pretrained"
    folder.mkdir()
    weights = {name: variable.numpy() for name, variable in named_weights(pretrained).items()}
    run_checkpoints.write_weights(str(folder), pretrained.config, weights, None)
    caplog.set_level(logging.INFO, logger="absl")
    untrained = dataclasses.replace(finetuning_settings, do_train=False, init_checkpoint=str(folder))
    with pytest.raises(InputError, match="was only pre-trained; give --do_train"):
        run(untrained)
    settings = dataclasses.replace(
        finetuning_settings, num_train_steps=1, num_warmup_steps=0, learning_rate=1e-12, init_checkpoint=str(folder)
    )
    run(settings)
    told = [record.getMessage() for record in caplog.records if record.getMessage().endswith(": a pre-training head")]
    assert "left out, " in told[-1] and "masked_lm/" in told[-1]
    tuned = read_weights(settings.output_dir, 1)
    for name in ("albert/pooler/kernel", "albert/embeddings/word_embeddings"):
        np.testing.assert_allclose(tuned[name], weights[name], atol=1e-6)
    # The same task keeps the head; a different seed does not matter then.
    more = dataclasses.replace(
        settings, init_checkpoint=settings.output_dir, output_dir=settings.output_dir + "2", random_seed=5
    )
    run(more)
    np.testing.assert_allclose(
        read_weights(more.output_dir, 1)["classifier/kernel"], tuned["classifier/kernel"], atol=1e-6
    )


def test_a_head_is_shared_by_checkpoints_of_one_task_alone():
    cola = FinetunedTask("classification", 2, ("0", "1"), "cola")
    assert cola.shares_head_with(dataclasses.replace(cola, input_fields=("text",)))
    assert not cola.shares_head_with(dataclasses.replace(cola, name="sst-2"))
    assert not cola.shares_head_with(dataclasses.replace(cola, labels=("no", "yes")))
    assert not cola.shares_head_with(dataclasses.replace(cola, head="multi_label"))
    # Checkpoints of other code know no name, and perhaps no classes.
    assert cola.shares_head_with(FinetunedTask("classification", 2))
    mnli = FinetunedTask("classification", 3, ("a", "b", "c"), "mnli")
    assert mnli.shares_head_with(dataclasses.replace(mnli, name="ax"))
    assert not mnli.shares_head_with(FinetunedTask("classification", 2))


@pytest.fixture
def head_of_another_task(finetuning_settings):
    """Settings of wnli, which start from a run of sst-2; both call their classes 0 and 1."""
    one_step = {"num_train_steps": 1, "num_warmup_steps": 0, "do_eval": False}
    run(dataclasses.replace(finetuning_settings, classifier_dropout_prob=0.3, **one_step))
    folder = Path(finetuning_settings.data_dir).parent / "wnli"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text("index\tsentence1\tsentence2\tlabel\n0\tba\tbe\t0\n1\tki\tko\t1\n")
    return dataclasses.replace(
        finetuning_settings,
        task_name="wnli",
        data_dir=str(folder),
        init_checkpoint=finetuning_settings.output_dir,
        output_dir=str(folder / "run"),
        learning_rate=1e-12,
        random_seed=7,
        **one_step,
    )


@pytest.mark.slow
def test_the_head_of_another_task_starts_afresh_though_its_classes_have_the_same_names(
    head_of_another_task, finetuning_settings, read_weights, caplog
):
    caplog.set_level(logging.INFO, logger="absl")
    theirs = read_weights(finetuning_settings.output_dir, 1)
    run(head_of_another_task)
    ours = read_weights(head_of_another_task.output_dir, 1)
    assert np.abs(ours["classifier/kernel"] - theirs["classifier/kernel"]).max() > 1e-2
    np.testing.assert_allclose(ours["albert/pooler/kernel"], theirs["albert/pooler/kernel"], atol=1e-6)
    told = [record.getMessage() for record in caplog.records if "head starts afresh" in record.getMessage()]
    assert len(told) == 1
    assert "was fine-tuned for sst-2 (classification: 0, 1), this run is for wnli (classification: 0, 1)" in told[0]
    # Two examples in batches of eight: one step is one epoch.
    assert "1 steps of up to 8 examples: 2 examples, 1.00 epochs of the 2 in 1 file(s)" in caplog.text
    assert "is scored once" not in caplog.text
    # Nor is its dropout that of the other task's head.
    assert load_pretrained(head_of_another_task.output_dir).task.classifier_dropout_prob == 0.1
    untrained = dataclasses.replace(
        head_of_another_task, do_train=False, do_eval=True, output_dir=head_of_another_task.output_dir + "2"
    )
    with pytest.raises(InputError, match=r"for sst-2 .*, not for wnli .*; give --do_train, .* or --keep_head"):
        run(untrained)
    in_its_folder = dataclasses.replace(head_of_another_task, output_dir=finetuning_settings.output_dir)
    cached = _times_of_files(finetuning_settings.output_dir)
    for do_train in (True, False):
        with pytest.raises(InputError, match="holds a run of sst-2 .*, not of wnli"):
            run(dataclasses.replace(in_its_folder, do_train=do_train, do_eval=True))
    assert _times_of_files(finetuning_settings.output_dir) == cached


def _times_of_files(folder):
    return {path: path.stat().st_mtime_ns for path in Path(folder).glob("features/**/*")}


@pytest.mark.slow
def test_a_flag_keeps_the_head_of_another_task(head_of_another_task, finetuning_settings, read_weights, caplog):
    theirs = read_weights(finetuning_settings.output_dir, 1)
    kept = dataclasses.replace(head_of_another_task, keep_head=True)
    untrained = dataclasses.replace(kept, do_train=False, do_eval=True)
    assert "accuracy" in run(untrained)["scores"]["dev"]
    run(dataclasses.replace(kept, do_eval=True))
    told = "the run of 1 steps is scored once, at its end: --save_checkpoints_steps=4; an epoch is 1 steps"
    assert told in caplog.messages
    np.testing.assert_allclose(
        read_weights(kept.output_dir, 1)["classifier/kernel"], theirs["classifier/kernel"], atol=1e-6
    )


def test_a_head_that_does_not_fit_cannot_be_kept(small_config, tmp_path):
    model = AlbertForSequenceClassification(small_config, num_labels=2)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    two = FinetunedTask("classification", 2, ("0", "1"), "rte", classifier_dropout_prob=0.3)
    run_checkpoints.write_weights(str(tmp_path), small_config, weights, None, two)
    three = FinetunedTask("classification", 3, ("a", "b", "c"), "mnli")
    of_three = AlbertForSequenceClassification(small_config, num_labels=3)
    with pytest.raises(InputError, match="--keep_head: .* has a head of rte .*, 2 outputs, which does not fit mnli"):
        initialise_finetuning(of_three, three, str(tmp_path), keep_head=True)
    with pytest.raises(InputError, match=r"was fine-tuned for rte .*, not for mnli .*; give --do_train.* of mnli$"):
        initialise_finetuning(of_three, three, str(tmp_path), need_head=True)
    initialise_finetuning(of_three, three, str(tmp_path))


def test_the_dropout_of_the_head_is_that_of_the_checkpoint_unless_a_flag_says_otherwise(
    finetuning_settings, small_config, tmp_path
):
    model = AlbertForSequenceClassification(small_config, num_labels=2)
    weights = {name: variable.numpy() for name, variable in named_weights(model).items()}
    task = FinetunedTask("classification", 2, ("0", "1"), "sst-2", classifier_dropout_prob=0.3)
    folder = tmp_path / "tuned"
    folder.mkdir()
    run_checkpoints.write_weights(str(folder), small_config, weights, None, task)
    settings = dataclasses.replace(finetuning_settings, init_checkpoint=str(folder))
    assert head_dropout(settings, task) == 0.3
    assert head_dropout(dataclasses.replace(settings, classifier_dropout_prob=0.2), task) == 0.2
    assert head_dropout(settings, dataclasses.replace(task, name="cola")) == 0.1
    assert head_dropout(dataclasses.replace(settings, init_checkpoint=None), task) == 0.1
    # A run that goes on has it from its own checkpoint.
    going_on = dataclasses.replace(settings, init_checkpoint=None, output_dir=str(folder))
    assert head_dropout(going_on, task) == 0.3


def test_exits_read_what_those_of_the_checkpoint_do_unless_a_flag_says_otherwise(
    finetuning_settings, small_config, tmp_path
):
    def model_with_exits(pooling):
        return AlbertForSequenceClassification(small_config, num_labels=2, early_exit=True, exit_pooling=pooling)

    task = FinetunedTask("classification", 2, ("0", "1"), "sst-2", early_exit=True)
    assert "exit_pooling" not in task.to_dict()
    folder = tmp_path / "tuned"
    folder.mkdir()
    weights = {name: variable.numpy() for name, variable in named_weights(model_with_exits("pooled")).items()}
    run_checkpoints.write_weights(str(folder), small_config, weights, None, task)
    settings = dataclasses.replace(
        finetuning_settings, early_exit=True, exit_training="fitted", init_checkpoint=str(folder)
    )
    assert exit_pooling(settings, task) == "pooled"
    assert exit_pooling(dataclasses.replace(settings, exit_pooling="mean"), task) == "mean"
    other = dataclasses.replace(task, name="cola")
    assert exit_pooling(settings, other) == "mean"
    assert exit_pooling(dataclasses.replace(settings, keep_head=True), other) == "pooled"
    assert exit_pooling(dataclasses.replace(settings, init_checkpoint=None), task) == "mean"
    assert exit_pooling(dataclasses.replace(settings, exit_training="joint"), other) == "pooled"

    of_mean, mean_task = model_with_exits("mean"), dataclasses.replace(task, exit_pooling="mean")
    fresh = {name: variable.numpy() for name, variable in named_weights(of_mean).items()}
    initialise_finetuning(of_mean, mean_task, str(folder))
    for name, variable in named_weights(of_mean).items():
        expected = fresh if name.startswith("exits/") else weights
        np.testing.assert_array_equal(variable, expected[name])
    with pytest.raises(InputError, match="has exits of --exit_pooling=pooled; leave it out"):
        initialise_finetuning(of_mean, mean_task, str(folder), need_head=True)
    with pytest.raises(InputError, match="a task without exits has none that read the mean"):
        dataclasses.replace(mean_task, early_exit=False)
    with pytest.raises(InputError, match="the exit_pooling of a task cannot be 'cls'"):
        dataclasses.replace(task, exit_pooling="cls")
