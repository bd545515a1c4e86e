"""Accuracy and loss of masked LM and of the sentence task of a model on records."""

import dataclasses
import hashlib
import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC
from albert_tf.checkpoints.checkpoint_state import is_complete
from albert_tf.conversion.pretrained import Pretrained, load_pretrained
from albert_tf.inputs.pretraining_dataset import (
    RecordSet,
    explain_record_errors,
    make_evaluation_dataset,
    open_records,
)
from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.pretraining.constant_answers import constant_answers
from albert_tf.pretraining.opened_records import UNCHECKED
from albert_tf.pretraining.settings import EvaluationSettings
from albert_tf.pretraining.steps import EVALUATION_SUMS, SENTENCE_HEAD, PretrainingSteps
from albert_tf.records.manifest import check_vocabulary, find_record_files
from albert_tf.records.pretraining_records import record_lengths
from albert_tf.records.record_files import file_size
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING
from albert_tf.training.strategy import check_backend, check_batch_size, default_strategy, share_out_batches

# Entry of an evaluation.json with the digest of the records that were read.
EVALUATED_ON = "evaluated_on"
# How the figures of a sentence task are called, by its name.
_FIGURES_OF_TASK = {"sop": "sentence_order", "nsp": "next_sentence"}


def evaluate(
    steps: PretrainingSteps,
    records: RecordSet,
    batch_size: int,
    max_steps: int | None = None,
    between_batches: Callable[[], None] = lambda: None,
) -> dict[str, float]:
    """Measures a model on one pass over records.

    Args:
        steps: training.steps.PretrainingSteps of the model.
        records: what to measure on.
        batch_size: over all replicas.
        max_steps: batches to stop after; None reads all.
        between_batches: called before every batch; what it raises ends the evaluation.

    Returns:
        the metrics of the official code, masked_lm_accuracy, masked_lm_loss (nats a masked token), and, unless `steps`
        trains no sentence task, sentence_order_accuracy, sentence_order_loss (nats a pair), each over all tokens or
        pairs read; sentence_order_balanced_accuracy, the mean of the shares found of each label, 0.5 for any constant
        answer, however frequent the labels are; and num_predictions and num_examples, how many those were.
    """
    batches = share_out_batches(
        steps.strategy, lambda context: make_evaluation_dataset(records, batch_size, max_steps, context)
    )
    sums = np.zeros(len(EVALUATION_SUMS), np.float64)
    with explain_record_errors(records.paths):
        for batch in batches:
            between_batches()
            sums += steps.evaluate(batch)
    loss, correct, count, order_loss, order_correct, order_count, ones_correct, ones = sums
    metrics: dict[str, Any] = {}
    if count or not steps.train_sentence_order:
        metrics |= {"masked_lm_accuracy": float(correct / max(count, 1)), "masked_lm_loss": float(loss / max(count, 1))}
    else:
        # Nothing is masked: checkpoints are compared by what there is.
        metrics[BEST_METRIC] = "sentence_order_accuracy"
    if steps.train_sentence_order:
        metrics["sentence_order_accuracy"] = float(order_correct / max(order_count, 1))
        metrics["sentence_order_loss"] = float(order_loss / max(order_count, 1))
        found = (ones_correct, order_correct - ones_correct)
        metrics["sentence_order_balanced_accuracy"] = _balanced_accuracy(found, (ones, order_count - ones))
    return {**metrics, "num_predictions": int(count), "num_examples": int(order_count)}


def describe_records(records: RecordSet, most_examples: int) -> str:
    """The digest of the examples that an evaluation reads, by the names and sizes of their files and their number.

    Args:
        records: what it measures on.
        most_examples: where it stops.
    """
    found = [(os.path.basename(path), file_size(path)) for path in records.paths]
    return hashlib.sha256(to_json([found, min(records.num_examples, most_examples)]).encode()).hexdigest()


def evaluate_checkpoint(settings: EvaluationSettings) -> dict[str, Any]:
    """Measures a trained model on records, beside what a constant answer and a coin would reach.

    Returns:
        checkpoint; sentence_task, that of the figures, or "none"; what `evaluate` returns, with the figures of the
        sentence task under its name, sentence_order_... or next_sentence_..., and none of them where the model has no
        head trained on the records' task; most_frequent_piece_accuracy, the best accuracy of any constant answer. Of
        the sentence task also most_frequent_label_accuracy, label_frequency_loss, the best loss of any constant
        answer, and NAME_standard_error, of a coin's accuracy on as many pairs.

    Raises:
        InputError: no such checkpoint or records, or they do not fit each other.
    """
    check_backend(settings.backend)
    strategy = default_strategy()
    check_batch_size(settings.eval_batch_size, strategy, "--eval_batch_size")
    path = os.fspath(settings.output_dir or settings.init_checkpoint or "")
    input_file = os.fspath(settings.input_file)
    paths = find_record_files(input_file)
    config_file = None if settings.albert_config_file is None else os.fspath(settings.albert_config_file)
    dtype = DTYPE_POLICIES[settings.precision]
    pretrained = load_pretrained(path, config_file, allow_missing_heads=True, dtype=dtype)
    _check_heads(pretrained)
    model = pretrained.model
    lengths = record_lengths(paths[0])
    records = open_records(input_file, *lengths, model.config.vocab_size)
    if lengths[0] > model.config.max_position_embeddings:
        raise InputError(
            f"--input_file: records hold {lengths[0]} tokens, the model takes at most "
            f"{model.config.max_position_embeddings}"
        )
    if records.manifest is None:
        logging.warning(UNCHECKED)
    check_vocabulary(pretrained.vocabulary, None if records.manifest is None else records.manifest.vocabulary, path)
    _tell_of_other_cleaning(pretrained, records)
    task = _sentence_task(pretrained, records, settings.across_sentence_tasks)
    steps = PretrainingSteps(strategy, model, train_sentence_order=task != "none")
    max_steps = settings.max_eval_steps or None
    metrics = evaluate(steps, records, settings.eval_batch_size, max_steps)
    if not metrics["num_predictions"]:
        raise InputError(f"--input_file: no record of {settings.input_file} has anything masked to predict")
    constant = constant_answers(records, max_steps, settings.eval_batch_size)
    result = {
        # Of a run that goes on beside this, what was found and not what would be found now.
        "checkpoint": pretrained.source if is_complete(pretrained.source) else path,
        "sentence_task": task,
        **{_name_for(task, name): value for name, value in metrics.items()},
        "most_frequent_piece_accuracy": constant.piece_accuracy,
    }
    if task != "none":
        result["most_frequent_label_accuracy"] = constant.label_accuracy
        result["label_frequency_loss"] = constant.label_loss
        result[f"{_FIGURES_OF_TASK[task]}_standard_error"] = 0.5 / math.sqrt(metrics["num_examples"])
    if settings.output_file is not None:
        files.write_json(os.fspath(settings.output_file), result)
    return result


