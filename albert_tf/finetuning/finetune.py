"""Fine-tuning from its settings to its results: one run, or several."""

import dataclasses
from typing import Any

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import stored_tasks
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.diagnosis import check_restarts
from albert_tf.finetuning.distillation import ask_teacher, check_teacher
from albert_tf.finetuning.ensemble import check_ensemble
from albert_tf.finetuning.model_source import check_sizes, folder_with_checkpoints, model_and_vocabulary
from albert_tf.finetuning.objectives import check_objective
from albert_tf.finetuning.run import FinetuningRun
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.several_runs import check_output_dir, run_members
from albert_tf.runtime.errors import FlagError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.scores import check_packages
from albert_tf.tasks.task import Task
from albert_tf.tasks.text_windows import CUT
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.training.machine import choose_precision
from albert_tf.training.session import open_session
from albert_tf.training.stop_signals import StopSignals


def run(settings: FinetuningSettings, task: Task | None = None) -> dict[str, Any]:
    """Trains, evaluates, predicts, as the settings say; goes on where it was cut off.

    Args:
        settings: the flags.
        task: what to do in place of the task that the settings name: one of your own.

    Returns:
        what RESULTS_NAME in output_dir holds; of several runs what summary.summarise returns.

    Raises:
        InputError: whatever is wrong with the settings, the data or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    settings = _with_lengths_of_checkpoint(settings)
    task = task or _named_task(settings)
    if settings.best_metric is not None:
        task = _with_metric(task, settings.best_metric)
    check_objective(settings, task)
    check_ensemble(settings, task)
    check_teacher(settings, task)
    check_restarts(settings, task)
    check_output_dir(settings)
    if settings.do_eval:
        check_packages()
    config, data = open_data(settings, task)
    with open_session(settings, [settings.train_batch_size]) as session, StopSignals() as signals:

        def run_one(settings: FinetuningSettings, data: FinetuningData) -> dict[str, Any]:
            settings = choose_precision(settings, session.strategy, session.agreement)
            return FinetuningRun(settings, config, data, session.strategy, session.cluster, signals).run()

        if settings.teacher is not None:
            ask_teacher(data, session.strategy, session.cluster.is_chief)
        if settings.num_runs == 1 and not settings.restart_failed_seeds:
            return run_one(dataclasses.replace(settings.with_flags(), learning_rate=settings.rates[0]), data)
        return run_members(settings, data, session, run_one)


def open_data(settings: FinetuningSettings, task: Task | None = None) -> tuple[AlbertConfig, FinetuningData]:
    """The model's config and the data of a run, whose splits are read when they are asked for.

    Args:
        settings: the flags.
        task: what to do; None: the task that the settings name.

    Raises:
        InputError: config or vocabulary are nowhere, or do not fit each other or the lengths.
    """
    task = task or _named_task(settings)
    config, vocabulary_file, cleaning = model_and_vocabulary(settings)
    tokenizer = make_tokenizer(vocabulary_file, cleaning)
    check_sizes(settings, settings.max_seq_length, config, tokenizer)
    return config, FinetuningData(settings, task, tokenizer)


def _named_task(settings: FinetuningSettings) -> Task:
    return make_task(settings.task_name, settings.data_dir, _options_of_checkpoint(settings))


def _with_lengths_of_checkpoint(settings: FinetuningSettings) -> FinetuningSettings:
    """The settings; without training, with the lengths that the model was trained with, where none are given."""
    if settings.do_train:
        return settings
    stored = next(stored_tasks(folder_with_checkpoints(settings), settings.init_checkpoint), None)
    given = settings.task_settings
    kept = given if stored is None else given.completed_by(stored.settings)
    if kept == given:
        return settings
    for name, value in dataclasses.asdict(kept).items():
        if value != getattr(given, name):
            logging.info("--%s=%d, as the checkpoint was trained", name, value)
    return dataclasses.replace(settings, task_settings=kept)


def _with_metric(task: Task, metric: str) -> Task:
    if metric not in task.metrics:
        raise FlagError(f"--best_metric of {task.name} must be one of {', '.join(task.metrics)}. Received {metric!r}.")
    return task.with_metric(metric)


# Tasks whose classes are the user's.
_WITH_OWN_LABELS = ("classification", "token_classification", "entities", "span_categories")
# Options of a task, as they are where nothing is said, that a model keeps which is not trained any more.
_KEPT: dict[str, Any] = {"long_texts": CUT} | dict.fromkeys(
    ("label_threshold", "text_column", "text_pair_column", "label_column", "group_column")
)


def _options_of_checkpoint(settings: FinetuningSettings) -> TaskOptions:
    """The task's options; without training, those of the checkpoint that decide what its answers are."""
    options, folder = settings.task_options, folder_with_checkpoints(settings)
    if not settings.do_train:
        stored = next(stored_tasks(folder, settings.init_checkpoint), None)
        known = {} if stored is None or stored.name != settings.task_name else stored.options
        for name, usual in _KEPT.items():
            kept = known.get(name, usual)
            # Of a model of several labels, asked without --multi_label, an error says that the tasks differ.
            of_head = name != "label_threshold" or options.multi_label
            if of_head and kept != usual and getattr(options, name) == usual:
                logging.info("--%s=%s, as the checkpoint was trained", name, kept)
                options = dataclasses.replace(options, **{name: kept})
        if stored is not None and options.label_threshold not in (None, known.get("label_threshold")):
            logging.warning(
                "--label_threshold=%s is of these scores and predictions alone: predict, exports and serve go by "
                "that of the training, %s",
                *(options.label_threshold, known.get("label_threshold") or "probability 0.5"),
            )
    if settings.do_train or options.labels or options.regression or settings.task_name not in _WITH_OWN_LABELS:
        return options
    named = next((task for task in stored_tasks(folder, settings.init_checkpoint) if task.labels), None)
    return options if named is None else dataclasses.replace(options, labels=named.labels)
