"""A batch as two halves side by side, so that what one half leaves of the processor the other half takes.

On a CPU the threads that share an operation wait for the last of them before the next begins. With the operations of
two halves to choose from there is mostly another one to go on with.

Shapes: B batch, S sequence.
"""

from keras import ops

from albert_tf.kernels import backend

# With fewer positions in both, to start twice as many operations takes longer than the waiting does.
SMALLEST_BATCH = 256


def in_halves(function, tensors, dtypes):
    """function(*tensors), or where operations run one by one function(*part) of one or two parts.

    Args:
        function: function of tensors [b, ...] to a list of tensors [b, ...], of every sequence by itself. It is traced
            once.
        tensors: list of tensors [B, ...], the first [B, S].
        dtypes: of what the function returns.

    Returns:
        list of tensors [B, ...].
    """
    if not backend.runs_operation_by_operation():
        return function(*tensors)
    batch, length = ops.shape(tensors[0])
    is_large = ops.logical_and(batch > 1, batch * length >= SMALLEST_BATCH)
    parts = ops.where(is_large, 2, 1)

    def encode_part(part):
        # Every second sequence, so that of sorted ones either half has short and long ones.
        chosen = ops.arange(part, batch, parts, dtype="int32")
        return function(*(ops.take(tensor, chosen, axis=0) for tensor in tensors))

    index = ops.arange(batch, dtype="int32")
    places = index % parts * ((batch + parts - 1) // parts) + index // parts
    return [ops.take(x, places, axis=0) for x in backend.concatenate_parts(encode_part, parts, dtypes)]
