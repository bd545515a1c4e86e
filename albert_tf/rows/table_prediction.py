"""Rows in, rows with answers out: the formats of both sides around a fine-tuned model."""

import contextlib
import dataclasses
import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from absl import logging

from albert_tf.checkpoints.task_fields import OPTIONS, WORDS
from albert_tf.rows.answered_rows import RowAsker
from albert_tf.rows.input_lines import check_input, open_input
from albert_tf.rows.input_rows import (
    AUTO,
    OpenRows,
    columns_of,
    format_by_name,
    open_rows,
)
from albert_tf.rows.prediction_job import (
    Outcome,
    PredictionJob,
    is_read_again,
    run_job,
)
from albert_tf.rows.result_formats import (
    PARQUET,
    WITH_COLUMNS,
    ResultColumns,
    ResultForm,
    choose_format,
    line_form,
)
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.worker_pool import WorkerPool
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.model_identity import depth_scores_of, identify_model
from albert_tf.serving.model_kind import models_of
from albert_tf.serving.worker_model import WorkerModel

_BLOCK = 1 << 20
# A question to which every model has an answer.
_SAMPLES = {WORDS: ["a"], OPTIONS: ["a", "b"]}


@dataclasses.dataclass(frozen=True)
class TablePrediction:
    """Settings of predict, in the words of its flags.

    Attributes:
        source: a path, standard input, or texts of the command line.
        input_format: one of input_rows.FORMATS, or "auto".
        columns: "field=column" for fields whose columns have names of their own.
        output_file: None for standard output.
        output_format: one of result_formats.FORMATS, or "auto".
        output_columns: names of the input's columns that go along; None: all.
        batch_size: rows that are run together.
        num_workers: processes that answer, each with the model; with one none is started.
        num_threads: of each; None: the cores are shared out.
        open_model: opens the model in such a process, given num_threads; can be pickled. None: none is started.
        overwrite: whether an unfinished job that is a different one is thrown away.
    """

    source: str | BinaryIO | Sequence[str]
    input_format: str = "auto"
    columns: Sequence[str] = ()
    output_file: str | None = None
    output_format: str = "auto"
    output_columns: Sequence[str] | None = None
    batch_size: int = 32
    num_workers: int = 1
    num_threads: int | None = None
    open_model: Callable[..., Any] | None = None
    overwrite: bool = False


def predict_rows(predictor: Any, wanted: TablePrediction) -> Outcome:
    """Asks a model about all rows of an input.

    Args:
        predictor: an albert_tf.serving.predictor.Predictor.
        wanted: what is read and written.

    Raises:
        InputError, OSError, RunStopped: see prediction_job.run_job.
    """
    file_format = choose_format(wanted.output_format, wanted.output_file)
    identify = functools.partial(_identify, predictor)
    return answer_table(predictor, wanted, file_format, _form, identify)


def answer_table(
    predictor: Any,
    wanted: TablePrediction,
    file_format: str,
    make_form: Callable[[str, RowAsker, ExampleFields, OpenRows, Sequence[str] | None], ResultForm],
    identify: Callable[[], dict[str, Any]],
    label: str = "predicting",
) -> Outcome:
    """Asks whatever answers as a Predictor does about all rows of an input.

    Args:
        predictor: with the `example_fields`, the `task` and the `answer` of a Predictor.
        wanted: what is read and written.
        file_format: of the results.
        make_form: makes their form of (file_format, asker, fields, opened rows, names of carried columns).
        identify: the identity of the model, with all that decides what it answers with.
        label: what is being done to the rows.

    Raises:
        InputError, OSError, RunStopped: see prediction_job.run_job.
    """
    columns = _parse_columns(wanted.columns)
    fields = predictor.example_fields.with_columns(columns) if columns else predictor.example_fields
    if file_format == PARQUET and wanted.output_file is None:
        raise FlagError("--format=parquet wants a file; name it by --output_file")
    asker = RowAsker(predictor, wanted.output_columns, fields)
    read = functools.partial(open_rows, fields=fields, task=predictor.task, carried=wanted.output_columns)
    with _opened(read, wanted, file_format in WITH_COLUMNS) as opened:
        form = make_form(file_format, asker, fields, opened, wanted.output_columns)
        flags = {
            "input_format": wanted.input_format,
            "columns": columns,
            "format": file_format,
            "output_columns": None if wanted.output_columns is None else sorted(wanted.output_columns),
        }
        job = PredictionJob(
            *(wanted.source, wanted.output_file, wanted.batch_size, identify, flags, wanted.overwrite, label)
        )
        with _workers(predictor, asker, wanted) as pool:
            outcome = run_job(job, asker, opened, form, pool)
    absent = asker.absent_columns(outcome.rows)
    if absent:
        logging.warning("--output_columns: no row has a column %s", ", ".join(map(repr, absent)))
    return outcome


