"""Dense layers of the model, and what nothing in it can be: quantized in place by Keras.

The model reads the kernels of its layers and multiplies by itself. What Keras makes of them when it
quantizes, integers with scales beside them, would be taken for kernels.
"""

import keras

from albert_tf.runtime.errors import InputError


class QuantizationRefused(InputError, NotImplementedError):
    """A model or a layer was to be quantized. Keras, quantizing a model around it, warns and leaves it as it is."""


class Unquantized:
    """A Keras layer or model whose `quantize` refuses, whatever the mode, and leaves everything as it was."""

    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls, *args, **kwargs)
        # In place of Keras's own, which would ask for settings first that do not help.
        made.quantize = made._refuse_quantization
        return made

    @property
    def dtype_policy(self):
        """The Keras dtype policy; one of quantized weights is refused, and for a made model a different one."""
        return super().dtype_policy

    @dtype_policy.setter
    def dtype_policy(self, value):
        policy = keras.dtype_policies.get(value)
        if policy.quantization_mode is not None:
            self._refuse_quantization(policy.quantization_mode)
        if isinstance(self, keras.Model) and getattr(self, "built", False) and policy.name != self.dtype_policy.name:
            raise InputError(
                f"The dtype of a model is that of its layers, from the beginning. Received {policy.name} for one of "
                f"{self.dtype_policy.name}; make a model with dtype={policy.name!r} and give it the weights."
            )
        keras.layers.Layer.dtype_policy.fset(self, value)

    def _refuse_quantization(self, mode=None, *args, **kwargs):
        raise QuantizationRefused(
            f"{type(self).__name__} {self.name!r} cannot be quantized by Keras. Received mode={mode!r}. "
            "For less memory and time, export the model with export_saved_model --precision=bfloat16."
        )


@keras.saving.register_keras_serializable("albert_tf")
class Projection(Unquantized, keras.layers.Dense):
    """keras.layers.Dense as the weights of a projection; arguments as there.

    Raises:
        QuantizationRefused: a dtype policy of quantized weights.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.quantization_mode is not None:
            self._refuse_quantization(self.quantization_mode)
