"""SavedModels that export_saved_model wrote, and checkpoints as it would export them, for the server."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.exports import encoder_module, signatures
from albert_tf.exports.finetuned_module import FROM_IDS, SIGNATURES
from albert_tf.exports.loading import load_export
from albert_tf.exports.saved_model import open_module
from albert_tf.exports.tagging_module import TAG_TEXT
from albert_tf.portable.interface import TensorForm
from albert_tf.runtime.errors import reason_of
from albert_tf.server.request_error import BAD_REQUEST, FAULT, NO_MEMORY, RequestError
from albert_tf.server.served_model import ANY_AXES, BATCH, SERVING_DEFAULT, ServedModel, Signature
from albert_tf.serving.graph_answers import words_of
from albert_tf.serving.model_kind import SAVED_MODEL, kind_of

# Of these names the first that a model has is the one that serving_default stands for.
_DEFAULTS = (encoder_module.TOKENS_FROM_TEXT, TAG_TEXT, *SIGNATURES)


class TensorflowModel(ServedModel):
    """An export or a checkpoint, loaded.

    Args:
        path: a folder of export_saved_model; or a run or a checkpoint with its vocabulary, pre-trained or fine-tuned.

    Raises:
        InputError: none of these is there, or it is damaged.
    """

    def __init__(self, path: str):
        self.path = path
        self._is_export = kind_of(path) == SAVED_MODEL
        functions = self._load()
        default = next((name for name in _DEFAULTS if name in functions), None)
        self.signatures = {
            name: Signature(
                {spec.name: _form(spec.name, spec) for spec in _input_specs(function)},
                {key: _form(key, spec) for key, spec in function.structured_outputs.items()},
                default if name == SERVING_DEFAULT else None,
            )
            for name, function in functions.items()
        }
        if signatures.MLM in functions:
            # [B, P, V].
            self.vocab_size = int(functions[signatures.MLM].structured_outputs["mlm_logits"].shape[-1])

    def _load(self) -> dict[str, Callable[..., Any]]:
        # Kept, since the functions live as long as what they were loaded with.
        self._loaded, self._functions = (_open_export if self._is_export else _open_checkpoint)(self.path)
        return self._functions

    def run(self, signature: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        forms = self.signatures[signature].inputs
        tensors = {name: tf.constant(inputs[name], form.dtype) for name, form in forms.items()}
        try:
            outputs = self._call(signature, tensors)
        except tf.errors.InvalidArgumentError as error:
            raise RequestError(words_of(error), BAD_REQUEST) from None
        except tf.errors.ResourceExhaustedError:
            raise RequestError("no memory for so much at once; ask for less", NO_MEMORY, retry_after=1) from None
        except tf.errors.OpError as error:
            raise RequestError(f"the model failed: {reason_of(error)}", FAULT) from None
        return {name: _to_array(value) for name, value in outputs.items()}

    def _call(self, signature: str, tensors: dict[str, tf.Tensor]) -> Mapping[str, tf.Tensor]:
        if self._is_export:
            return self._functions[signature](**tensors)
        # Some functions of a module do not name their inputs.
        try:
            return self._functions[signature](*tensors.values())
        except tf.errors.NotFoundError:
            # tf.random.set_seed takes the vocabulary away from a graph that was not loaded from a SavedModel.
            self._load()
            return self._functions[signature](*tensors.values())


def _input_specs(function: Any) -> list[tf.TensorSpec]:
    return [spec for spec in tf.nest.flatten(function.structured_input_signature) if isinstance(spec, tf.TensorSpec)]


def _open_export(path: str) -> tuple[Any, dict[str, Callable[..., Any]]]:
    loaded, _ = load_export(path, (encoder_module.TOKENS, FROM_IDS))
    return loaded, dict(loaded.signatures)


def _open_checkpoint(path: str) -> tuple[Any, dict[str, Callable[..., Any]]]:
    """The module of a checkpoint, and its functions, traced."""
    module, functions = open_module(path)
    return module, {name: function.get_concrete_function() for name, function in functions.items()}


def _form(name: str, spec: Any) -> TensorForm:
    if spec.shape.rank is None:
        return TensorForm(name, spec.dtype.name, ANY_AXES)
    axes = [size if size is not None else f"{name}_{axis}" for axis, size in enumerate(spec.shape)]
    return TensorForm(name, spec.dtype.name, tuple([BATCH, *axes[1:]] if axes else ()))


def _to_array(tensor: tf.Tensor) -> np.ndarray:
    """The values of a tensor; texts are bytes in an array of dtype object, also where there is one alone."""
    return np.asarray(tensor.numpy(), object if tensor.dtype == tf.string else None)
