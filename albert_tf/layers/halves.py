"""A batch as two halves side by side, so that what one half leaves of the processor the other half takes.

On a CPU the threads that share an operation wait for the last of them before the next begins. With the operations of
two halves to choose from there is mostly another one to go on with.

Shapes: B batch, S sequence.
"""

from keras import ops

from albert_tf.layers import backend_ops

# With fewer positions in both, to start twice as many operations takes longer than the waiting does.
SMALLEST_BATCH = 256


def in_halves(whole, half, tensors):
    """whole(*tensors), or of two sequences or more half(*tensors) of either half, which do not depend on each other.

    Args:
        whole: function of tensors [B, ...] to a list of tensors [B, ...], of every sequence by itself.
        half: the same in a way that suits many positions.
        tensors: list of tensors [B, ...], the first [B, S].

    Returns:
        list of tensors [B, ...].
    """
    if not backend_ops.runs_operation_by_operation():
        return whole(*tensors)
    batch, length = ops.shape(tensors[0])

    def as_halves():
        first = half(*(tensor[: batch // 2] for tensor in tensors))
        second = half(*(tensor[batch // 2 :] for tensor in tensors))
        return [ops.concatenate(both, axis=0) for both in zip(first, second, strict=True)]

    is_large = ops.logical_and(batch > 1, batch * length >= SMALLEST_BATCH)
    return ops.cond(is_large, as_halves, lambda: whole(*tensors))
