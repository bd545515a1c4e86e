"""The flags of the commands that put rows through a model: what is read and written, how many rows run together."""

import sys
from collections.abc import Sequence
from typing import BinaryIO

from absl import flags

from albert_tf.exports.export_file import gains_by_frozen_weights
from albert_tf.runtime import output_paths
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.flag_help import begin_group
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.serving.model_kind import PORTABLE, kind_of, models_of
from albert_tf.serving.threads import check_threads, usual_threads

# Of a text in a row; a command may have more.
TEXT_FORMATS = ("auto", "text", "jsonl", "tsv", "csv", "parquet")
VECTOR_TYPES = ("float32", "float16", "int8")


def define_input_flags(
    flag_values: flags.FlagValues, rows: str, columns: str, formats: Sequence[str] = TEXT_FORMATS
) -> None:
    """Declares --input_file, --input_format, --columns and --batch_size.

    Args:
        flag_values: where to declare them.
        rows: what the rows are, at the beginning of a sentence.
        columns: the help of --columns.
        formats: what --input_format allows.
    """
    fv = {"flag_values": flag_values}
    begin_group("Input", flag_values)
    flags.DEFINE_string("input_file", None, f"{rows}; left out: the texts given, else standard input.", **fv)
    flags.DEFINE_enum("input_format", "auto", formats, "How the input is read; auto: by its name, else as text.", **fv)
    flags.DEFINE_list("columns", [], columns, **fv)
    flags.DEFINE_integer("batch_size", 32, f"{rows} that are run together.", **fv)


def define_workers(flag_values: flags.FlagValues) -> None:
    """Declares --num_workers."""
    help_text = "Processes that answer the rows of a file, each with the model."
    flags.DEFINE_integer("num_workers", 1, help_text, flag_values=flag_values)


def define_output_flags(flag_values: flags.FlagValues, results: str, formats: Sequence[str], help_text: str) -> None:
    """Declares --output_file, --format and --overwrite.

    Args:
        flag_values: where to declare them.
        results: what is written, in the middle of a sentence.
        formats: what --format allows.
        help_text: of --format.
    """
    fv = {"flag_values": flag_values}
    begin_group("Output", flag_values)
    flags.DEFINE_string("output_file", None, f"Where the {results} go; left out: standard output.", **fv)
    flags.DEFINE_enum("format", "auto", formats, help_text, **fv)
    output_paths.define_overwrite(flag_values)


def define_carried_columns(flag_values: flags.FlagValues) -> None:
    """Declares --output_columns."""
    flags.DEFINE_list(
        "output_columns",
        None,
        "Columns of the input that go along; left out: all; empty: none.",
        flag_values=flag_values,
    )


def check_rows(given: flags.FlagValues, texts: Sequence[str], counts: Sequence[str] = ("batch_size",)) -> None:
    """Raises InputError for flags that do not go together, before anything heavy is imported.

    Args:
        given: the flags, parsed.
        texts: of the command line.
        counts: names of flags that must be at least 1.
    """
    if given.input_file is not None and texts:
        raise FlagError(f"--input_file takes no further text. Received {texts[0]!r}")
    for name in counts:
        if given[name].value < 1:
            raise FlagError(f"--{name} must be at least 1. Received {given[name].value}.")
    output_paths.check_outputs([("output_file", given.output_file)], given.overwrite)
    output_paths.check_not_input(given.output_file, given.input_file)


def source_of(given: flags.FlagValues, texts: list[str]) -> str | list[str] | BinaryIO:
    """The rows: a path, texts of the command line, or standard input."""
    return given.input_file if given.input_file is not None else texts or sys.stdin.buffer


def import_for(model: str, num_threads: int | None = None, share: int | None = None) -> None:
    """Imports TensorFlow where a model, or one of several, is run by it.

    Args:
        model: its path or name; of several with commas between.
        num_threads: with which an operation is computed; None: as usual_threads has it.
        share: the cores that this process has to itself; None: all of them.

    Raises:
        InputError: no such number of threads.
    """
    check_threads(num_threads)
    models = models_of(model)
    by_tensorflow = [one for one in models if kind_of(one) != PORTABLE]
    if by_tensorflow:
        threads = num_threads or usual_threads(by_tensorflow, share)
        import_tensorflow(all(map(gains_by_frozen_weights, models)), log_level=3, num_threads=threads)
