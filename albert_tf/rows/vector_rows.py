"""Texts in, vectors out: what embed_texts does."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from albert_tf.checkpoints.task_fields import TEXT
from albert_tf.rows.answered_rows import RowAsker
from albert_tf.rows.input_rows import OpenRows
from albert_tf.rows.prediction_job import Outcome
from albert_tf.rows.result_formats import JSONL, PARQUET, LineForm, ResultColumns, ResultForm
from albert_tf.rows.table_prediction import TablePrediction, answer_table
from albert_tf.rows.vector_formats import (
    FLOAT32,
    NpyForm,
    record_type,
    to_answer,
    vector_line,
)
from albert_tf.runtime.errors import FlagError
from albert_tf.serving.embedder import Embedder
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.model_identity import identify_model

AUTO, NPY = "auto", "npy"
FORMATS = (NPY, PARQUET, JSONL)


class VectorAnswers:
    """An Embedder that answers as a Predictor does: a vector for each text.

    Args:
        embedder: that makes the vectors.
        vector_type: in which they are kept, one of vector_formats.VECTOR_TYPES.

    Attributes:
        path, example_fields, task: as a Predictor has them.
    """

    task = None

    def __init__(self, embedder: Embedder, vector_type: str = FLOAT32):
        self._embedder, self._vector_type = embedder, vector_type
        self.path = embedder.path
        self.example_fields = ExampleFields([TEXT], None)

    def answer(self, checked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The vector of each example that `example_fields.check` has returned; they are run as one batch."""
        vectors = self._embedder.embed([example[TEXT] for example in checked], len(checked))
        return [to_answer(vector, self._vector_type) for vector in vectors]

    def form(
        self,
        file_format: str,
        asker: RowAsker,
        fields: ExampleFields,
        opened: OpenRows,
        carried: Sequence[str] | None,
    ) -> ResultForm:
        """The form of the results; arguments as of table_prediction.answer_table."""
        size = self._embedder.hidden_size
        if file_format == NPY:
            return NpyForm(record_type(self._vector_type, size))
        if file_format == JSONL:
            return LineForm(vector_line)
        from albert_tf.rows.parquet_results import ParquetForm

        answer = to_answer(np.zeros(size, np.float32), self._vector_type)
        return ParquetForm(ResultColumns.of(opened.columns or (), answer, carried), opened.types, answer)

    def identify(self) -> dict[str, Any]:
        """The model's files, and all else that decides a vector."""
        return {
            "files": identify_model(self._embedder.path),
            "pooling": self._embedder.pooling.with_length(),
            "vector_type": self._vector_type,
        }


def choose_vector_format(asked: str, output_file: str | None) -> str:
    """The format of the vectors: the one asked for, else by the file's name, else JSONL.

    Raises:
        InputError: a format that wants a file, and none is named.
    """
    ending = "" if output_file is None else output_file.lower().rpartition(".")[2]
    chosen = asked if asked != AUTO else ending if ending in FORMATS else JSONL
    if output_file is None and chosen != JSONL:
        raise FlagError(f"--format={chosen} wants a file; name it by --output_file")
    return chosen


def embed_rows(embedder: Embedder, wanted: TablePrediction, vector_type: str = FLOAT32) -> Outcome:
    """Makes a vector for every row of an input.

    Args:
        embedder: that makes them.
        wanted: what is read and written; `output_format` is one of FORMATS, or AUTO.
        vector_type: in which they are kept, one of vector_formats.VECTOR_TYPES.

    Raises:
        InputError, OSError, RunStopped: see prediction_job.run_job.
    """
    answers = VectorAnswers(embedder, vector_type)
    if wanted.open_model is not None:
        wanted = dataclasses.replace(
            wanted, open_model=functools.partial(_open_answers, wanted.open_model, vector_type)
        )
    file_format = choose_vector_format(wanted.output_format, wanted.output_file)
    if file_format == NPY:
        if wanted.output_columns:
            raise FlagError("--output_columns: a .npy file holds vectors alone; choose parquet or jsonl")
        wanted = dataclasses.replace(wanted, output_columns=())
    return answer_table(answers, wanted, file_format, answers.form, answers.identify, label="embedding")


def _open_answers(open_embedder: Callable[..., Embedder], vector_type: str, num_threads: int | None) -> VectorAnswers:
    """VectorAnswers of an Embedder opened in the process that calls this."""
    return VectorAnswers(open_embedder(num_threads=num_threads), vector_type)
