"""A LiteRT file (.tflite) of a model, by TensorFlow's own converter, of built-in operations alone.

The model applies its shared block in a loop, so that the file has each operation of it once. int8 is the converter's
dynamic range: weights int8, what they are multiplied by int8 at each call by its own range, all else float32; with
float16 weights alone are, and are read as float32.
"""

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.exports.saved_model import warnings_only
from albert_tf.portable.interface import Interface, TensorForm
from albert_tf.runtime.errors import InputError, reason_of

_SIGNATURE = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
# A flatbuffer's own limit.
_LARGEST_FILE = 2**31 - 1
_BYTES = {"float32": 4, "float16": 2, "int8": 1}


def litert_model(model: Any, compute: Callable[..., dict[str, Any]], interface: Interface, precision: str) -> bytes:
    """Converts a model.

    Args:
        model: whose weights they are, of serving.served_copy.
        compute: a function of the model and a dict of the interface's inputs, which returns its outputs.
        interface: names, types and axes of inputs and outputs.
        precision: "float32", "float16" or "int8".

    Raises:
        InputError: the weights are larger than a file of this format can be.
        OSError: no room for what stands between.
    """
    size = sum(int(np.prod(variable.shape)) for variable in model.weights) * _BYTES[precision]
    if size > _LARGEST_FILE - (16 << 20):
        raise InputError(
            f"--precision={precision}: the weights take {size / 2**30:.1f} GiB, a file of LiteRT holds less than 2 "
            "GiB; choose a precision of fewer bytes"
        )
    specs = {form.name: _spec(form) for form in interface.inputs}
    function = tf.function(lambda **inputs: compute(model, inputs), autograph=False)
    module = tf.Module()
    # As plain variables, which TensorFlow follows; those of Keras it does not.
    module.weights = [variable.value for variable in model.weights]
    with tempfile.TemporaryDirectory(prefix="albert_tf-") as folder, warnings_only():
        # Names of signatures are kept this way alone.
        try:
            tf.saved_model.save(module, folder, signatures={_SIGNATURE: function.get_concrete_function(**specs)})
        except tf.errors.OpError as error:
            raise OSError(f"{folder}: cannot be written: {reason_of(error)}") from None
        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        if precision != "float32":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if precision == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return bytes(converter.convert())


def _spec(form: TensorForm) -> tf.TensorSpec:
    axes = [axis if isinstance(axis, int) else None for axis in form.axes]
    return tf.TensorSpec(axes, form.dtype, name=form.name)