def _workers(predictor: Any, asker: RowAsker, wanted: TablePrediction) -> WorkerPool:
    if wanted.num_workers == 1 or wanted.open_model is None:
        return WorkerPool(1, asker)
    model = WorkerModel(wanted.open_model, predictor.path, wanted.num_threads, wanted.num_workers)
    return WorkerPool(wanted.num_workers, model)


def _parse_columns(columns: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in columns:
        field, equals, column = map(str.strip, entry.partition("="))
        if not (field and equals and column) or field in found:
            raise FlagError(f"--columns: field=column was expected, each field once; received {entry!r}")
        found[field] = column
    return found


@contextlib.contextmanager
def _opened(read: Callable[..., OpenRows], wanted: TablePrediction, with_columns: bool) -> Iterator[OpenRows]:
    """The rows; where the results have columns and the input has no header, it is read once before."""
    source, file_format = wanted.source, wanted.input_format
    with contextlib.ExitStack() as stack:
        if isinstance(source, str):
            check_input(source)
        if isinstance(source, str) and not is_read_again(source):
            read = functools.partial(read, name=source)
            file_format = format_by_name(source) if file_format == AUTO else file_format
            source = stack.enter_context(open_input(source))
        opened = read(source, file_format=file_format)
        if opened.columns is None and with_columns:
            if hasattr(source, "read"):
                copy = stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(source, copy, _BLOCK)
                copy.seek(0)
                source = copy
            columns = tuple(columns_of(read(source, file_format=file_format).rows))
            if hasattr(source, "read"):
                source.seek(0)
            opened = dataclasses.replace(read(source, file_format=file_format), columns=columns)
        if opened.columns is not None:
            _check_carried(wanted.output_columns or (), opened.columns)
        yield opened


def _check_carried(carried: Sequence[str], columns: Sequence[str]) -> None:
    absent = next((name for name in carried if name not in columns), None)
    if absent is not None:
        there = ", ".join(map(repr, columns)) or "nothing"
        raise InputError(f"--output_columns: the input has no column {absent!r}; there is {there}")


def _form(
    file_format: str, asker: RowAsker, fields: ExampleFields, opened: OpenRows, carried: Sequence[str] | None
) -> ResultForm:
    if file_format not in WITH_COLUMNS:
        return line_form(file_format)
    names = [name.rstrip("?") for name in fields.names]
    (answer,) = asker.answer([{name: _SAMPLES.get(name, "a") for name in names}])
    columns = ResultColumns.of(opened.columns or (), answer, carried)
    if file_format != PARQUET:
        return line_form(file_format, columns)
    from albert_tf.rows.parquet_results import ParquetForm

    return ParquetForm(columns, opened.types, answer)


def _identify(predictor: Any) -> dict[str, Any]:
    """The files of the models, and what they answer with: thresholds lie beside the weights."""
    paths = models_of(predictor.path)
    described = identify_model(paths[0]) if len(paths) == 1 else [identify_model(path) for path in paths]
    tasks = [task.to_dict() for task in predictor.tasks]
    depth = predictor.depth.given if predictor.depth is not None else {}
    # A rule that was chosen on a dev split lies beside the weights too.
    chosen = {"depth": depth, "depth_scores": [depth_scores_of(path) for path in paths]} if depth else {}
    return {"files": described, "task": tasks[0] if len(tasks) == 1 else tasks, **chosen}
