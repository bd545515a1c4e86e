"""Masked-LM and sentence-order accuracy and loss of a model on records."""

import numpy as np

from albert_tf.inputs.pretraining_dataset import RecordSet, explain_record_errors, make_evaluation_dataset


def evaluate(steps, records: RecordSet, batch_size: int, max_steps: int | None = None) -> dict[str, float]:
    """Measures a model on one pass over records.

    Args:
        steps: training.steps.PretrainingSteps of the model.
        records: what to measure on.
        batch_size: over all replicas.
        max_steps: batches to stop after; None reads all.

    Returns:
        the metrics of the official code, masked_lm_accuracy, masked_lm_loss (nats a masked token),
        sentence_order_accuracy, sentence_order_loss (nats a pair), each over all tokens or pairs read; and
        num_predictions and num_examples, how many those were.
    """
    dataset = make_evaluation_dataset(records, batch_size, max_steps)
    sums = np.zeros(6, np.float64)
    with explain_record_errors(records.paths):
        for batch in steps.strategy.experimental_distribute_dataset(dataset):
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
