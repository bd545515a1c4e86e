"""Check that a SavedModel, loaded again, computes what the model computes: both are run on the same inputs."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from albert_tf.exports import encoder_module, signatures
from albert_tf.exports.finetuned_module import FROM_IDS
from albert_tf.exports.layer_outputs import stacked_layers
from albert_tf.exports.settings import FLOAT32, TOLERANCES
from albert_tf.heads.exit_names import EXIT_LOGITS, LAYERS
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.inputs.finetuning_features import P_MASK
from albert_tf.models.early_exit import LOGITS
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.packing import pack_pair

_LENGTHS = (16, 9, 4)
_TEXTS = ("The [MASK] is on the table, and the [MASK] is not.", "One word: [MASK].", "None.")
_FIRST = ("It was late.", "A")
# Logarithms of probabilities below it are those of what was ruled out (heads.span_beam.NEVER).
_IMPOSSIBLE = -1e4
_SECOND = ("So they all went home to sleep.", "B")


def largest_error(
    serving,
    model: AlbertForPretraining,
    tokenizer: Tokenizer,
    max_seq_length: int,
    tolerance: float = TOLERANCES[FLOAT32],
    pooling: Pooling = USUAL_POOLING,
) -> float:
    """Compares every numeric output of a SavedModel with the model and the tokenizer it was made of.

    Args:
        serving: the signatures of the loaded SavedModel.
        model: run eagerly.
        tokenizer: the one that needs no graph.
        max_seq_length: the SavedModel's.
        tolerance: one of TOLERANCES.
        pooling: how it makes one vector of a text.

    Returns:
        the largest absolute difference.

    Raises:
        RuntimeError: a difference beyond the tolerance, taken of the largest value where that is above 1.
    """
    rows = _random_rows(model.config, min(max_seq_length, _LENGTHS[0]))
    texts = [pack_pair(tokenizer.encode_with_masks(text), None, *_limits(tokenizer, max_seq_length)) for text in _TEXTS]
    plain = [pack_pair(tokenizer.encode(text), None, *_limits(tokenizer, max_seq_length)) for text in _TEXTS]
    pairs = [
        pack_pair(tokenizer.encode(first), tokenizer.encode(second), *_limits(tokenizer, max_seq_length))
        for first, second in zip(_FIRST, _SECOND)
    ]
    ids = _inputs(rows)
    positions = tf.constant([[0, 1], [2, 3], [1, 0]])
    calls = [
        (encoder_module.TOKENS, ids, ids, None),
        (signatures.MLM, {**ids, "mlm_positions": positions}, ids, positions),
        (signatures.SOP, ids, ids, None),
        (encoder_module.TOKENS_FROM_TEXT, {"text": tf.constant(_TEXTS)}, _inputs(plain), None),
        (encoder_module.EMBED, ids, ids, None),
        (encoder_module.EMBED_FROM_TEXT, {"text": tf.constant(_TEXTS)}, _inputs(plain), None),
        (signatures.MLM_FROM_TEXT, {"text": tf.constant(_TEXTS)}, _inputs(texts), _mask_positions(texts, tokenizer)),
        (
            signatures.SOP_FROM_TEXT,
            {"first": tf.constant(_FIRST), "second": tf.constant(_SECOND)},
            _inputs(pairs),
            None,
        ),
    ]
    errors = []
    for name, served_inputs, model_inputs, mlm_positions in calls:
        if name in serving:
            expected = eager_outputs(model, model_inputs, mlm_positions)
            expected[encoder_module.EMBEDDING] = pooling.pool(expected)
            errors.append(compare_outputs(name, serving[name](**served_inputs), expected, tolerance))
    if encoder_module.LAYERS in serving:
        errors.append(_error_of_layers(serving[encoder_module.LAYERS](**ids), model, ids, tolerance))
    return max(errors)


def _error_of_layers(served: dict, model: AlbertForPretraining, ids: dict, tolerance: float) -> float:
    """The largest difference of the layers that a SavedModel gave from the model's own."""
    expected = stacked_layers(model.albert(ids, output_attentions=True), served)
    arrays = {name: np.asarray(value) for name, value in expected.items()}
    return compare_outputs(encoder_module.LAYERS, served, arrays, tolerance)


