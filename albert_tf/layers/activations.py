"""Activation functions by their config names."""

from keras import ops


def _tanh_gelu(x):
    return ops.gelu(x, approximate=True)


def _exact_gelu(x):
    return ops.gelu(x, approximate=False)


def _identity(x):
    return x


# One function object a name, as what is compiled for an activation is kept by its function.
_ACTIVATIONS = {
    "gelu": _tanh_gelu,
    "gelu_new": _tanh_gelu,
    "gelu_erf": _exact_gelu,
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": _identity,
}


def get_activation(name: str):
    """The function that `hidden_act` names.

    Args:
        name: one of config.ACTIVATIONS. The official code's "gelu" is the tanh approximation (modeling.py `gelu`),
            which Hugging Face calls "gelu_new"; the exact form is "gelu_erf".
    """
    return _ACTIVATIONS[name]
