"""Inputs of a model: names, shapes and ranges, checked before anything is computed.

Shapes: B batch, N options, S sequence, E embedding.
"""

import difflib
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.kernels import backend
from albert_tf.records.names import SEQUENCE_IDS, SEQUENCE_STARTS, SEQUENCE_WEIGHTS
from albert_tf.runtime.errors import InputError

INPUT_IDS, INPUTS_EMBEDS = "input_ids", "inputs_embeds"
INPUT_MASK, SEGMENT_IDS, POSITION_IDS = "input_mask", "segment_ids", "position_ids"
_NAMES = (INPUT_IDS, INPUT_MASK, SEGMENT_IDS, POSITION_IDS, SEQUENCE_IDS, INPUTS_EMBEDS)
# Hugging Face's names of what the official code calls otherwise.
ALIASES = {"attention_mask": INPUT_MASK, "token_type_ids": SEGMENT_IDS}
# What else the batches of both datasets hold, and records by their official names: a batch may be given whole.
# A head reads what it needs of them (heads/), a loss the labels.
_OF_BATCHES = (
    *("masked_lm_positions", "masked_lm_ids", "masked_lm_weights", "sentence_order_labels", "next_sentence_labels"),
    *(SEQUENCE_STARTS, SEQUENCE_WEIGHTS),
    *("label", "label_ids", "p_mask", "start_positions", "end_positions", "is_impossible"),
    *("example_weight", "example_weights", "feature_index", "teacher_logits"),
)
# Those of them that heads read, and their axes; "p_mask" has those of the ids.
_OF_HEADS = {"masked_lm_positions": ("B", "P"), "start_positions": ("B",), SEQUENCE_STARTS: ("B", "N")}
_MASKS = {
    INPUT_MASK: "1 for a token and 0 for padding",
    "p_mask": "1 where no answer can be and 0 elsewhere",
}
# Those that TensorFlow looks up without a cast.
_INDEX_DTYPES = ("int32", "int64")


def check_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raises InputError for inputs side by side, as Hugging Face's models take them, in place of one dict."""
    names = [name for name in kwargs if name in (*_NAMES, *ALIASES, *_OF_BATCHES, "labels")]
    if names or args:
        received = f"the argument{'s' * (len(names) > 1)} {', '.join(names)}" if names else f"{1 + len(args)} of them"
        raise InputError(
            "A model takes its inputs in one dict, as in model({'input_ids': ids, 'attention_mask': mask}), and all "
            f"else by name. Received {received}."
        )


def to_arrays(inputs: Any) -> Any:
    """Lists of numbers as arrays: the inputs themselves, or in a dict of them; everything else as it is."""
    if isinstance(inputs, Mapping):
        return {name: _to_array(name, value) for name, value in inputs.items()}
    return _to_array(INPUT_IDS, inputs)


