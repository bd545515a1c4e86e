"""config.json of Hugging Face's AlbertConfig from and to ours."""

import difflib
import os
from collections.abc import Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import stored_groups
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

CONFIG_NAME = "config.json"

# transformers calls the erf form "gelu", the official code calls the tanh form so: names change, functions do not.
_TO_OURS = {
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast", "gelu_accurate"), "gelu"),
    **dict.fromkeys(("gelu", "gelu_python"), "gelu_erf"),
    **{name: name for name in ("relu", "tanh", "linear")},
}
_TO_THEIRS = {"gelu": "gelu_new", "gelu_new": "gelu_new", "gelu_erf": "gelu", "relu": "relu", "tanh": "tanh"} | {
    "linear": "linear"
}

# What AlbertConfig of transformers takes for a key that is not there, where AlbertConfig of ours does not.
_DEFAULTS = {"vocab_size": 30000, "hidden_act": "gelu_new"}
_SHAPE_KEYS = tuple(key for key in AlbertConfig(vocab_size=1).to_dict())
# Keys that change what is computed, with the one value that our model computes; other keys do not matter.
_FIXED = {
    "layer_norm_eps": 1e-12,
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
}
_EMPTY = ("pruned_heads", "quantization_config", "auto_map")
_WRITTEN = _FIXED | {"classifier_dropout_prob": 0.1, "dtype": "float32", "model_type": "albert"}
_LEFT_OUT = ("is_decoder", "is_encoder_decoder", "add_cross_attention")


def read_config(path: str) -> AlbertConfig:
    """Reads a config.json.

    Raises:
        InputError: it is of no ALBERT, asks for what our model does not compute, or breaks a rule of AlbertConfig.
    """
    values = files.read_json(path)
    model_type = values.get("model_type", "albert" if "embedding_size" in values else None)
    if model_type != "albert":
        what = "says no `model_type`" if model_type is None else f"is of a model of type {model_type!r}"
        raise InputError(f"{path} {what}; only 'albert' models cross over")
    for key, wanted in _FIXED.items():
        if values.get(key, wanted) != wanted:
            raise InputError(f"{path}: {key} is {to_json(values[key])}, this model computes {to_json(wanted)} only")
    for key in _EMPTY:
        if values.get(key):
            raise InputError(f"{path}: has {key}, which this model does not have")
    _find_misspelt(path, values)
    shape = {key: values[key] for key in _SHAPE_KEYS if key in values}
    shape = _DEFAULTS | shape
    activation = shape["hidden_act"]
    if not isinstance(activation, str) or activation not in _TO_OURS:
        raise InputError(f"{path}: hidden_act is {to_json(activation)}; known are {', '.join(_TO_OURS)}")
    return AlbertConfig.from_dict(shape | {"hidden_act": _TO_OURS[activation]}, where=path)


def write_config(
    folder: str,
    config: AlbertConfig,
    architecture: str,
    format_title: str,
    special_ids: tuple[int, int, int],
    task_values: Mapping[str, Any] | None = None,
) -> None:
    """Writes config.json.

    Args:
        folder: exists.
        config: of the model.
        architecture: the class of transformers that the weights are of.
        format_title: for the error.
        special_ids: of <pad>, [CLS], [SEP].
        task_values: what the file says of a fine-tuned model's task.

    Raises:
        InputError: the format cannot express the sharing of parameters.
    """
    values = {key: value for key, value in config.to_dict().items() if key != "parameter_sharing"}
    values |= {key: value for key, value in _WRITTEN.items() if key not in _LEFT_OUT}
    values |= {
        **(task_values or {}),
        "architectures": [architecture],
        "hidden_act": _TO_THEIRS[config.hidden_act],
        "num_hidden_groups": stored_groups(config, format_title),
    }
    values |= dict(zip(("pad_token_id", "bos_token_id", "eos_token_id"), special_ids, strict=True))
    files.write_json(os.path.join(folder, CONFIG_NAME), values, sort_keys=True)


def _find_misspelt(path: str, values: dict[str, Any]) -> None:
    """Refuses a key that resembles one that is not there; every other unknown key is some other model's."""
    missing = [key for key in _SHAPE_KEYS if key not in values]
    for key in values:
        close = difflib.get_close_matches(key, missing, n=1, cutoff=0.85) if key not in _SHAPE_KEYS else []
        if close:
            raise InputError(f"{path}: unknown key {key!r}; did you mean {close[0]!r}, which is not there?")
