"""The findings of an experiment as JSON beside its pages: written, and read again with every value checked."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from albert_tf.experiments.claims import Claim, Verdict
from albert_tf.experiments.fields import LARGEST_FIGURE
from albert_tf.experiments.findings import Findings, RowRun
from albert_tf.experiments.table import Cell, Column, Table, TableRow
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

TABLE_JSON, PAGE_JSON = "table.json", "page.json"
_HEAD = ("name", "question", "source", "table")
_TEXTS_OF_RUN = ("folder", "held_out", "commands")
_AGAIN = "run the same run_experiments again, which does nothing twice"
_Read = TypeVar("_Read")


def write_findings(findings: Findings, folder: str) -> None:
    """Writes the two files: the table, which is the same wherever it is made, and the rest."""
    head = {"experiment": findings.name, "question": findings.question, "source": findings.source}
    files.write_json(os.path.join(folder, TABLE_JSON), {**head, **findings.table.to_json()})
    rest = {key: value for key, value in vars(findings).items() if key not in _HEAD}
    runs = [dataclasses.asdict(run) for run in findings.runs]
    files.write_json(os.path.join(folder, PAGE_JSON), {**rest, "runs": runs})


def read_findings(folder: str) -> Findings:
    """Reads what `write_findings` wrote.

    Raises:
        InputError: a file of the two is missing, or is not what was written.
    """
    paths = [os.path.join(folder, name) for name in (TABLE_JSON, PAGE_JSON)]
    missing = next((path for path in paths if not files.exists(path)), None)
    if missing is not None:
        raise InputError(f"{missing} is not there: {_AGAIN}")
    of_table, rest = map(files.read_json, paths)
    table = _made(paths[0], lambda: _table_of(of_table))

    def make() -> Findings:
        if not rest["runs"] or not all(run["row"] for run in rest["runs"]):
            raise ValueError("a row with a name and a run was expected")
        return Findings(
            name=_text(of_table["experiment"]),
            question=_text(of_table["question"]),
            source=_text(of_table["source"]),
            table=table,
            summary=_text(rest["summary"]),
            note_on_errors=_text(rest["note_on_errors"]),
            note=_text(rest["note"]),
            is_trial=bool(rest["is_trial"]),
            asked_alike=[list(map(_text, names)) for names in rest["asked_alike"]],
            failures={name: _text(reason) for name, reason in rest["failures"].items()},
            left_out=list(map(_text, rest["left_out"])),
            changes={name: dict(changes) for name, changes in rest["changes"].items()},
            runs=[
                RowRun(
                    _text(run["row"]),
                    _whole(run["seed"]),
                    *(_text(run[key]) for key in _TEXTS_OF_RUN),
                )
                for run in rest["runs"]
            ],
        )

    return _made(paths[1], make)


def _made(path: str, make: Callable[[], _Read]) -> _Read:
    """The value made of a file's contents; InputError where those are not what is written."""
    try:
        return make()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise InputError(f"{path} is not what run_experiments writes: {_AGAIN}") from None


def _table_of(values: Mapping[str, Any]) -> Table:
    """The table as `Table.to_json` gave it."""
    columns = [Column(*(_text(one[key]) for key in ("key", "title", "kind"))) for one in values["columns"]]
    rows = []
    for row in values["rows"]:
        cells = {key: _cell_of(cell) for key, cell in row["cells"].items()}
        count = None if row["parameters"] is None else _whole(row["parameters"])
        paper, warnings = [_number_or_none(value) for value in row["paper"].values()], list(map(_text, row["warnings"]))
        rows.append(TableRow(_text(row["name"]), count, _whole(row["num_train_steps"]), cells, paper, warnings))
    paper_columns = list(values["rows"][0]["paper"])
    verdicts = [
        Verdict(
            Claim(*(_text(one[key]) for key in ("text", "row", "than", "measure")), _number(one["paper"])),
            _number_or_none(one["difference"]),
            _number_or_none(one["standard_error"]),
            _text(one["verdict"]),
        )
        for one in values["claims"]
    ]
    return Table(columns, rows, paper_columns, verdicts)


def _cell_of(cell: Mapping[str, Any]) -> Cell:
    groups = tuple(tuple(map(_number, group)) for group in cell["groups"])
    return Cell(
        tuple(map(_number, cell["values"])), _number(cell["mean"]), _number_or_none(cell["standard_error"]), groups
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _number(value: Any) -> float:
    """A number that a page can draw; a whole one stays so."""
    if type(value) not in (int, float) or not abs(value) < LARGEST_FIGURE:
        raise ValueError("a number was expected")
    return value


def _number_or_none(value: Any) -> float | None:
    return None if value is None else _number(value)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("a whole number was expected")
    return int(_number(value))
