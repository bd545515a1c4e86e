"""The base of layers and heads: made of an AlbertConfig; initial values, LayerNorm."""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.config import AlbertConfig
from albert_tf.kernels.projection import Projection, Unquantized
from albert_tf.runtime.errors import InputError


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


# tf.contrib.layers.layer_norm, which the official code calls, uses this in float32.
LAYER_NORM_EPSILON = 1e-12


def read_config(config):
    """The AlbertConfig that a layer or a model is made of.

    Args:
        config: AlbertConfig, or the dict of one, as get_config gives it.

    Raises:
        InputError: anything else, such as a name or a path.
    """
    config = AlbertConfig.from_dict(config) if isinstance(config, dict) else config
    if not isinstance(config, AlbertConfig):
        raise InputError(
            f"`config` must be an AlbertConfig or the dict of one. Received {config!r}; "
            "AlbertConfig.from_json_file reads a file."
        )
    return config


def make_initializer(initializer_range):
    """The official initial values: normal, cut off at two standard deviations (modeling.create_initializer)."""
    return keras.initializers.TruncatedNormal(stddev=initializer_range)


def make_layer_norm(dtype=None, name="layer_norm"):
    """The weights of a LayerNorm over the last axis, and the official epsilon; kernels compute it, in float32."""
    return keras.layers.LayerNormalization(epsilon=LAYER_NORM_EPSILON, dtype=dtype, name=name)


class ConfiguredLayer(Unquantized, keras.layers.Layer):
    """A layer of the encoder, or a head.

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.config = read_config(config)

    def make_projection(self, size, name, use_bias=True):
        """A Projection to `size` columns with the config's initial values."""
        initializer = make_initializer(self.config.initializer_range)
        return Projection(size, use_bias=use_bias, kernel_initializer=initializer, dtype=self.dtype_policy, name=name)

    def compute_weights(self):
        """The weights as `call` takes them, for a layer that is applied by itself."""
        matrices, vectors = kernels.BlockRunner.read_weights(self)
        return [ops.cast(matrix, self.compute_dtype) for matrix in matrices], vectors

    def get_config(self):
        return {**super().get_config(), "config": self.config.to_dict()}
