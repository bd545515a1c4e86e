"""Requests run together, and taken apart again: only where each gets the answer that it would get alone.

The rows of all requests stand one under the other. Another axis may be padded where the signature ignores the padding;
else it must be equal. Of the outputs every request gets its rows, without the padding that others brought.

Shapes: B rows, S pieces, P masks, W words, N entities.
"""

import dataclasses
import math
import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.exports.settings import LAYER_OUTPUTS
from albert_tf.server.served_model import BATCH, ServedModel, Signature
from albert_tf.tokenization.special_pieces import MASK

_IDS = {"input_ids": "S", "input_mask": "S", "segment_ids": "S"}
_INPUT_MASK = "input_mask"
# The names of signatures as serving/ has them, which this room need not import TensorFlow for.
TOKENS, SOP, MLM, TAG, TAG_TEXT = "tokens", "sop", "mlm", "tag", "tag_text"
FIND_ENTITIES = "find_entities"
TOKENS_FROM_TEXT, SOP_FROM_TEXT, MLM_FROM_TEXT = "tokens_from_text", "sop_from_text", "mlm_from_text"
EMBED, EMBED_FROM_TEXT = "embed", "embed_from_text"
FILL_MASK, _TOP_K = "fill_mask", "top_k"
_POSITIONS = ("mlm_positions", "masked_lm_positions")
# Scores of pieces at masked positions that are computed at a time: 256 MB. And candidates, which are texts.
MOST_LOGITS, MOST_CANDIDATES = 2**26, 2**20
# Numbers of all layers of an encoder that are computed at a time: 64 MB, and as many as a response holds.
MOST_LAYER_VALUES = 2**24


def _row_sums(weights: np.ndarray) -> int:
    return int(weights.sum(axis=1).max(initial=0))


def _most(counts: np.ndarray) -> int:
    return int(counts.max(initial=0))


def _words(words: np.ndarray) -> int:
    return int((words != b"").sum(axis=1).max(initial=0))


@dataclasses.dataclass(frozen=True)
class Rule:
    """Rule of a signature for its second axes.

    Attributes:
        padded: {input: axis} of inputs that may be padded.
        trimmed: {output: axis} of outputs that end with a request's own part of that axis.
        measured: {axis: (output, function of its rows)} of axes that only the outputs show the size of.
    """

    padded: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trimmed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    measured: Mapping[str, tuple[str, Callable[[np.ndarray], int]]] = dataclasses.field(default_factory=dict)


_EQUAL = Rule()
_BY_MASK = {"S": (_INPUT_MASK, _row_sums)}
_FROM_TEXT = {**_IDS, "sequence_output": "S"}
# Of all other signatures the axes must be equal: more options change probabilities, a longer sequence widens a beam.
_RULES = {
    TOKENS: Rule(padded=_IDS, trimmed={"sequence_output": "S"}),
    EMBED: Rule(padded=_IDS),
    SOP: Rule(padded=_IDS, trimmed={"sequence_output": "S"}),
    MLM: Rule(padded={**_IDS, "mlm_positions": "P"}, trimmed={"sequence_output": "S", "mlm_logits": "P"}),
    TOKENS_FROM_TEXT: Rule(trimmed=_FROM_TEXT, measured=_BY_MASK),
    SOP_FROM_TEXT: Rule(trimmed=_FROM_TEXT, measured=_BY_MASK),
    MLM_FROM_TEXT: Rule(
        trimmed={**_FROM_TEXT, "mlm_positions": "P", "mlm_weights": "P", "mlm_logits": "P"},
        measured={**_BY_MASK, "P": ("mlm_weights", _row_sums)},
    ),
    FILL_MASK: Rule(
        trimmed={"pieces": "P", "piece_ids": "P", "probabilities": "P"}, measured={"P": ("mask_count", _most)}
    ),
    TAG: Rule(padded={"words": "W"}, trimmed={"tags": "W"}),
    TAG_TEXT: Rule(trimmed={"words": "W", "tags": "W"}, measured={"W": ("words", _words)}),
    FIND_ENTITIES: Rule(
        trimmed=dict.fromkeys(("entities", "labels", "starts", "ends", "scores"), "N"),
        measured={"N": ("labels", _words)},
    ),
}


@dataclasses.dataclass(frozen=True)
class Rows:
    """A request's inputs, with what decides whether they run together with others.

    Attributes:
        signature: its name; of two that do the same, the same one.
        inputs: an array for each.
        count: B; 0 for a signature without rows too.
        sequences: rows of the encoder's input, at least: B, or B * N of N options.
        masks: the most masked positions of a row, or more, of a signature that scores every piece at each.
        key: equal for requests that can run together; None for one that runs alone.
        layer_values: numbers that all layers of the encoder give, of a signature that has them as outputs.
    """

    signature: str
    inputs: Mapping[str, np.ndarray]
    count: int
    sequences: int
    masks: int
    key: Hashable | None
    layer_values: int = 0