def eager_outputs(model: AlbertForPretraining, inputs: dict, mlm_positions=None) -> dict[str, np.ndarray]:
    """Computes what the signatures should return for these inputs, by the signatures' names.

    Args:
        model: run without dropout.
        inputs: "input_ids", "input_mask", "segment_ids", int32 [B, S].
        mlm_positions: int32 [B, P]; None for none.
    """
    positions = tf.zeros_like(inputs["input_ids"][:, :0]) if mlm_positions is None else mlm_positions
    outputs = model({**inputs, "masked_lm_positions": positions}, training=False)
    log_probs = tf.nn.log_softmax(outputs["sentence_order_logits"])
    expected = {
        **inputs,
        "mlm_positions": positions,
        "mlm_logits": outputs["masked_lm_logits"],
        "sop_log_probs": log_probs,
        "in_order": tf.exp(log_probs[:, 0]),
        "swapped": tf.exp(log_probs[:, 1]),
        # Nothing is computed for padding where a model is served.
        "sequence_output": outputs["sequence_output"] * tf.cast(inputs["input_mask"], tf.float32)[:, :, tf.newaxis],
        "pooled_output": outputs["pooled_output"],
    }
    return {name: np.asarray(value) for name, value in expected.items()}


def largest_finetuned_error(
    serving,
    model,
    max_seq_length: int,
    tolerance: float = TOLERANCES[FLOAT32],
    rule: ExitRule | None = None,
) -> float:
    """The same for a fine-tuned model, whose outputs from ids are compared; arguments as of largest_error.

    With a rule of early exit the logits are compared with those of the exit that was taken.
    """
    wanted = serving[FROM_IDS].structured_input_signature[1]
    rows = _inputs(_random_rows(model.config, min(max_seq_length, _LENGTHS[0])))
    inputs = {
        name: values if spec.shape.rank == 2 else tf.stack([values, values[::-1]], axis=1)
        for name, values in rows.items()
        for spec in [wanted[name]]
    }
    if P_MASK in wanted:
        inputs[P_MASK] = 1 - inputs["input_mask"]
    if rule is not None:
        served = serving[FROM_IDS](**inputs)
        expected = outputs_of_exits(model(inputs, training=False, all_exits=True), rule, served)
        # In a lower precision such exits answer differently; there the tolerance is that of all outputs.
        scale = 1 / sensitivity_of_exits(model) if tolerance <= TOLERANCES[FLOAT32] else 1.0
        served, expected = scale_outputs(served, scale), scale_outputs(expected, scale)
        return compare_outputs(FROM_IDS, served, expected, tolerance) / scale
    # What stands in the padding is different where it was not computed.
    outputs = model(inputs, training=False, skip_padding=True)
    expected = {name: np.asarray(value) for name, value in outputs.items()}
    return compare_outputs(FROM_IDS, serving[FROM_IDS](**inputs), expected, tolerance)


