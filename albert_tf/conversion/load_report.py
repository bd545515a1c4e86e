"""An account of every weight and every stored tensor when a checkpoint was loaded."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from albert_tf.checkpoints.finetuned_task import FINETUNING_HEADS
from albert_tf.conversion.rows import ConstantRow, Row
from albert_tf.models.named_weights import find_nonfinite
from albert_tf.runtime.errors import InputError

# Without these there is no encoder; everything else is a head that can be trained afresh.
_ENCODER = ("albert/embeddings/", "albert/encoder/")
# Heads that a model may do without, by the first parts of their weights' names.
_HEADS = {
    "a pre-training head": ("masked_lm/", "sentence_order/"),
    "the pooler, which this model's head does not read": ("albert/pooler/",),
    "a fine-tuning head": FINETUNING_HEADS,
}
_NAMES_SHOWN = 3


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """The account of one load; str() gives it as lines.

    Attributes:
        source: the checkpoint.
        format: what it is, in words.
        matched: our name -> the name it was stored under.
        missing: weights of ours that the checkpoint lacks.
        unexpected: stored tensors that the model has no place for.
        mismatched: shapes and values that do not fit, a phrase for each.
        converted: stored tensors of a type other than float32 -> that type.
        skipped: why -> stored tensors that are no weights of this model, and are known not to be.
        parameters: numbers in the matched weights.
        nonfinite: matched weights that hold NaN or infinity, with how many.
    """

    source: str
    format: str
    matched: dict[str, str]
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    mismatched: tuple[str, ...] = ()
    converted: dict[str, str] = dataclasses.field(default_factory=dict)
    skipped: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    parameters: int = 0
    nonfinite: tuple[str, ...] = ()

    def check(
        self, allow_missing_heads: bool = False, fresh: tuple[str, ...] = (), allow_nonfinite: bool = False
    ) -> None:
        """Raises InputError, one line with everything at fault, unless the model got what it needs.

        Args:
            allow_missing_heads: whether weights above the encoder (pooler, heads) may be missing.
            fresh: first parts of the names of weights that may be missing in any case.
            allow_nonfinite: whether weights may hold NaN or infinity.
        """
        encoder = [name for name in self.missing if name.startswith(_ENCODER)]
        heads = [name for name in self.missing if name not in encoder and not name.startswith(fresh)]
        faults = [_shorten("missing", encoder)] if encoder else []
        if heads and not allow_missing_heads:
            advice = "" if encoder else " (--allow_missing_heads starts them afresh)"
            faults.append(_shorten("missing", heads) + advice)
        if self.unexpected:
            faults.append(_shorten("unexpected", self.unexpected))
        if self.mismatched:
            faults.append(_shorten("", self.mismatched))
        if faults:
            raise InputError(f"{self.source} ({self.format}) does not fit the model: {'; '.join(faults)}")
        if self.nonfinite and not allow_nonfinite:
            raise InputError(
                f"{self.source} ({self.format}) holds NaN or infinite values: {_shorten('', self.nonfinite)}; take a "
                "checkpoint from before (convert_checkpoint carries such weights over with --allow_nonfinite)"
            )

    def __str__(self) -> str:
        count = len(self.matched) + len(self.missing)
        lines = [
            f"{len(self.matched)} of {count} weights, {self.parameters:,} parameters, from {self.format} {self.source}"
        ]
        if self.missing:
            lines.append("  " + _shorten("missing, started afresh:", self.missing))
        if self.nonfinite:
            lines.append("  " + _shorten("NaN or infinite values in", self.nonfinite))
        lines += [f"  {_shorten('left out,', names)}: {reason}" for reason, names in self.skipped.items()]
        for dtype in sorted(set(self.converted.values())):
            names = [name for name, its in self.converted.items() if its == dtype]
            lines.append(f"  converted to float32 from {dtype}: {len(names)} tensors")
        return "\n".join(lines)


def match(
    rows: Iterable[Row | ConstantRow],
    arrays: Mapping[str, np.ndarray],
    shapes: Mapping[str, Sequence[int]],
    source: str,
    format: str,
    skipped: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[dict[str, np.ndarray], LoadReport]:
    """Finds the values of a model's weights among stored tensors.

    Args:
        rows: of the format's table, for this model.
        arrays: the stored tensors by their names there.
        shapes: of the model's weights, by our names.
        source: the checkpoint.
        format: what it is, in words.
        skipped: what was not even read: why -> names.

    Returns:
        float32 values by our names, those that were found and fit; and the report.
    """
    values: dict[str, np.ndarray] = {}
    matched, mismatched, converted = {}, [], {}
    used: set[str] = set()
    unread: dict[str, tuple[str, ...]] = {}
    for row in rows:
        names = [name for name in (row.theirs, *getattr(row, "aliases", ())) if name in arrays]
        if not isinstance(row, ConstantRow) and row.ours not in shapes:
            reason = next((reason for reason, parts in _HEADS.items() if row.ours.startswith(parts)), None)
            if names and reason is not None:
                used.update(names)
                unread[reason] = (*unread.get(reason, ()), *names)
            continue
        used.update(names)
        for name in names:
            if arrays[name].dtype != np.float32:
                converted[name] = str(arrays[name].dtype)
        if isinstance(row, ConstantRow):
            mismatched += _compare_constant(row, arrays)
        elif names:
            faults = _compare_tensors(row, [arrays[name] for name in names], names, shapes[row.ours])
            mismatched += faults
            matched[row.ours] = names[0]
            if not faults:
                values[row.ours] = row.to_ours(_to_float32(arrays[names[0]]))
    report = LoadReport(
        source=source,
        format=format,
        matched=matched,
        missing=tuple(name for name in shapes if name not in matched),
        unexpected=tuple(name for name in arrays if name not in used),
        mismatched=tuple(mismatched),
        converted=converted,
        skipped={**(skipped or {}), **unread},
        parameters=sum(value.size for value in values.values()),
        nonfinite=tuple(find_nonfinite(values)),
    )
    return values, report


def _to_float32(array: np.ndarray) -> np.ndarray:
    """The numbers in float32; those beyond it are infinite there, which is reported as such."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def _compare_tensors(row: Row, tensors, names: list[str], shape: Sequence[int]) -> list[str]:
    """Faults of the tensors stored for one weight."""
    wanted = row.shape_there(shape)
    faults = [
        f"{name} is {list(tensor.shape)}, the model needs {list(wanted)}"
        for name, tensor in zip(names, tensors, strict=True)
        if tuple(tensor.shape) != wanted
    ]
    if not faults:
        faults += [
            f"{name} differs from {names[0]}, and must be the same"
            for name, tensor in zip(names[1:], tensors[1:], strict=True)
            if not np.array_equal(tensor, tensors[0], equal_nan=True)
        ]
    if not faults and not np.issubdtype(tensors[0].dtype, np.floating) and tensors[0].dtype.name != "bfloat16":
        faults.append(f"{names[0]} is {tensors[0].dtype}, not floating-point numbers")
    return faults


def _compare_constant(row: ConstantRow, arrays: Mapping[str, np.ndarray]) -> list[str]:
    if row.theirs not in arrays or np.array_equal(arrays[row.theirs], row.value):
        return []
    return [f"{row.theirs} is not {row.meaning}; a model with embedding_size = hidden_size has no projection here"]


def _shorten(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{what} {', '.join(names[:_NAMES_SHOWN])}{more}".strip()
