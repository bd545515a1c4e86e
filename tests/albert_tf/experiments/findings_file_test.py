"""Findings of an experiment, written and read again."""

import json
from pathlib import Path

import pytest

from albert_tf.experiments.claims import Claim, judge
from albert_tf.experiments.findings import Findings, RowRun
from albert_tf.experiments.findings_file import PAGE_JSON, TABLE_JSON, read_findings, write_findings
from albert_tf.experiments.table import NUMBER, PERCENT, Cell, Column, Table, TableRow
from albert_tf.runtime.errors import InputError

CLAIM = Claim("a is better than b", "a", "b", "masked_lm", 1.5)
COLUMNS = [Column("masked_lm_accuracy/sop", "masked LM", PERCENT), Column("masked_lm_loss/sop", "nats", NUMBER)]
CELLS = {COLUMNS[0].key: Cell.of_groups([[0.1, 0.2], [0.3, 0.5]]), COLUMNS[1].key: Cell.of([3.0, 4.0])}
ROWS = [TableRow("a", 1_250_000, 10, CELLS, [80, 86.5], []), TableRow("b", None, 20, {}, [None, 1.0], ["row b: stuck"])]
VERDICTS = [judge(CLAIM, (0.5, 0.6), (0.4, 0.45)), judge(CLAIM, None, (0.4,))]
# As JSON has them.
CELL = {"values": [1.0], "mean": 1.0, "standard_error": None, "groups": []}
ROW = {"name": "a", "parameters": 1, "num_train_steps": 1, "cells": {}, "paper": {}, "warnings": []}
FINDINGS = Findings(
    name="which",
    question="Which?",
    source="table 3",
    table=Table(COLUMNS, ROWS, ["F1", "EM"], VERDICTS),
    summary="10 to 20 steps",
    note_on_errors="After ±: ...",
    note="a note",
    is_trial=True,
    asked_alike=[["a"], ["b"]],
    failures={"c": "no room left"},
    left_out=["d"],
    changes={"a": {}, "b": {"config": {"num_hidden_layers": 1}, "embeddings": None}},
    runs=[
        RowRun(
            "a",
            1,
            "../steps/pretraining-1/model",
            "../steps/records-1/records.tfrecord",
            "# pretraining\npython -m albert_tf.run_pretraining",
        )
    ],
)


def test_what_is_written_is_read_again(tmp_path):
    write_findings(FINDINGS, str(tmp_path))
    assert read_findings(str(tmp_path)) == FINDINGS


def test_the_table_alone_is_the_same_wherever_it_is_made(tmp_path):
    write_findings(FINDINGS, str(tmp_path))
    values = json.loads((tmp_path / TABLE_JSON).read_text())
    assert set(values) == {"experiment", "question", "source", "columns", "rows", "claims"}


def test_remarks_tell_what_the_figures_are_not():
    assert [" ".join(remark)[:32] for remark in FINDINGS.remarks()] == [
        *("A trial: all rows had as many st", "Not all rows are asked the same:", "row b: stuck "),
        *("row c failed: no room left", "row d is left out: with these fl"),
    ]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (TABLE_JSON, {"rows": []}),
        (TABLE_JSON, {"columns": None}),
        (TABLE_JSON, {"claims": [{}]}),
        (TABLE_JSON, {"rows": [{"name": "a"}]}),
        (PAGE_JSON, {"runs": [{"row": "a", "seed": "first"}]}),
        (PAGE_JSON, {"runs": []}),
        (PAGE_JSON, {"runs": [{"row": "", "seed": 1, "folder": "a", "held_out": "b", "commands": ""}]}),
        (PAGE_JSON, {"summary": None}),
        (TABLE_JSON, {"rows": [{**ROW, "num_train_steps": 1e3}]}),
        (TABLE_JSON, {"rows": [{**ROW, "paper": {"F1": float("nan"), "EM": 1}}]}),
        (TABLE_JSON, {"rows": [{**ROW, "num_train_steps": 10**400}]}),
        (TABLE_JSON, {"rows": [{**ROW, "cells": {"x": {**CELL, "mean": float("inf")}}}]}),
        (TABLE_JSON, {"rows": [{**ROW, "cells": {"x": {**CELL, "values": [1e308]}}}]}),
        (PAGE_JSON, {"failures": ["c"]}),
        (PAGE_JSON, {"changes": {"a": 3}}),
    ],
)
def test_what_run_experiments_does_not_write_is_one_line(tmp_path, name, change):
    write_findings(FINDINGS, str(tmp_path))
    path = Path(tmp_path, name)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=f"{name} is not what run_experiments writes: run the same") as caught:
        read_findings(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [TABLE_JSON, PAGE_JSON])
def test_one_file_without_the_other_says_what_to_do(tmp_path, name):
    write_findings(FINDINGS, str(tmp_path))
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=f"{name} is not there: run the same run_experiments again"):
        read_findings(str(tmp_path))