def _to_array(name: str, value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if any(len(getattr(part, "shape", ())) > 1 for part in value):
        raise InputError(f"`{name}` is a {type(value).__name__} of tensors; give a dict of tensors by their names.")
    try:
        array = np.asarray(value)
    except ValueError:
        array = None
    if array is None or array.dtype == object:
        raise InputError(f"`{name}` has rows of unequal lengths; pad them, and give `{INPUT_MASK}`.")
    return array


def read_inputs(inputs: Any, config: AlbertConfig, num_axes: int = 2) -> dict[str, Any]:
    """The inputs by their official names, those left out (or None) filled in, once they are known to fit.

    Args:
        inputs: int [B, S], which is `input_ids`, or a dict as AlbertModel.call takes it; aliases are allowed.
        config: AlbertConfig.
        num_axes: 2, or 3 where all of them are [B, N, S].

    Returns:
        dict: "input_ids" or "inputs_embeds"; "input_mask" and "segment_ids"; "position_ids", if given, of the same
        shape; and what else is in a batch.

    Raises:
        InputError: a name that no input has, an input given twice or by neither name, a wrong dtype or shape, and,
            where values are known, as they are outside of a traced or compiled function, one out of range.
    """
    given = _by_official_name(inputs if isinstance(inputs, Mapping) else {INPUT_IDS: inputs})
    if (INPUT_IDS in given) == (INPUTS_EMBEDS in given):
        both = "both" if INPUT_IDS in given else "neither"
        raise InputError(f"A model is called with either `{INPUT_IDS}` or `{INPUTS_EMBEDS}`. Received {both}.")
    _check_forms(given, config, num_axes)
    _check_values(given, config)
    if INPUT_IDS in given and keras.backend.standardize_dtype(given[INPUT_IDS].dtype) not in _INDEX_DTYPES:
        given[INPUT_IDS] = ops.cast(given[INPUT_IDS], "int32")
    like = given[INPUT_IDS] if INPUT_IDS in given else ops.cast(given[INPUTS_EMBEDS][..., 0], "int32")
    read = {
        **given,
        INPUT_MASK: given[INPUT_MASK] if INPUT_MASK in given else ops.ones_like(like),
        SEGMENT_IDS: given[SEGMENT_IDS] if SEGMENT_IDS in given else ops.zeros_like(like),
    }
    if POSITION_IDS in given:
        read[POSITION_IDS] = ops.cast(given[POSITION_IDS], "int32") + ops.zeros_like(like, dtype="int32")
    return read


def encoder_inputs(read: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that the encoder reads, of those that `read_inputs` returns; one of int [B, S] first."""
    return {name: read[name] for name in _NAMES if name in read}


def _by_official_name(inputs: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in inputs if name not in (*_NAMES, *ALIASES, *_OF_BATCHES)]
    if unknown:
        close = [hit for name in unknown for hit in difflib.get_close_matches(str(name), (*_NAMES, *ALIASES), n=1)]
        aliases = {ours: f"`{ours}` (or `{theirs}`)" for theirs, ours in ALIASES.items()}
        raise InputError(
            f"A model has no input {', '.join(f'`{name}`' for name in unknown)}"
            f"{'; did you mean ' + ', '.join(f'`{name}`' for name in close) + '?' if close else '.'} Its inputs are "
            f"{', '.join(aliases.get(name, f'`{name}`') for name in _NAMES)}, and the columns of a dataset's batches: "
            f"{', '.join(_OF_BATCHES)}."
        )
    given = {name: value for name, value in inputs.items() if value is not None}
    for name, value in given.items():
        if not hasattr(value, "shape"):
            what = "text; a tokenizer makes ids of it" if isinstance(value, str) else f"a {type(value).__name__}"
            raise InputError(f"`{name}` must be an array, a tensor or lists of numbers. Received {what}.")
        if type(value).__name__ in ("RaggedTensor", "SparseTensor"):
            raise InputError(
                f"`{name}` must be dense. Received a {type(value).__name__}; pad its rows, and give `{INPUT_MASK}`."
            )
    for alias, name in ALIASES.items():
        if alias in given and name in given:
            raise InputError(f"`{alias}` is another name of `{name}`; give one of them. Received both.")
    return {ALIASES.get(name, name): value for name, value in given.items()}


def _check_forms(given: dict[str, Any], config: AlbertConfig, num_axes: int) -> None:
    """Raises InputError for a dtype or a shape that an input cannot have."""
    lead = given[INPUT_IDS] if INPUT_IDS in given else given[INPUTS_EMBEDS]
    sizes = tuple(lead.shape)[:num_axes]
    for name in (name for name in (*_NAMES, "p_mask", *_OF_HEADS) if name in given):
        shape, dtype = tuple(given[name].shape), _dtype_of(name, given[name])
        axes: tuple[str, ...] = ("B", "N", "S") if num_axes == 3 else ("B", "S")
        wanted = sizes
        if name == INPUTS_EMBEDS:
            axes, wanted = (*axes, "E"), (*sizes, config.embedding_size)
        elif name in _OF_HEADS:
            axes = _OF_HEADS[name]
            wanted = (sizes[0], None)[: len(axes)]
        is_right = "float" in dtype if name == INPUTS_EMBEDS else "int" in dtype or name in _MASKS
        if not is_right:
            kind = "floats" if name == INPUTS_EMBEDS else "integers"
            raise InputError(f"`{name}` must be {kind}. Received the dtype {dtype}.")
        # Sizes that are not known yet are None; one row of positions serves all.
        fits = len(shape) == len(axes) and all(
            None in (size, want) or size == want or (name == POSITION_IDS and size == 1 and axis != "S")
            for size, want, axis in zip(shape, wanted, axes, strict=True)
        )
        if not fits:
            of = f", E={config.embedding_size}" if name == INPUTS_EMBEDS else ""
            beside = "" if given[name] is lead else f" beside one of shape {_written(lead.shape)}"
            raise InputError(
                f"`{name}` must have the shape [{', '.join(axes)}]{of}. Received the shape {_written(shape)}{beside}."
            )
    if sizes[-1] == 0:
        raise InputError(f"A sequence must have at least one position. Received the shape {_written(lead.shape)}.")


def _dtype_of(name: str, value: Any) -> Any:
    try:
        return keras.backend.standardize_dtype(value.dtype)
    except ValueError:
        raise InputError(f"`{name}` must be numbers. Received the dtype {value.dtype}.") from None


def _written(shape: Any) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _check_values(given: dict[str, Any], config: AlbertConfig) -> None:
    """Raises InputError for a value out of range, where values are known."""
    length = given[INPUT_IDS].shape[-1] if INPUT_IDS in given else given[INPUTS_EMBEDS].shape[-2]
    ends = {
        INPUT_IDS: ("vocab_size=", config.vocab_size),
        SEGMENT_IDS: ("type_vocab_size=", config.type_vocab_size),
        POSITION_IDS: ("max_position_embeddings=", config.max_position_embeddings),
        "masked_lm_positions": ("S=", length),
        "start_positions": ("S=", length),
        SEQUENCE_STARTS: ("S=", length),
        SEQUENCE_IDS: ("S + 1=", None if length is None else length + 1),
        **dict.fromkeys(_MASKS, ("", 2)),
    }
    for name, (rule, end) in ends.items():
        values = backend.known_values(given[name]) if name in given else None
        if values is None or not values.size:
            continue
        if name in _MASKS:
            if not ((values == 0) | (values == 1)).all():
                raise InputError(f"`{name}` must be {_MASKS[name]}. Received {_odd(values)}.")
        elif end is not None and (values.min() < 0 or values.max() >= end):
            worst = values.min() if values.min() < 0 else values.max()
            raise InputError(f"`{name}` must lie in [0, {rule}{end}). Received {worst}.")


def _odd(values: Any) -> Any:
    return values[(values != 0) & (values != 1)].flat[0]
