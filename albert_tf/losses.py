"""The losses of pre-training and of fine-tuning, as sums: the caller divides once, over all replicas.

Shapes: B batch, P predictions, V vocabulary, S sequence, C classes, W pieces of the longest span.
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


def weighted_classification_loss(logits, labels, weights, class_weights=None, label_smoothing=0.0):
    """Cross-entropy in which classes count differently, and no label is certain.

    The target of an example is a distribution: 1 - e of its label, and e / C of every class, its own too (Szegedy et
    al., 2015, arXiv 1512.00567, section 7). Each class's term is multiplied by the class's weight, and the sum is to
    be divided by the weights of the labels, as torch.nn.CrossEntropyLoss has it.

    Args:
        logits: float32 [..., C], before softmax.
        labels: int32 [...].
        weights: float32 [...], 0 for what does not count.
        class_weights: float32 [C]; None: all ones.
        label_smoothing: e.

    Returns:
        (sum of losses in nats, sum of the labels' weights), both float32 scalars.
    """
    log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    size = logits.shape[-1]
    size = ops.shape(logits)[-1] if size is None else size
    target = (1.0 - label_smoothing) * ops.one_hot(labels, size) + label_smoothing / size
    if class_weights is not None:
        class_weights = ops.convert_to_tensor(class_weights, "float32")
        target = target * class_weights
        weights_of_labels = weights * ops.take(class_weights, labels)
    else:
        weights_of_labels = weights
    return ops.sum(-ops.sum(target * log_probs, axis=-1) * weights), ops.sum(weights_of_labels)


def classification_correct(logits, labels, weights=None):
    """Weighted number of examples whose likeliest class is the right one; arguments as in classification_loss."""
    weights = ops.ones_like(labels, dtype="float32") if weights is None else weights
    return ops.sum(_is_correct(logits, labels) * weights)


def multi_label_loss(logits, labels, weights, pos_weight=None, label_smoothing=0.0):
    """Binary cross-entropy of every label, a mean over the labels of an example.

    Args:
        logits: float32 [B, C], before the sigmoid.
        labels: float32 [B, C], 1 for each label that the example has.
        weights: float32 [B], 0 for an example that only fills the batch.
        pos_weight: float32 [C] or [1], what the term of a label that the example has is multiplied by; None: 1.
        label_smoothing: e; labels become 1 - e / 2 and e / 2.

    Returns:
        (sum of losses in nats, sum of weights), both float32 scalars.
    """
    if label_smoothing:
        labels = labels * (1.0 - label_smoothing) + 0.5 * label_smoothing
    terms = _binary_cross_entropy(logits, labels)
    if pos_weight is not None:
        # -log(sigmoid(x)) of a label that is there, so many times more.
        extra = ops.convert_to_tensor(pos_weight, "float32") - 1.0
        terms = terms + extra * labels * ops.softplus(-logits)
    return ops.sum(ops.mean(terms, axis=-1) * weights), ops.sum(weights)


def multi_label_correct(logits, labels, weights):
    """Weighted number of examples all of whose labels are predicted right; arguments as in multi_label_loss."""
    right = ops.all(ops.equal(logits > 0, labels > 0.5), axis=-1)
    return ops.sum(ops.cast(right, "float32") * weights)


def distillation_loss(logits, teacher_logits, weights, head, temperature):
    """Divergence from a teacher's outputs (Hinton et al., 2015, arXiv 1503.02531, section 2).

    KL(teacher, model) of the probabilities whose logits are divided by the temperature T, times T^2, which keeps the
    gradients' size; of several labels a mean over the labels; of a regression the squared difference.

    Args:
        logits: float32 [B, C], of the model.
        teacher_logits: float32 [B, C].
        weights: float32 [B], 0 for an example that only fills the batch.
        head: "classification", "multiple_choice", "multi_label" or "regression".
        temperature: T.

    Returns:
        (sum of the divergences, sum of weights), both float32 scalars.
    """
    logits = ops.cast(logits, "float32")
    if head == "regression":
        rows = ops.square(logits[:, 0] - teacher_logits[:, 0])
        return ops.sum(rows * weights), ops.sum(weights)
    scaled, aims = logits / temperature, teacher_logits / temperature
    if head == "multi_label":
        share = ops.sigmoid(aims)
        rows = ops.mean(_binary_cross_entropy(scaled, share) - _binary_cross_entropy(aims, share), axis=-1)
    else:
        difference = ops.log_softmax(aims, axis=-1) - ops.log_softmax(scaled, axis=-1)
        rows = ops.sum(ops.softmax(aims, axis=-1) * difference, axis=-1)
    return temperature**2 * ops.sum(rows * weights), ops.sum(weights)


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


def span_categories_loss(logits, labels, starts, lengths, weights):
    """Binary cross-entropy of every label of every span, as a sum over the spans that start at a piece.

    Args:
        logits: float32 [B, S, W, C], before the sigmoid, by the first piece and the pieces less one.
        labels: int32 [B, G], those that are there as (start * W + pieces - 1) * C + class; -1 fills up.
        starts: float32 [B, S], 1 where spans can start, else 0.
        lengths: int32 [B], pieces of each example; none ends at the last, [SEP].
        weights: float32 [B], 0 for an example that only fills the batch.

    Returns:
        (sum of losses in nats, weighted number of pieces where spans can start), both float32 scalars.
    """
    starts = starts * weights[:, None]
    length, widths = ops.shape(logits)[1], logits.shape[2]
    ends = ops.arange(length)[:, None] + ops.arange(widths)
    fits = ops.cast(ends < lengths[:, None, None] - 1, "float32")
    absent = ops.sum(ops.sum(ops.softplus(logits), axis=-1) * fits * starts[:, :, None])
    flat = ops.reshape(logits, (ops.shape(logits)[0], -1))
    present = ops.take_along_axis(flat, ops.maximum(labels, 0), axis=1)
    present = ops.sum(present * ops.cast(labels >= 0, "float32") * weights[:, None])
    return absent - present, ops.sum(starts)


def _binary_cross_entropy(logits, labels):
    """-y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)), without overflow."""
    return ops.relu(logits) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))
