"""Queries in, the nearest texts of a file out: what search_texts does."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.checkpoints.task_fields import TEXT
from albert_tf.rows.answered_rows import ERROR, INPUT, ROW
from albert_tf.rows.kept_vectors import TextLibrary
from albert_tf.rows.prediction_job import Outcome
from albert_tf.rows.result_formats import JSONL, LineForm, ResultForm, choose_format, json_line, printable
from albert_tf.rows.table_prediction import TablePrediction, answer_table
from albert_tf.rows.vector_formats import to_floats
from albert_tf.rows.vector_rows import VectorAnswers
from albert_tf.serving.embedder import Embedder
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.nearest import find_nearest

NEAREST = "nearest"
# Of a cosine; float32 has about one more.
_DIGITS = 6


@dataclasses.dataclass(frozen=True)
class SearchAnswers:
    """A library that answers as a Predictor does: with its texts that are nearest to a query.

    Attributes:
        embedder: that makes the vectors of queries, as it made those of the texts.
        library: the texts.
        top_k: how many of them.
        example_fields, task: as a Predictor has them.
    """

    embedder: Embedder
    library: TextLibrary
    top_k: int
    example_fields: ExampleFields = dataclasses.field(default_factory=lambda: ExampleFields([TEXT], None))
    task: None = None

    def answer(self, checked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The nearest texts to each query that `example_fields.check` has returned."""
        queries = self.embedder.embed([example[TEXT] for example in checked], len(checked))
        library = self.library
        # Blank texts have a vector as well.
        places, cosines = find_nearest(library.vectors, queries, self.top_k, to_floats, library.allowed)
        return [{NEAREST: self._shown(*both)} for both in zip(places, cosines, strict=True)]

    def identify(self) -> dict[str, Any]:
        """The model's files, and the texts that are searched."""
        return VectorAnswers(self.embedder).identify() | {"library": self.library.identity, "top_k": self.top_k}

    def _shown(self, places: np.ndarray, cosines: np.ndarray) -> list[dict[str, Any]]:
        return [
            {ROW: int(place) + 1, TEXT: self.library.texts[place], "cosine": round(float(cosine), _DIGITS)}
            for place, cosine in zip(places, cosines, strict=True)
            if np.isfinite(cosine)
        ]


def search_rows(answers: SearchAnswers, wanted: TablePrediction) -> Outcome:
    """Finds the nearest texts for every query of an input.

    Args:
        answers: the library.
        wanted: what is read and written; `output_format` is "jsonl", "table" or "auto".

    Raises:
        InputError, OSError, RunStopped: see prediction_job.run_job.
    """
    file_format = choose_format(wanted.output_format, wanted.output_file)

    def form(*_: Any) -> ResultForm:
        return LineForm(json_line if file_format == JSONL else describe_nearest)

    return answer_table(answers, wanted, file_format, form, answers.identify, label="searching")


def describe_nearest(result: Mapping[str, Any]) -> str:
    """A result for a person: the query, under it a line for each text."""
    lines = [printable(str(result[INPUT].get(TEXT, max(map(str, result[INPUT].values()), key=len, default=""))))]
    if ERROR in result:
        return "\n".join([*lines, f"  error: {printable(result[ERROR])}", ""])
    lines += [f"  {one['cosine']:7.4f}  {one[ROW]:>7}  {printable(one[TEXT])}" for one in result[NEAREST]]
    return "\n".join([*lines, ""])
