"""The picture of an experiment: a panel for each column, a point with its error for each row."""

import math
import textwrap
from typing import Any

from albert_tf.analysis.pyplot import drawable, import_pyplot, save_figure
from albert_tf.experiments.table import PERCENT, Column, Table

_PANEL_WIDTH, _ROW_HEIGHT, _REST = 3.2, 0.42, 1.4  # inches
_LABEL_WIDTH = 0.09  # inches a character
_MOST_IN_A_LINE = 4
_TITLE_CHARACTERS = 10  # an inch


def draw_table(table: Table, output_file: str, title: str) -> None:
    """Draws the table and writes a PNG.

    Args:
        table: with at least one row and one column that has a figure.
        output_file: appears whole or not at all.
        title: above it.

    Raises:
        InputError: matplotlib is not installed.
    """
    pyplot = import_pyplot()
    columns = [column for column in table.columns if any(column.key in row.cells for row in table.rows)]
    lines = math.ceil(len(columns) / _MOST_IN_A_LINE)
    across = math.ceil(len(columns) / lines)
    labels = _LABEL_WIDTH * max(len(row.name) for row in table.rows)
    size = (labels + _PANEL_WIDTH * across, lines * (_REST + _ROW_HEIGHT * len(table.rows)))
    figure, axes = pyplot.subplots(lines, across, figsize=size, sharey=True, squeeze=False)
    figure.set_layout_engine("constrained")
    try:
        for axis, column in zip(axes.flat, columns):
            _draw_column(axis, table, column)
        for axis in axes.flat[len(columns) :]:
            axis.set_visible(False)
        axes[0, 0].invert_yaxis()
        # matplotlib, wrapping by itself, takes what stands between two "$" for mathematics.
        lines_of_title = textwrap.wrap(drawable(title), int(_TITLE_CHARACTERS * size[0]))
        figure.suptitle("\n".join(lines_of_title), parse_math=False)
        save_figure(figure, output_file)
    finally:
        pyplot.close(figure)


def _draw_column(axis: Any, table: Table, column: Column) -> None:
    """A point for each row that has a figure, with a bar of a standard error to both sides, and its number."""
    scale = 100 if column.kind == PERCENT else 1
    for place, row in enumerate(table.rows):
        cell = row.cells.get(column.key)
        if cell is None:
            continue
        error = 0.0 if cell.standard_error is None else scale * cell.standard_error
        mean = scale * cell.mean
        axis.errorbar(mean, place, xerr=error, fmt="o", color="C0", capsize=3, markersize=6)
        if len(cell.values) > 1:
            values = [scale * value for value in cell.values]
            axis.plot(values, [place] * len(values), "|", color="C1", markersize=9)
        text = f"{mean:.1f}" if column.kind == PERCENT else f"{mean:.3f}"
        axis.annotate(text, (mean, place), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8)
    axis.set_yticks(range(len(table.rows)), [drawable(row.name) for row in table.rows])
    axis.set_ylim(-0.7, len(table.rows) - 0.4)
    for label in axis.get_yticklabels():
        label.set_parse_math(False)
    axis.set_title(drawable(column.title) + (", %" if column.kind == PERCENT else ""), fontsize=10, parse_math=False)
    axis.margins(x=0.2)
    axis.grid(axis="x", alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