def outputs_of_exits(outputs: Mapping[str, Any], rule: ExitRule, served: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The layers that a rule asks for, and the logits of the exits that were taken.

    Args:
        outputs: of the model, with those of all exits.
        rule: when a text leaves.
        served: what is compared with them; its "layers", int [B], say which exits were taken.
    """
    logits = np.concatenate([outputs[EXIT_LOGITS], np.asarray(outputs[LOGITS])[:, None]], axis=1)
    taken = logits[np.arange(len(logits)), np.asarray(served[LAYERS]) - 1]
    return {LAYERS: rule.layers_of(logits).astype(np.int32), LOGITS: taken}


def sensitivity_of_exits(model: Any) -> float:
    """The factor by which differences of the vectors that exits read grow in their logits.

    Fitted exits read small differences of the first layers' vectors by kernels whose columns are a thousand long; the
    rounding of those vectors grows with them.

    Args:
        model: with exits.

    Returns:
        the length of the longest column, at least 1.
    """
    kernels = [np.asarray(head.kernel) for head in model.exits.heads]
    return max(1.0, *(float(np.linalg.norm(kernel, axis=0).max()) for kernel in kernels))


@contextlib.contextmanager
def explain_exits(rule: ExitRule | None, precision: str) -> Iterator[None]:
    """Says in one line that a lower precision is not for a model's exits, where a comparison finds that."""
    try:
        yield
    except RuntimeError as error:
        if rule is None or precision == FLOAT32:
            raise
        raise InputError(
            f"{error}: its exits read differences that {precision} does not keep. Export it in float32, or without "
            "early exit, or train the exits with the model (run_finetuning --exit_training=joint)"
        ) from None


def scale_outputs(outputs: Mapping[str, Any], scale: float) -> dict[str, np.ndarray]:
    """The outputs times a scale; whole numbers, such as layers, as they are."""
    arrays = {name: np.asarray(value) for name, value in outputs.items()}
    return {name: one if np.issubdtype(one.dtype, np.integer) else one * scale for name, one in arrays.items()}


def compare_outputs(
    what: str, served: Mapping[str, Any], expected: Mapping[str, np.ndarray], tolerance: float
) -> float:
    """The largest absolute difference of the outputs that both have.

    Args:
        what: the signature or the file that was run, for the error.
        served: tensors or arrays by their names.
        expected: those that the model has.
        tolerance: the largest difference allowed, of the largest value of an output where that is above 1.

    Raises:
        RuntimeError: an output differs by more, or in its shape.
    """
    errors = [0.0]
    pairs = {name: (np.asarray(served[name]), expected[name]) for name in sorted(served) if name in expected}
    for name, (value, wanted) in pairs.items():
        if value.shape != wanted.shape:
            raise RuntimeError(f"{what}: {name} has the shape {value.shape}, the model's is {wanted.shape}")
    for name, (value, wanted) in pairs.items():
        if np.issubdtype(wanted.dtype, np.integer) and tolerance > TOLERANCES[FLOAT32]:
            # Places in an order, which rounding may change.
            continue
        # Where nothing can start or end, how far from possible it is does not matter.
        possible = ~((value < _IMPOSSIBLE) & (wanted < _IMPOSSIBLE))
        value, wanted = value[possible], wanted[possible]
        error = float(np.max(np.abs(value - wanted), initial=0.0))
        # Written so that a value that is no number fails.
        if not error <= tolerance * max(1.0, float(np.max(np.abs(wanted), initial=0.0))):
            raise RuntimeError(f"{what}: {name} differs from the model's by up to {error:.3g}")
        errors.append(error)
    return max(errors)


def _limits(tokenizer: Tokenizer, max_seq_length: int) -> tuple[int, int, int]:
    return max_seq_length, tokenizer.cls_id, tokenizer.sep_id


def _random_rows(config, longest: int) -> list[tuple[list[int], list[int]]]:
    """(input_ids, segment_ids) of unequal lengths."""
    rng = np.random.default_rng(0)
    lengths = [min(length, longest) for length in _LENGTHS]
    return [
        (
            rng.integers(config.vocab_size, size=length).tolist(),
            sorted(rng.integers(min(2, config.type_vocab_size), size=length).tolist()),
        )
        for length in lengths
    ]


def _inputs(rows: list[tuple[list[int], list[int]]]) -> dict[str, tf.Tensor]:
    """Rows of (input_ids, segment_ids), padded to the longest."""
    return {
        "input_ids": _padded([ids for ids, _ in rows]),
        "input_mask": _padded([[1] * len(ids) for ids, _ in rows]),
        "segment_ids": _padded([segments for _, segments in rows]),
    }


def _mask_positions(rows: list[tuple[list[int], list[int]]], tokenizer: Tokenizer) -> tf.Tensor:
    return _padded([[at for at, piece_id in enumerate(ids) if piece_id == tokenizer.mask_id] for ids, _ in rows])


def _padded(rows: list[list[int]]) -> tf.Tensor:
    return tf.ragged.constant(rows, dtype=tf.int32).to_tensor(0)