def make_rows(model: ServedModel, name: str, inputs: Mapping[str, np.ndarray]) -> Rows:
    """The rows of a request.

    Args:
        model: that is asked.
        name: of its signature.
        inputs: as they were read.
    """
    signature = model.signatures[name]
    name = signature.same_as or name
    arrays = [array for array in inputs.values() if array.ndim]
    count = len(arrays[0]) if arrays else 0
    sequences = max((_sequences(form.name, inputs[form.name]) for form in signature.inputs.values()), default=0)
    takes_any_number = all(isinstance(form.axes[0], str) for form in signature.inputs.values() if form.axes)
    key = (name, *_fixed_sizes(name, inputs)) if count and takes_any_number and not model.runs_alone else None
    values = _count_layer_values(signature, inputs, count)
    return Rows(name, inputs, count, sequences, _count_masks(name, inputs), key, values)


def explain_size(parts: Sequence[Rows], vocab_size: int) -> str | None:
    """Says why requests would take too much memory together, or one alone; None where they would not."""
    positions = sum(part.count for part in parts) * max(part.masks for part in parts)
    if positions * vocab_size > MOST_LOGITS:
        return f"{positions:,} masks at once; at most {MOST_LOGITS // vocab_size:,} of this vocabulary can be scored"
    asked = int(parts[0].inputs[_TOP_K]) if _TOP_K in parts[0].inputs else 0
    candidates = positions * min(asked, vocab_size)
    if candidates > MOST_CANDIDATES:
        return f"{candidates:,} candidates at once (masks times {_TOP_K}); at most {MOST_CANDIDATES:,} can be given"
    values = sum(part.layer_values for part in parts)
    if values > MOST_LAYER_VALUES:
        return f"{values:,} numbers of all layers at once; at most {MOST_LAYER_VALUES:,} can be given"
    return None


def join(parts: Sequence[Rows]) -> dict[str, np.ndarray]:
    """The inputs of requests with equal keys, one under the other."""
    if len(parts) == 1:
        return dict(parts[0].inputs)
    rule = _RULES.get(parts[0].signature, _EQUAL)
    joined = {}
    for name, first in parts[0].inputs.items():
        arrays = [part.inputs[name] for part in parts]
        if not first.ndim:
            joined[name] = first
            continue
        if name in rule.padded:
            arrays = _pad(arrays)
        joined[name] = np.concatenate(arrays)
    return joined


def take_apart(parts: Sequence[Rows], outputs: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """The outputs of each request, of those of all."""
    if len(parts) == 1:
        return [dict(outputs)]
    rule = _RULES.get(parts[0].signature, _EQUAL)
    found, start = [], 0
    for part in parts:
        own = {name: array[start : start + part.count] for name, array in outputs.items()}
        start += part.count
        sizes = {axis: part.inputs[name].shape[1] for name, axis in rule.padded.items()}
        sizes |= {axis: measure(own[name]) for axis, (name, measure) in rule.measured.items()}
        found.append({name: _trim(array, sizes.get(rule.trimmed.get(name, ""))) for name, array in own.items()})
    return found


def _trim(array: np.ndarray, size: int | None) -> np.ndarray:
    return array if size is None else array[:, :size]


def _pad(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    longest = max(array.shape[1] for array in arrays)
    filler: Any = b"" if arrays[0].dtype == object else 0
    widths = [((0, 0), (0, longest - array.shape[1])) for array in arrays]
    return [np.pad(array, width, constant_values=filler) for array, width in zip(arrays, widths)]


def _fixed_sizes(name: str, inputs: Mapping[str, np.ndarray]) -> list[Hashable]:
    """Sizes and values that requests must have in common to run together."""
    padded = _RULES.get(name, _EQUAL).padded
    mask = inputs.get(_INPUT_MASK)
    # Where nothing is masked in, or by odd numbers, padding would be seen.
    if mask is not None and not (np.isin(mask, (0, 1)).all() and mask.any(axis=1).all()):
        padded = {}
    return [
        (input_name, array.item() if not array.ndim else array.shape[2 if input_name in padded else 1 :])
        for input_name, array in inputs.items()
    ]


def _sequences(name: str, array: np.ndarray) -> int:
    is_choice = name == "options" or array.ndim == 3
    return int(array.shape[0] * (array.shape[1] if is_choice else 1)) if array.ndim else 0


def _count_masks(name: str, inputs: Mapping[str, np.ndarray]) -> int:
    """The most masked positions of a row; of texts no fewer, however oddly their masks are spelt."""
    for positions in (inputs[input_name] for input_name in _POSITIONS if input_name in inputs):
        return int(positions.shape[1])
    if name not in (MLM_FROM_TEXT, FILL_MASK):
        return 0
    texts = [unicodedata.normalize("NFKD", text.decode()) for text in inputs["text"]]
    return max((text.count(MASK[-1]) for text in texts), default=0)


def _count_layer_values(signature: Signature, inputs: Mapping[str, np.ndarray], count: int) -> int:
    """The numbers in the outputs that are of all layers, whose free axes after the batch are S."""
    ids = inputs.get("input_ids")
    if ids is None:
        return 0

    def size(axis: Any) -> int:
        return count if axis == BATCH else int(ids.shape[-1]) if isinstance(axis, str) else axis

    forms = [signature.outputs[name] for name in LAYER_OUTPUTS if name in signature.outputs]
    return sum(math.prod(map(size, form.axes)) for form in forms)
