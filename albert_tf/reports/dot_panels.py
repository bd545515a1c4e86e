"""Panels of dots: a row for each name, its mean, the error to both sides, and the values that the mean is of.

A panel is charts.WIDTH units wide and as high as its rows take; the page's templates draw it as SVG.
"""

import dataclasses
from collections.abc import Sequence

from albert_tf.reports.charts import WIDTH, Tick, scale_of, short_number, ticks

LEFT, RIGHT = 10, WIDTH - 10
_TOP, _ROW, _BELOW = 2, 34, 24
_NAME, _LINE = 13, 24  # of a row: baseline of its name, and where its dot is
_MOST_TICKS = 6


@dataclasses.dataclass(frozen=True)
class Measured:
    """A row of a table's column: its name, the mean, the standard error or None, and the values."""

    name: str
    mean: float
    error: float | None
    values: Sequence[float]


@dataclasses.dataclass(frozen=True)
class PanelRow:
    """A row as it is drawn: its name and number, where they stand, and the places of dot, error's ends and ticks."""

    name: str
    text: str
    name_y: int
    y: int
    dot: str
    error: tuple[str, str] | None
    marks: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Panel:
    """A panel, ready to be drawn: title, height in units, rows, and round numbers of the axis below them."""

    title: str
    height: int
    rows: tuple[PanelRow, ...]
    x_ticks: tuple[Tick, ...]
    bottom: int


def dot_panel(title: str, rows: Sequence[Measured], digits: int) -> Panel:
    """A panel of rows.

    Args:
        title: above it, with the unit.
        rows: at least one.
        digits: of a mean after the point.
    """
    ends = [row.mean + sign * (row.error or 0.0) for row in rows for sign in (-1, 1)]
    all_values = [*ends, *(value for row in rows for value in row.values)]
    scale = scale_of(min(all_values), max(all_values), LEFT, RIGHT)
    drawn = []
    for place, row in enumerate(rows):
        top = _TOP + place * _ROW
        error = None if row.error is None else (scale(row.mean - row.error), scale(row.mean + row.error))
        marks = tuple(map(scale, row.values)) if len(row.values) > 1 else ()
        y = top + _LINE
        drawn.append(PanelRow(row.name, f"{row.mean:.{digits}f}", top + _NAME, y, scale(row.mean), error, marks))
    bottom = _TOP + len(rows) * _ROW
    x_ticks = tuple(Tick(scale(at), short_number(at)) for at in ticks(scale.low, scale.high, _MOST_TICKS))
    return Panel(title, bottom + _BELOW, tuple(drawn), x_ticks, bottom)