def format_evaluation(result: dict[str, Any]) -> str:
    """The result as lines for a person."""
    lines = [
        ("checkpoint", result["checkpoint"]),
        (
            "masked LM accuracy",
            f"{result['masked_lm_accuracy']:.4f}  of {result['num_predictions']:,} pieces; "
            f"always the most frequent piece: {result['most_frequent_piece_accuracy']:.4f}",
        ),
        ("masked LM loss", f"{result['masked_lm_loss']:.4f}  nats a piece"),
    ]
    figures = _FIGURES_OF_TASK.get(result["sentence_task"])
    if figures is None:
        lines.append(("sentence task", "not measured"))
    else:
        title, label = figures.replace("_", " "), result["most_frequent_label_accuracy"]
        accuracy = result[f"{figures}_accuracy"]
        distance = (accuracy - label) / result[f"{figures}_standard_error"]
        lines += [
            (
                f"{title} accuracy",
                f"{accuracy:.4f}  of {result['num_examples']:,} pairs; always the more frequent label: {label:.4f}, "
                f"{distance:+.1f} standard errors from it",
            ),
            (
                f"{title} balanced",
                f"{result[f'{figures}_balanced_accuracy']:.4f}  mean of both labels' accuracies; any constant answer: "
                "0.5000",
            ),
            (
                f"{title} loss",
                f"{result[f'{figures}_loss']:.4f}  nats a pair; always the labels' frequencies: "
                f"{result['label_frequency_loss']:.4f}",
            ),
        ]
    width = max(len(title) for title, _ in lines)
    return "\n".join(f"{title:<{width}}  {text}" for title, text in lines)


def _balanced_accuracy(found: Sequence[float], there: Sequence[float]) -> float:
    """The mean over labels that are there of the share that is found of each; 0 if none is there.

    >>> _balanced_accuracy((30, 10), (40, 40)), _balanced_accuracy((0, 90), (10, 90))
    (0.5, 0.5)
    """
    shares = [one / count for one, count in zip(found, there, strict=True) if count]
    return float(np.mean(shares)) if shares else 0.0


def _check_heads(pretrained: Pretrained) -> None:
    """Sees that the model can fill in masked words."""
    if pretrained.task is not None:
        raise InputError(
            f"{pretrained.source} is fine-tuned for {pretrained.task.name or pretrained.task.head}; "
            "run_finetuning --do_eval measures it"
        )
    missing = [name for name in pretrained.model.load_report.missing if name.startswith("masked_lm/")]
    if missing:
        raise InputError(
            f"{pretrained.source} has no masked-LM head (it lacks {missing[0]}), so there is nothing to measure"
        )


def _tell_of_other_cleaning(pretrained: Pretrained, records: RecordSet) -> None:
    """Warns of records whose texts are known to be cleaned in another way than those that the model was trained on."""
    known = pretrained.cleaning
    if known is None and pretrained.vocabulary is not None and is_complete(pretrained.source):
        # A checkpoint of ours names the cleaning of its records where that was not the usual one.
        known = OFFICIAL_CLEANING
    if known is None or records.manifest is None:
        return
    for name, ours in dataclasses.asdict(known).items():
        if (theirs := records.manifest.cleaning[name]) != ours:
            logging.warning(
                "%s was trained on texts cleaned with --%s=%s, the records were made with %s: it has not seen such",
                *(pretrained.source, name, ours, theirs),
            )


def _sentence_task(pretrained: Pretrained, records: RecordSet, across: bool) -> str:
    """The task to measure: the records', if there is a head trained on it, or, with `across`, on the other task.

    Label 0 is, of either task, that the second segment followed the first in the text. Else "none", and a word why.
    """
    trained = pretrained.sentence_task
    if any(re.search(SENTENCE_HEAD, name) for name in pretrained.model.load_report.missing):
        logging.info("%s has no head of a sentence task: none is measured", pretrained.source)
        return "none"
    if trained == "none":
        logging.info("%s was trained without a sentence task: none is measured", pretrained.source)
        return "none"
    if records.manifest is None:
        return trained
    made_for = records.manifest.sentence_task
    if made_for == "none":
        logging.info("the records are of no sentence task: none is measured")
        return "none"
    if made_for != trained and not across:
        logging.warning(
            "%s was trained with --sentence_task=%s, the records are of %s: the sentence task is not measured; "
            "--across_sentence_tasks measures it all the same",
            *(pretrained.source, trained, made_for),
        )
        return "none"
    return made_for


def _name_for(task: str, name: str) -> str:
    return name.replace("sentence_order", _FIGURES_OF_TASK.get(task, "sentence_order"))
