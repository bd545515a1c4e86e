"""config.json of Hugging Face's AlbertConfig and BertConfig from and to ours."""

import os
from collections.abc import Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.conversion.config_keys import refuse_misspelt
from albert_tf.conversion.hugging_face_family import ALBERT, FAMILIES, Family
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
_LEFT_OUT = ("is_decoder", "is_encoder_decoder", "add_cross_attention")
_WRITTEN = {key: value for key, value in _FIXED.items() if key not in _LEFT_OUT} | {"dtype": "float32"}


def find_model_type(path: str) -> str | None:
    """The type of model that a config.json names, or that its keys tell; None where neither does.

    Raises:
        InputError: no JSON object.
    """
    values = files.read_json(path)
    return values.get("model_type", ALBERT.model_type if ALBERT.own_key in values else None)


def read_config(path: str, family: Family) -> AlbertConfig:
    """Reads a config.json.

    Args:
        path: of the file.
        family: of its model.

    Raises:
        InputError: it is of a different model, asks for what our model does not compute, or breaks a rule of
            AlbertConfig.
    """
    values = files.read_json(path)
    model_type = values.get("model_type", family.model_type if family.own_key in values else None)
    if model_type != family.model_type:
        raise InputError(f"{path} {_refusal(model_type, family)}")
    for key, wanted in _FIXED.items():
        if values.get(key, wanted) != wanted:
            raise InputError(f"{path}: {key} is {to_json(values[key])}, this model computes {to_json(wanted)} only")
    for key in _EMPTY:
        if values.get(key):
            raise InputError(f"{path}: has {key}, which this model does not have")
    refuse_misspelt(path, values, family.shape_keys)
    shape = {**family.defaults, **{key: values[key] for key in family.shape_keys if key in values}}
    activation = shape["hidden_act"]
    if not isinstance(activation, str) or activation not in _TO_OURS:
        raise InputError(f"{path}: hidden_act is {to_json(activation)}; known are {', '.join(_TO_OURS)}")
    return family.to_config(shape | {"hidden_act": _TO_OURS[activation]}, path)


def write_config(
    folder: str,
    config: AlbertConfig,
    architecture: str,
    family: Family,
    special_ids: Mapping[str, int],
    task_values: Mapping[str, Any] | None = None,
) -> None:
    """Writes config.json.

    Args:
        folder: exists.
        config: of the model.
        architecture: the class of transformers that the weights are of.
        family: of that class.
        special_ids: of the special pieces that it names: {"pad_token_id": 0}.
        task_values: what the file says of a fine-tuned model's task.

    Raises:
        InputError: the family has no such models.
    """
    values = {
        **family.to_values(config, family.title),
        **_WRITTEN,
        "model_type": family.model_type,
        family.dropout_key: family.default_dropout,
        **(task_values or {}),
        "architectures": [architecture],
        "hidden_act": _TO_THEIRS[config.hidden_act],
        **special_ids,
    }
    files.write_json(os.path.join(folder, CONFIG_NAME), values, sort_keys=True)


def _refusal(model_type: Any, family: Family) -> str:
    """The reason why a config.json is not read as of a family."""
    known = {other.model_type: other.format_name for other in FAMILIES}
    if isinstance(model_type, str) and model_type in known:
        return f"is of a model of type {model_type!r}, which --from={known[model_type]} reads, not {family.format_name}"
    what = "says no `model_type`" if model_type is None else f"is of a model of type {model_type!r}"
    return f"{what}; only {' and '.join(map(repr, known))} models cross over"
