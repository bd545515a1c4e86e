"""Fine-tuning from its settings to its results: one seed, or several and what they differ by."""

import dataclasses
import os
import statistics
from typing import Any

import keras
from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.model_agreement import with_dropout
from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import open_checkpoint, stored_tasks
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.evaluation import format_scores
from albert_tf.finetuning.run import RESULTS_NAME, FinetuningRun
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.scores import check_packages
from albert_tf.tasks.task import Task
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.text_cleaning import TextCleaning, agreed_cleaning
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.training.machine import choose_precision
from albert_tf.training.session import Session, open_session
from albert_tf.training.stop_signals import StopSignals


def run(settings: FinetuningSettings, task: Task | None = None) -> dict[str, Any]:
    """Trains, evaluates, predicts, as the settings say; goes on where it was cut off.

    Args:
        settings: the flags.
        task: what to do in place of the task that the settings name: one of your own.

    Returns:
        what RESULTS_NAME in output_dir holds; with several seeds "scores" are the medians, and there are "best",
        "spread" and "seeds" besides.

    Raises:
        InputError: whatever is wrong with the settings, the data or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    task = task or make_task(settings.task_name, settings.data_dir, _options_with_known_labels(settings))
    if settings.do_eval:
        check_packages()
    config, vocabulary_file, cleaning = model_and_vocabulary(settings)
    tokenizer = make_tokenizer(vocabulary_file, cleaning)
    _check_sizes(settings, config, tokenizer)
    data = FinetuningData(settings, task, tokenizer)
    with open_session(settings, [settings.train_batch_size]) as session, StopSignals() as signals:
        if settings.num_seeds == 1:
            return _run_one(settings, config, data, session, signals)
        return _run_seeds(settings, config, data, session, signals)


def _run_one(settings, config, data, session: Session, signals) -> dict[str, Any]:
    settings = choose_precision(settings, session.strategy, session.agreement)
    return FinetuningRun(settings, config, data, session.strategy, session.cluster, signals).run()


def _run_seeds(settings, config, data, session: Session, signals) -> dict[str, Any]:
    """A run for each seed, in a folder of its own; one that is done, under the same flags, is not done again."""
    found = []
    for seed in range(settings.random_seed, settings.random_seed + settings.num_seeds):
        folder = os.path.join(settings.output_dir, f"seed-{seed}")
        flags = settings.resolved_flags + f"--random_seed={seed}\n"
        of_seed = dataclasses.replace(settings, output_dir=folder, random_seed=seed, resolved_flags=flags)
        results = _results_of(folder, flags)
        if results is None:
            keras.backend.clear_session()
            with session.hold(folder):
                results = _run_one(of_seed, config, data, session, signals)
        else:
            logging.info("seed %d is done already: %s", seed, os.path.join(folder, RESULTS_NAME))
        found.append(results)
    summary = summarise(found, data.task.metric)
    if session.cluster.is_chief:
        files.write_json(os.path.join(settings.output_dir, RESULTS_NAME), summary)
    return summary


def _results_of(folder: str, flags: str) -> dict[str, Any] | None:
    """The results of a seed that was finished under the same flags."""
    path, flags_path = os.path.join(folder, RESULTS_NAME), os.path.join(folder, FinetuningRun.FLAGS_NAME)
    if not (files.exists(path) and files.exists(flags_path)):
        return None
    with files.open_binary(flags_path) as file:
        return files.read_json(path) if file.read().decode() == flags else None


def summarise(results: list[dict[str, Any]], metric: str) -> dict[str, Any]:
    """Median, best and spread of several seeds.

    Args:
        results: of each, as FinetuningRun.run returns them.
        metric: by which the best seed is chosen, on the first dev split.

    Returns:
        "scores", "best" and "spread" {split: {score: number}}: the medians; those of the best seed; largest less
        smallest. "checkpoint" of the best seed; "seeds", the results themselves.
    """
    summary: dict[str, Any] = {"task_name": results[0]["task_name"], "metric": metric, "seeds": results}
    if "scores" not in results[0]:
        return summary
    first = next(iter(results[0]["scores"]))
    best = max(results, key=lambda result: result["scores"][first][metric])

    def over_seeds(reduce):
        return {
            split: {name: reduce([result["scores"][split][name] for result in results]) for name in scores}
            for split, scores in results[0]["scores"].items()
        }

    return summary | {
        "checkpoint": best["checkpoint"],
        "best_seed": best["random_seed"],
        "scores": over_seeds(statistics.median),
        "best": best["scores"],
        "spread": over_seeds(lambda values: max(values) - min(values)),
    }


def format_results(results: dict[str, Any]) -> str:
    """The scores as a table for a person; one line where nothing was scored."""
    if "scores" not in results and "test_scores" not in results:
        return f"{results['task_name']}: no evaluation"
    rows = list(results.get("test_scores", {}).items())
    for split, scores in results.get("scores", {}).items():
        if "seeds" in results:
            rows += [(f"{split}, seed {one['random_seed']}", one["scores"][split]) for one in results["seeds"]]
            rows += [(f"{split}, {what}", results[key][split]) for what, key in _SUMMARY]
        else:
            rows.append((split, scores))
    return format_scores(rows)


# Tasks whose classes are the user's.
_WITH_OWN_LABELS = ("classification", "token_classification")
_SUMMARY = (("median", "scores"), ("best", "best"), ("spread", "spread"))


def model_and_vocabulary(settings: FinetuningSettings) -> tuple[AlbertConfig, str, TextCleaning]:
    """The config, with the dropout the flags ask for, the vocabulary's path, and how texts are cleaned.

    All may lie with the checkpoint.
    """
    config_file, vocabulary_file = settings.albert_config_file, settings.spm_model_file
    config = AlbertConfig.from_json_file(config_file) if config_file else None
    source, cleaning = settings.init_checkpoint, settings.cleaning
    if source is not None:
        _, stored = open_checkpoint(source)
        config, vocabulary_file = config or stored.config, vocabulary_file or stored.vocabulary_file
        cleaning = agreed_cleaning(cleaning, stored.cleaning, stored.source)
    run_config = os.path.join(settings.output_dir, run_checkpoints.CONFIG_NAME)
    if config is None and files.exists(run_config):
        config = AlbertConfig.from_json_file(run_config)
    if config is None:
        raise InputError("the model's shape is not known; give --albert_config_file, or an --init_checkpoint with one")
    if vocabulary_file is None:
        raise InputError("no vocabulary lies with --init_checkpoint; name its .model or vocab.txt by --spm_model_file")
    return with_dropout(config, settings), vocabulary_file, cleaning


def _options_with_known_labels(settings: FinetuningSettings) -> TaskOptions:
    """The task's options; without training, the classes are those of the checkpoint."""
    options = settings.task_options
    if settings.do_train or options.labels or options.regression or settings.task_name not in _WITH_OWN_LABELS:
        return options
    known = next((task for task in stored_tasks(settings.output_dir, settings.init_checkpoint) if task.labels), None)
    return options if known is None else dataclasses.replace(options, labels=known.labels)


def _check_sizes(settings: FinetuningSettings, config: AlbertConfig, tokenizer: Tokenizer) -> None:
    if tokenizer.vocab_size != config.vocab_size:
        raise InputError(
            f"--spm_model_file: {tokenizer.model_file} has {tokenizer.vocab_size} pieces, the config says "
            f"vocab_size={config.vocab_size}; give the vocabulary that the model was trained with"
        )
    if settings.max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={settings.max_seq_length} exceeds the model's max_position_embeddings="
            f"{config.max_position_embeddings}"
        )
    if settings.do_train and settings.init_checkpoint is None:
        logging.warning("no --init_checkpoint: all weights start at random")
