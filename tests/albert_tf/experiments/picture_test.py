"""The picture of a table, with names and a question of any characters."""

import logging

import pytest

from albert_tf.experiments.picture import draw_table
from albert_tf.experiments.table import PERCENT, Cell, Column, Table, TableRow

pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    "question",
    ["What do $10 buy (5 % more) & what $20?", "Cost: $5 # $6", r"$\frac{", "\ud800 and \x00", "a " * 300, ""],
)
def test_a_question_is_drawn_whatever_is_in_it(tmp_path, question):
    row = TableRow("$a_1 % $", 1000, 10, {"masked_lm/sop": Cell.of([0.5, 0.6])}, (), [])
    table = Table([Column("masked_lm/sop", "masked $%$ LM", PERCENT)], [row], [], [])
    draw_table(table, str(tmp_path / "table.png"), question)
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")


def test_missing_characters_are_one_line(tmp_path, caplog):
    row = TableRow("\u4e2d\u6587", 1000, 10, {"masked_lm/sop": Cell.of([0.5])}, (), [])
    with caplog.at_level(logging.WARNING):
        draw_table(Table([Column("masked_lm/sop", "LM", PERCENT)], [row], [], []), str(tmp_path / "t.png"), "Which?")
    assert [record.getMessage() for record in caplog.records if "font lacks" in record.getMessage()] != []
