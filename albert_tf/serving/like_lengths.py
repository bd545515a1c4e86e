"""Rows of a portable model's input in batches of like lengths, so that little padding is computed.

Shapes: B batch, N options, S sequence, P predictions.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.serving.outputs import check_finite
from albert_tf.serving.portable_model import INPUT_IDS, INPUT_MASK, P_MASK, SEGMENT_IDS, PortableModel

# One input of the model without padding: by the names of the inputs int [S], [N, S] or [P].
Row = Mapping[str, np.ndarray]
# Positions of a batch at most: more are no faster on a processor, and take more memory.
_POSITIONS = 4096
# Of a batch's longest row, the shortest that is padded to its length: the rest of the time goes into padding.
_NEARLY = 0.9


def run_rows(model: PortableModel, rows: Sequence[Row], pad_id: int) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Yields (number of a row, its outputs by their names), as the batches are done.

    The outputs of a row are those that it has alone, to within rounding; what stands in the padding is left in.

    Args:
        model: an opened export.
        rows: all of them with as many options, if with any.
        pad_id: of the vocabulary.

    Raises:
        InputError: a row that the model does not take, or outputs that are not finite.
    """
    for numbers in _batches(model, rows):
        outputs = model.run(_padded(model, [rows[number] for number in numbers], pad_id))
        check_finite(model.path, outputs)
        for place, number in enumerate(numbers):
            yield number, {name: array[place] for name, array in outputs.items()}


def to_row(feature: Feature, pad_id: int) -> Row:
    """The row of a feature; options are padded to the longest of them."""
    if not isinstance(feature.input_ids, tuple):
        row = {INPUT_IDS: feature.input_ids, SEGMENT_IDS: feature.segment_ids}
        row |= {} if feature.p_mask is None else {P_MASK: feature.p_mask}
        return {INPUT_MASK: np.ones(feature.length, np.int32), **{name: np.array(ids) for name, ids in row.items()}}
    lengths = [[len(ids)] for ids in feature.input_ids]
    return {
        INPUT_IDS: _stacked(feature.input_ids, pad_id, feature.length),
        INPUT_MASK: (np.arange(feature.length) < lengths).astype(np.int32),
        SEGMENT_IDS: _stacked(feature.segment_ids, 0, feature.length),
    }


def _batches(model: PortableModel, rows: Sequence[Row]) -> Iterator[list[int]]:
    """Numbers of rows that are run together, longest first."""
    lengths = [row[INPUT_IDS].shape[-1] for row in rows]
    ordered = sorted(range(len(rows)), key=lambda number: -lengths[number])
    begin = 0
    while begin < len(ordered):
        first = ordered[begin]
        most = max(1, _POSITIONS // max(1, rows[first][INPUT_IDS].size))
        if model.batch_size is not None:
            most = model.batch_size
        elif model.rows_share_a_range:
            most = 1
        shortest = 0 if model.length is not None else _NEARLY * lengths[first]
        batch = [number for number in ordered[begin : begin + most] if lengths[number] >= shortest]
        begin += len(batch)
        yield batch


def _padded(model: PortableModel, rows: Sequence[Row], pad_id: int) -> dict[str, np.ndarray]:
    """The rows as one batch, of the size that the model takes; the last row fills up a batch of a fixed number."""
    if model.batch_size is not None:
        rows = [*rows, *[rows[-1]] * (model.batch_size - len(rows))]
    fillers = {INPUT_IDS: pad_id, P_MASK: 1}
    of_ids = {INPUT_IDS, INPUT_MASK, SEGMENT_IDS, P_MASK}
    return {
        name: _stacked([row[name] for row in rows], fillers.get(name, 0), model.length if name in of_ids else None)
        for name in model.input_names
    }


def _stacked(rows: Sequence[Sequence[int]] | Sequence[np.ndarray], filler: int, length: int | None) -> np.ndarray:
    """int32 [rows, ..., length]: rows padded at the ends of their last axis; None: to the longest of them."""
    arrays = [np.asarray(row) for row in rows]
    length = max(array.shape[-1] for array in arrays) if length is None else length
    stacked = np.full((len(arrays), *arrays[0].shape[:-1], length), filler, np.int32)
    for place, array in enumerate(arrays):
        stacked[place, ..., : array.shape[-1]] = array
    return stacked
