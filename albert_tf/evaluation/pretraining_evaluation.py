"""Masked-LM and sentence-order accuracy and loss of a model on records."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf import files
from albert_tf.errors import InputError
from albert_tf.inputs.manifest import check_vocabulary
from albert_tf.inputs.pretraining_dataset import (
    RecordSet,
    constant_accuracies,
    explain_record_errors,
    make_evaluation_dataset,
    open_records,
)
from albert_tf.inputs.pretraining_records import record_lengths
from albert_tf.training import checkpoints
from albert_tf.training.pretrained import load_pretrained
from albert_tf.training.pretraining_steps import EVALUATION_SUMS, PretrainingSteps


def evaluate(
    steps,
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
        the metrics of the official code, masked_lm_accuracy, masked_lm_loss (nats a masked token),
        sentence_order_accuracy, sentence_order_loss (nats a pair), each over all tokens or pairs read; and
        num_predictions and num_examples, how many those were.
    """
    batches = steps.strategy.distribute_datasets_from_function(
        lambda context: make_evaluation_dataset(records, batch_size, max_steps, context)
    )
    sums = np.zeros(len(EVALUATION_SUMS), np.float64)
    with explain_record_errors(records.paths):
        for batch in batches:
            between_batches()
            sums += steps.evaluate(batch).numpy()
    loss, correct, count, order_loss, order_correct, order_count = sums
    return {
        "masked_lm_accuracy": float(correct / max(count, 1)),
        "masked_lm_loss": float(loss / max(count, 1)),
        "sentence_order_accuracy": float(order_correct / max(order_count, 1)),
        "sentence_order_loss": float(order_loss / max(order_count, 1)),
        "num_predictions": int(count),
        "num_examples": int(order_count),
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationSettings:
    """The flags of run_evaluation; see there for what each means."""

    input_file: str
    output_dir: str | None = None
    init_checkpoint: str | None = None
    albert_config_file: str | None = None
    eval_batch_size: int = 64
    max_eval_steps: int = 0
    output_file: str | None = None

    def __post_init__(self):
        if (self.output_dir is None) == (self.init_checkpoint is None):
            raise InputError("give one of --output_dir (of a run) and --init_checkpoint")
        if self.eval_batch_size < 1:
            raise InputError(f"--eval_batch_size must be at least 1. Received {self.eval_batch_size}.")


def evaluate_checkpoint(settings: EvaluationSettings) -> dict[str, Any]:
    """Measures a trained model on records, beside what a constant answer and a coin would reach.

    Returns:
        what `evaluate` returns, and checkpoint; most_frequent_piece_accuracy and most_frequent_label_accuracy, the
        best accuracies of any constant answer; sentence_order_standard_error of a coin's accuracy on as many pairs.
    """
    path = settings.output_dir if settings.init_checkpoint is None else settings.init_checkpoint
    pretrained = load_pretrained(path, settings.albert_config_file)
    model = pretrained.model
    lengths = record_lengths(files.list_files(settings.input_file)[0])
    records = open_records(settings.input_file, *lengths, model.config.vocab_size)
    if lengths[0] > model.config.max_position_embeddings:
        raise InputError(
            f"--input_file: records hold {lengths[0]} tokens, the model takes at most "
            f"{model.config.max_position_embeddings}"
        )
    check_vocabulary(pretrained.vocabulary, records.manifest and records.manifest.vocabulary, path)
    steps = PretrainingSteps(tf.distribute.get_strategy(), model)
    max_steps = settings.max_eval_steps or None
    metrics = evaluate(steps, records, settings.eval_batch_size, max_steps)
    constant_piece, constant_label = constant_accuracies(records, max_steps, settings.eval_batch_size)
    result = {
        "checkpoint": checkpoints.find_checkpoint(path) or path,
        **metrics,
        "most_frequent_piece_accuracy": constant_piece,
        "most_frequent_label_accuracy": constant_label,
        "sentence_order_standard_error": 0.5 / math.sqrt(max(metrics["num_examples"], 1)),
    }
    if settings.output_file is not None:
        files.write_json(settings.output_file, result)
    return result


def format_evaluation(result: dict[str, Any]) -> str:
    """The result as lines for a person."""
    label = result["most_frequent_label_accuracy"]
    distance = (result["sentence_order_accuracy"] - label) / result["sentence_order_standard_error"]
    return "\n".join(
        [
            f"checkpoint               {result['checkpoint']}",
            f"masked LM accuracy       {result['masked_lm_accuracy']:.4f}  of {result['num_predictions']:,} pieces; "
            f"always the most frequent piece: {result['most_frequent_piece_accuracy']:.4f}",
            f"masked LM loss           {result['masked_lm_loss']:.4f}  nats a piece",
            f"sentence order accuracy  {result['sentence_order_accuracy']:.4f}  of {result['num_examples']:,} pairs; "
            f"always the more frequent label: {label:.4f}, {distance:+.1f} standard errors from it",
            f"sentence order loss      {result['sentence_order_loss']:.4f}  nats a pair; chance: {math.log(2):.4f}",
        ]
    )
