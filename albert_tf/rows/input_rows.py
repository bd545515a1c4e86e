"""The rows that predict is asked about: lines of text or JSON, tables, Parquet, CoNLL columns, questions of SQuAD.

A row that cannot be read is still a row, with its number and its fault; only a file that is no such file is refused.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import WORDS, answer_kind
from albert_tf.inputs.finetuning_features import SPAN_HEADS
from albert_tf.rows.input_lines import (
    LineFile,
    check_input,
    open_input,
    read_lines,
)
from albert_tf.rows.line_rows import (
    ID_COLUMNS,
    TABLES,
    InputRow,
    read_table,
    read_texts,
)
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.tasks import conll
from albert_tf.tasks.json_rows import read_objects
from albert_tf.tasks.squad_examples import read_squad
from albert_tf.tasks.squad_tables import is_table

AUTO, TEXT_FORMATS = "auto", ("text", "jsonl", "tsv", "csv", "parquet")
FORMATS = (*TEXT_FORMATS, "conll", "squad")
_BY_ENDING = {
    **{".jsonl": "jsonl", ".tsv": "tsv", ".csv": "csv", ".parquet": "parquet"},
    **{".conll": "conll", ".bio": "conll", ".json": "squad"},
}


@dataclasses.dataclass(frozen=True)
class OpenRows:
    """Rows that are about to be read.

    Attributes:
        rows: every row, in order, those that cannot be answered too.
        columns: the names of all columns, where a header or a schema has them; None where only the rows do.
        types: {column: its Arrow type}, of Parquet.
        share_read: tells how much of the input was read so far, from 0 to 1; None where that is not known.
    """

    rows: Iterator[InputRow]
    columns: tuple[str, ...] | None = None
    types: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    share_read: Callable[[], float] | None = None


def read_rows(
    source: str | BinaryIO | Iterable[str], fields: ExampleFields, task: FinetunedTask, file_format: str = AUTO
) -> Iterator[InputRow]:
    """Yields the rows that open_rows opens; arguments and errors are its own."""
    yield from open_rows(source, fields, task, file_format).rows


def open_rows(
    source: str | BinaryIO | Iterable[str],
    fields: ExampleFields,
    task: FinetunedTask | None,
    file_format: str = AUTO,
    carried: Sequence[str] | None = None,
    name: str = "stdin",
) -> OpenRows:
    """Looks at what there is to ask about, and reads its header where there is one.

    Args:
        source: a path; standard input; or texts of the command line.
        fields: of the model, which decide what a table must have.
        task: what the model was fine-tuned for; None: it takes a text, of TEXT_FORMATS alone.
        file_format: one of FORMATS; AUTO goes by the file's name and takes text where that says nothing.
        carried: names of columns that go along into the results; None: all. Of Parquet no others are read but those
            that the model needs.
        name: what to call a source that is no path in errors.

    Raises:
        InputError: the file cannot be read, is not of the format, or lacks a column.
    """
    if not isinstance(source, str):
        if not hasattr(source, "read"):
            return _open_lines(source, "argument", fields, _lines_format(file_format))
        return _open_lines(read_lines(source, name), f"{name}, line", fields, _lines_format(file_format))
    check_input(source)
    file_format = _format_of(source, task) if file_format == AUTO else file_format
    if task is None and file_format not in TEXT_FORMATS:
        raise InputError(
            f"{source}: {file_format} is not read here; name one of {', '.join(TEXT_FORMATS)} as its format"
        )
    if file_format == "parquet":
        return _open_parquet(source, fields, carried)
    if task is not None and file_format == "conll":
        return OpenRows(_read_conll(source, task))
    if task is not None and file_format == "squad":
        is_nested = task.head in SPAN_HEADS and not is_table(source)
        return OpenRows(_read_squad(source) if is_nested else _read_list(source))
    file = LineFile(source)
    opened = _open_lines(file.lines(), f"{source}, line", fields, file_format)
    return dataclasses.replace(opened, share_read=file.share_read if os.path.isfile(source) else None)


def columns_of(rows: Iterable[InputRow]) -> list[str]:
    """The names of all columns that occur, in the order in which they first do."""
    return list(dict.fromkeys(name for row in rows for name in row.values))


def format_by_name(path: str) -> str:
    """The format that a file's name tells of."""
    return _BY_ENDING.get(os.path.splitext(path)[1].lower(), "text")


