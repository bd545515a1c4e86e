"""Check that a portable model computes what the model computes: both are run on the same inputs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.exports.verification import compare_outputs, outputs_of_exits, scale_outputs
from albert_tf.heads.exits import ExitRule
from albert_tf.portable.interface import EMBEDDING, Interface

# Sequences and pieces of the batches that are run where these are free, and the axes of all that is free besides.
_BATCHES = ((3, 16), (1, 5), (2, 40))
# The same with texts enough that some leave before others.
_BATCHES_OF_EXITS = (*_BATCHES, (24, 12))
_FREE = {"options": 3, "predictions": 2}

Run = Callable[[Mapping[str, np.ndarray]], Mapping[str, Any]]


def largest_error(
    run: Run,
    expected: Run,
    interface: Interface,
    config: AlbertConfig,
    tolerance: float,
    rule: ExitRule | None = None,
    sensitivity: float = 1.0,
) -> float:
    """Compares every output of a portable model with the model's own, on random ids with padding.

    Args:
        run: a function of the inputs by their names that returns the outputs.
        expected: the same of the model that it was made of.
        interface: its inputs and outputs.
        config: of the model.
        tolerance: one of portable.settings.TOLERANCES.
        rule: by which texts leave; then `expected` returns the outputs of all exits, and the logits are compared with
            those of the exit that was taken.
        sensitivity: of the exits, as sensitivity_of_exits has it.

    Returns:
        the largest absolute difference.

    Raises:
        RuntimeError: a difference beyond the tolerance, taken of the largest value where that is above 1; or an
            output that is missing.
    """
    errors = []
    for inputs in sample_inputs(interface, config, _BATCHES if rule is None else _BATCHES_OF_EXITS):
        found = run(inputs)
        wanted = {name: np.asarray(value) for name, value in expected(inputs).items()}
        if rule is not None:
            wanted = outputs_of_exits(wanted, rule, found)
        missing = [form.name for form in interface.outputs if form.name not in found or form.name not in wanted]
        if missing:
            raise RuntimeError(f"{interface.head}: no output {', '.join(missing)}")
        scale = _scale_of(interface, config) / sensitivity
        if scale != 1.0:
            found, wanted = (scale_outputs(values, scale) for values in (found, wanted))
        errors.append(compare_outputs(interface.head, found, wanted, tolerance) / scale)
    return max(errors)


def _scale_of(interface: Interface, config: AlbertConfig) -> float:
    """A factor that brings numbers near to 1: those of a vector of length 1 are far smaller, so that any would pass."""
    is_normalized = interface.head == EMBEDDING and interface.pooling.normalize
    return float(np.sqrt(config.hidden_size)) if is_normalized else 1.0


def sample_inputs(
    interface: Interface, config: AlbertConfig, sizes_of_batches: Sequence[tuple[int, int]] = _BATCHES
) -> list[dict[str, np.ndarray]]:
    """Batches of random ids, int32: the later half of the last sequence is padding.

    Args:
        interface: the inputs.
        config: of the model.
        sizes_of_batches: sequences and pieces of each, where these are free.
    """
    rng = np.random.default_rng(0)
    longest = config.max_position_embeddings
    batches = []
    for rows, pieces in sizes_of_batches:
        sizes = {"batch": rows, "length": min(pieces, longest), **_FREE}
        shapes = {
            form.name: tuple(sizes[axis] if isinstance(axis, str) else axis for axis in form.axes)
            for form in interface.inputs
        }
        shape = shapes["input_ids"]
        mask = np.ones(shape, "int32")
        mask[-1, ..., (shape[-1] + 1) // 2 :] = 0
        ends = {
            "input_ids": config.vocab_size,
            "segment_ids": min(2, config.type_vocab_size),
            "masked_lm_positions": shape[-1],
        }
        drawn = {
            name: rng.integers(end, size=shapes[name], dtype="int32") for name, end in ends.items() if name in shapes
        }
        known = {"input_mask": mask, "p_mask": 1 - mask}
        batches.append({name: drawn[name] if name in drawn else known[name] for name in shapes})
    distinct = {tuple(batch["input_ids"].shape): batch for batch in batches}
    return list(distinct.values())
