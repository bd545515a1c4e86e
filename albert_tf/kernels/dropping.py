"""The arithmetic of dropout, for the layer and for the chains it is a part of."""

from keras import ops


def drop(x, rate, keep):
    """Zeroes what is not kept and scales the rest up (Srivastava et al., 2014).

    Args:
        x: float tensor.
        rate: share that is dropped, in [0, 1), a Python float.
        keep: list of one bool tensor that broadcasts to x's shape; an empty one keeps all, unscaled.

    Returns:
        the shape and dtype of x.
    """
    for mask in keep:
        x = ops.where(mask, x / (1.0 - rate), 0.0)
    return x
