"""The two losses of pre-training, as sums: the caller divides once, over all replicas.

Shapes: B batch, P predictions, V vocabulary.
"""

import keras
from keras import ops

from albert_tf.layers import backend_ops

# Keeps a batch without any prediction finite (get_masked_lm_output of the official run_pretraining.py).
MASKED_LM_DENOMINATOR_EPSILON = 1e-5


def _cross_entropy(logits, labels):
    return keras.losses.sparse_categorical_crossentropy(labels, ops.cast(logits, "float32"), from_logits=True)


def _vocabulary_cross_entropy(logits, labels):
    # As sums over the vocabulary, without an array of the logits' size: that is 38 MB for 16 x 20 predictions.
    is_label = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), ops.cast(labels, "int32")[..., None])
    highest = ops.stop_gradient(ops.max(logits, axis=-1, keepdims=True))
    centred = logits - highest
    return ops.log(ops.sum(ops.exp(centred), axis=-1)) - ops.sum(ops.where(is_label, centred, 0.0), axis=-1)


def _is_correct(logits, labels):
    return ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")


def masked_lm_loss(logits, labels, weights):
    """Cross-entropy of the masked tokens (BERT section 3.1, task 1).

    Args:
        logits: float32 [B, P, V], before softmax.
        labels: int32 [B, P], original ids; entries of weight 0 are padding.
        weights: float32 [B, P], 1 for a real prediction, 0 for padding.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars. The caller divides once, over all replicas,
        so that every masked token counts the same.
    """
    cross_entropy = backend_ops.compile_chain(_vocabulary_cross_entropy)
    return ops.sum(cross_entropy(ops.cast(logits, "float32"), labels) * weights), ops.sum(weights)


def masked_lm_correct(logits, labels, weights):
    """Weighted number of masked tokens whose likeliest word is the right one; arguments as in masked_lm_loss."""
    return ops.sum(_is_correct(logits, labels) * weights)


def sentence_order_loss(logits, labels, weights=None):
    """Cross-entropy of the sentence-order labels (paper section 3.1).

    Args:
        logits: float32 [B, 2], before softmax.
        labels: int32 [B], heads.sentence_order.IN_ORDER or SWAPPED.
        weights: float32 [B], 0 for an example that only fills the batch; None: all ones.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars.
    """
    weights = ops.ones_like(labels, dtype="float32") if weights is None else weights
    return ops.sum(_cross_entropy(logits, labels) * weights), ops.sum(weights)


def sentence_order_correct(logits, labels, weights=None):
    """Weighted number of pairs whose order is told right; arguments as in sentence_order_loss."""
    weights = ops.ones_like(labels, dtype="float32") if weights is None else weights
    return ops.sum(_is_correct(logits, labels) * weights)
