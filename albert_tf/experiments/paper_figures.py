"""Figures of the paper that stand beside an experiment's own."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from albert_tf.experiments.claims import Claim, read_claims
from albert_tf.experiments.fields import LARGEST_FIGURE, as_object, as_text, check_keys, is_figure
from albert_tf.runtime.errors import InputError

_KEYS = ("columns", "rows", "note", "claims")


@dataclasses.dataclass(frozen=True)
class PaperFigures:
    """Figures of the paper: the columns' names, values by row, None where it has none, and what it says of rows."""

    columns: tuple[str, ...] = ()
    rows: Mapping[str, tuple[float | None, ...]] = dataclasses.field(default_factory=dict)
    note: str = ""
    claims: tuple[Claim, ...] = ()


def read_figures(values: Any, rows: Mapping[str, Any], where: str) -> PaperFigures:
    """The figures of an experiment's file, checked.

    Args:
        values: as the file has them.
        rows: of the grid, by name.
        where: the file and the key, for errors.

    Raises:
        InputError: one line that names the file and the key.
    """
    values = as_object(values, where)
    check_keys(values, _KEYS, where)
    columns = values.get("columns", [])
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise InputError(f"{where}: columns: a list of names was expected. Received {columns!r}.")
    if len(set(columns)) < len(columns):
        raise InputError(f"{where}: columns: each name may stand once. Received {columns!r}.")
    figures = as_object(values.get("rows", {}), f"{where}: rows")
    for name, row in figures.items():
        if name not in rows:
            raise InputError(f"{where}: rows: the grid has no row {name!r}")
        if not isinstance(row, list) or len(row) != len(columns) or not all(map(is_figure, row)):
            raise InputError(
                f"{where}: row {name}: a number or null for each of {len(columns)} columns was expected, "
                f"numbers below {LARGEST_FIGURE:g}"
            )
    note = as_text(values.get("note", ""), f"{where}: note")
    claims = read_claims(values.get("claims", []), columns, figures, f"{where}: claims")
    return PaperFigures(tuple(columns), {name: tuple(row) for name, row in figures.items()}, note, claims)
