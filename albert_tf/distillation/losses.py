"""The losses of a student that learns a teacher's vectors, as sums: the caller divides once, over all replicas.

Shapes: B batch, H numbers of a vector. Vectors have length 1.
"""

from keras import ops

# Taken from the cosine of a text with itself, and with a row that only fills the batch up: exp of it is 0.
_NEVER = 1e9


def cosine_loss(vectors, teacher_vectors, weights):
    """1 - cosine of each vector and the teacher's.

    Args:
        vectors: float32 [B, H], of the student.
        teacher_vectors: float32 [B, H].
        weights: float32 [B], 0 for a text that only fills the batch up.

    Returns:
        (sum of losses, sum of weights), both float32 scalars.
    """
    cosines = ops.sum(vectors * teacher_vectors, axis=-1)
    return ops.sum((1.0 - cosines) * weights), ops.sum(weights)


def relation_loss(vectors, teacher_vectors, weights, temperature):
    """Divergence of which other texts of the batch a text is near to: KL of the teacher's shares from the student's.

    The share of another text is the softmax of cosine / temperature over all others, as in contrastive training
    (SimCSE, arXiv 2104.08821, equation 1), with the teacher's shares in place of one right answer.

    Args:
        vectors, teacher_vectors, weights: see cosine_loss.
        temperature: float; the smaller, the more the nearest count.

    Returns:
        (sum of the divergences in nats, sum of weights), both float32 scalars.
    """
    rows = ops.shape(weights)[0]
    hidden = _NEVER * (1.0 - (1.0 - ops.eye(rows)) * weights[None, :])
    logs, aims = (
        ops.log_softmax(ops.matmul(one, ops.transpose(one)) / temperature - hidden, axis=-1)
        for one in (vectors, teacher_vectors)
    )
    divergences = ops.sum(ops.exp(aims) * (aims - logs), axis=-1)
    return ops.sum(divergences * weights), ops.sum(weights)
