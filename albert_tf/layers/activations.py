"""Activation functions by their config names."""

from keras import ops


def get_activation(name: str):
    """The function that `hidden_act` names.

    Args:
        name: one of config.ACTIVATIONS. The official code's "gelu" is the tanh approximation (modeling.py `gelu`),
            which Hugging Face calls "gelu_new"; the exact form is "gelu_erf".
    """
    return {
        "gelu": lambda x: ops.gelu(x, approximate=True),
        "gelu_new": lambda x: ops.gelu(x, approximate=True),
        "gelu_erf": lambda x: ops.gelu(x, approximate=False),
        "relu": ops.relu,
        "tanh": ops.tanh,
        "linear": lambda x: x,
    }[name]