def _lines_format(file_format: str) -> str:
    if file_format in ("parquet", "conll", "squad"):
        raise FlagError(f"--input_format={file_format} wants a file; name it by --input_file")
    return "text" if file_format == AUTO else file_format


def _open_lines(lines: Iterable[str], name: str, fields: ExampleFields, file_format: str) -> OpenRows:
    if file_format in TABLES:
        table = read_table(lines, name, fields, file_format)
        header = next(table)
        return OpenRows(table, columns=tuple(column for column in header if column))
    return OpenRows(read_texts(lines, name, fields, file_format))


def _open_parquet(path: str, fields: ExampleFields, carried: Sequence[str] | None) -> OpenRows:
    from albert_tf.rows.parquet_rows import read_values
    from albert_tf.runtime.parquet_files import open_parquet

    with open_parquet(path) as file:
        names = file.schema.names
    missing = fields.missing(names)
    if missing is not None:
        raise InputError(f"{path}: the file has {missing}")
    # The first of these says which example a row is.
    id_column = next((name for name in ID_COLUMNS if name in names), None)
    needed = None if carried is None else {*carried, *fields.columns(names).values(), id_column}
    values = read_values(path, needed)
    file, types = next(values)
    rows = (InputRow(number, f"{path}, row {number}", row) for number, row in enumerate(values, 1))
    return OpenRows(rows, tuple(types), types, lambda: file.row / max(1, file.num_rows))


def _read_conll(path: str, task: FinetunedTask) -> Iterator[InputRow]:
    if answer_kind(task) != "token_classification":
        raise InputError(f"{path}: CoNLL columns are for a model that tags words; this one is of {answer_kind(task)}")
    columns = (_column_number(task, "text_column", 0), _column_number(task, "label_column", -1))
    for number, (sentence, tags) in enumerate(conll.each_sentence(path, *columns, tags_may_lack=True), 1):
        values = {WORDS: list(sentence.words)} | ({"tags": [tag for _, tag in tags]} if tags else {})
        yield InputRow(number, f"{path}, sentence {number}", values)


def _column_number(task: FinetunedTask, name: str, default: int) -> int:
    value = task.options.get(name)
    try:
        return default if value is None else int(value)
    except (TypeError, ValueError):
        raise InputError(f"the model's task has {name}={value!r}; the columns of CoNLL files have numbers") from None


def _read_squad(path: str) -> Iterator[InputRow]:
    for number, example in enumerate(read_squad(path, with_impossible=True, need_answers=False), 1):
        values = {"id": example.qas_id, "question": example.question, "context": example.context}
        yield InputRow(number, f"{path}, question {number}", values)


def _read_list(path: str) -> Iterator[InputRow]:
    """The objects of a .json file: a list, or one a line."""
    for number, row in enumerate(read_objects(path), 1):
        yield InputRow(number, row.where, row.values)


def _format_of(path: str, task: FinetunedTask | None) -> str:
    """The format that a file's name tells of; for a tagging model also what stands in it."""
    file_format = format_by_name(path)
    if (
        task is not None
        and answer_kind(task) == "token_classification"
        and file_format in ("text", "tsv")
        and _holds_tags(path, task)
    ):
        return "conll"
    return file_format


def _holds_tags(path: str, task: FinetunedTask) -> bool:
    """Tells whether the first line with text ends in a tag of the model's, as the files of training do."""
    if files.is_remote(path) or not os.path.isfile(path):
        return False
    column = _column_number(task, "label_column", -1)
    with open_input(path) as file:
        line = next(
            (line for line in read_lines(file, path) if line.strip() and not line.startswith(("#", "-DOC"))), ""
        )
    cells = line.split("\t") if "\t" in line else line.split()
    return len(cells) > 1 and -len(cells) <= column < len(cells) and cells[column].strip() in task.labels
