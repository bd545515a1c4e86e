"""The losses of pre-training and of fine-tuning, as sums: the caller divides once, over all replicas.

Shapes: B batch, P predictions, V vocabulary, S sequence, C classes.
"""

import keras
from keras import ops

from albert_tf import kernels

# Keeps a batch without any prediction finite (get_masked_lm_output of the official run_pretraining.py).
MASKED_LM_DENOMINATOR_EPSILON = 1e-5


def _cross_entropy(logits, labels):
    return keras.losses.sparse_categorical_crossentropy(labels, ops.cast(logits, "float32"), from_logits=True)


def _is_correct(logits, labels):
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")


def masked_lm_sums(logits, labels, weights, bias=None):
    """Cross-entropy of the masked tokens (BERT section 3.1, task 1), and how many are found.

    Args:
        logits: float [B, P, V], before softmax.
        labels: int32 [B, P], original ids; entries of weight 0 are padding.
        weights: float32 [B, P], 1 for a real prediction, 0 for padding.
        bias: float32 [V], to be added to the logits here, in the same pass; None: it is in them.

    Returns:
        (sum of losses in nats, number of tokens whose likeliest word is the right one, sum of weights), float32
        scalars. The caller divides once, over all replicas, so that every masked token counts the same.
    """
    size = logits.shape[-1]
    bias = ops.zeros((size,), "float32") if bias is None else ops.cast(bias, "float32")
    rows = kernels.vocabulary_sums(ops.reshape(logits, (-1, size)), bias, ops.reshape(ops.cast(labels, "int32"), (-1,)))
    sums = ops.sum(rows * ops.reshape(weights, (-1, 1)), axis=0)
    return sums[0], sums[1], ops.sum(weights)


def masked_lm_loss(logits, labels, weights):
    """(sum of losses in nats, sum of weights), see masked_lm_sums."""
    loss, _, count = masked_lm_sums(logits, labels, weights)
    return loss, count


def masked_lm_correct(logits, labels, weights):
    """Weighted number of masked tokens whose likeliest word is the right one; arguments as in masked_lm_sums."""
    return masked_lm_sums(logits, labels, weights)[1]


def classification_loss(logits, labels, weights=None):
    """Cross-entropy of one label for each example: the sentence order (paper section 3.1), a class, an option.

    Args:
        logits: float32 [B, C], before softmax.
        labels: int32 [B].
        weights: float32 [B], 0 for an example that only fills the batch; None: all ones.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars.
    """
    weights = ops.ones_like(labels, dtype="float32") if weights is None else weights
    return ops.sum(_cross_entropy(logits, labels) * weights), ops.sum(weights)


def classification_correct(logits, labels, weights=None):
    """Weighted number of examples whose likeliest class is the right one; arguments as in classification_loss."""
    weights = ops.ones_like(labels, dtype="float32") if weights is None else weights
    return ops.sum(_is_correct(logits, labels) * weights)


def multi_label_loss(logits, labels, weights):
    """Binary cross-entropy of every label, a mean over the labels of an example.

    Args:
        logits: float32 [B, C], before the sigmoid.
        labels: float32 [B, C], 1 for each label that the example has.
        weights: float32 [B], 0 for an example that only fills the batch.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars.
    """
    losses = ops.mean(_binary_cross_entropy(logits, labels), axis=-1)
    return ops.sum(losses * weights), ops.sum(weights)


def multi_label_correct(logits, labels, weights):
    """Weighted number of examples all of whose labels are predicted right; arguments as in multi_label_loss."""
    right = ops.all(ops.equal(logits > 0, labels > 0.5), axis=-1)
    return ops.sum(ops.cast(right, "float32") * weights)


def regression_loss(logits, labels, weights):
    """Squared error (create_model of the official classifier_utils.py, for STS-B).

    Args:
        logits: float32 [B, 1].
        labels: float32 [B].
        weights: float32 [B], 0 for an example that only fills the batch.

    Returns:
        (sum of squared errors, sum of weights), both float32 scalars.
    """
    return ops.sum(ops.square(logits[:, 0] - labels) * weights), ops.sum(weights)


def span_loss(start_logits, end_logits, starts, ends, weights):
    """Mean of the cross-entropies of where an answer starts and where it ends (official run_squad_v1.py).

    Args:
        start_logits, end_logits: float32 [B, S], before the softmax over the pieces.
        starts, ends: int32 [B].
        weights: float32 [B], 0 for an example that only fills the batch.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars.
    """
    losses = 0.5 * (_cross_entropy(start_logits, starts) + _cross_entropy(end_logits, ends))
    return ops.sum(losses * weights), ops.sum(weights)


def span_correct(start_logits, end_logits, starts, ends, weights):
    """Weighted number of examples whose likeliest start and end are both right; arguments as in span_loss."""
    return ops.sum(_is_correct(start_logits, starts) * _is_correct(end_logits, ends) * weights)


def answerability_loss(logits, is_impossible, weights):
    """Half the binary cross-entropy of whether there is no answer, beside span_loss (official run_squad_v2.py).

    Args:
        logits: float32 [B], above 0 for no answer.
        is_impossible: int32 or float32 [B], 1 for no answer.
        weights: float32 [B], 0 for an example that only fills the batch.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars.
    """
    losses = 0.5 * _binary_cross_entropy(logits, ops.cast(is_impossible, "float32"))
    return ops.sum(losses * weights), ops.sum(weights)


def _binary_cross_entropy(logits, labels):
    """-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), without overflow."""
    return ops.relu(logits) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))
