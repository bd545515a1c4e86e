"""The vectors of a file of texts, kept beside it for the next time, and made anew where they are of something else.

TEXTS_FILE.vectors.npy         a vector for each row
TEXTS_FILE.vectors.npy.json    of which texts and by which model: there before the vectors are, and gone after them
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.task_fields import TEXT
from albert_tf.rows.input_rows import open_rows
from albert_tf.rows.prediction_job import is_read_again
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.rows.vector_formats import FLOAT32, record_type
from albert_tf.rows.vector_rows import NPY, VectorAnswers, embed_rows
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.workspace import open_workspace
from albert_tf.serving.embedder import Embedder
from albert_tf.serving.input_fields import ExampleFields

ENDING = ".vectors.npy"
_NOTE = ".json"
_FORMAT = "albert_tf vectors of texts"
# The key of a note that says how its vectors begin, and how many bytes of them that is at least.
_BEGINS, _LONGEST_BEGIN = "vectors", 1 << 20
# What decides the vectors, by the keys of a note.
_DECIDED_BY = {
    "format": "another form",
    "texts": "other texts",
    "read": "texts that were read in another way",
    "model": "another model, pooling or type",
}


@dataclasses.dataclass(frozen=True)
class TextLibrary:
    """Texts of a file with their vectors.

    Attributes:
        texts: of each row; None for one that is not searched: it is blank, or faulty.
        vectors: a record of vector_formats.record_type for each row, mapped from a file.
        identity: of the texts and of how they are read, JSON.
    """

    texts: Sequence[str | None]
    vectors: np.ndarray
    identity: Mapping[str, Any]

    @functools.cached_property
    def allowed(self) -> np.ndarray:
        """bool [N]: which rows are searched."""
        return np.array([text is not None for text in self.texts])


def open_library(
    embedder: Embedder,
    texts: TablePrediction,
    vectors_file: str | None = None,
    vector_type: str = FLOAT32,
) -> TextLibrary:
    """Opens the texts of a file; their vectors are made if they are not there.

    Args:
        embedder: that makes them; their length must be 1.
        texts: `source`, a file, with its `input_format`, `columns` and `batch_size`.
        vectors_file: where the vectors are kept; None: beside the texts.
        vector_type: in which they are kept, one of vector_formats.VECTOR_TYPES.

    Raises:
        InputError: no such file, no text in it, something else is where the vectors are kept, or another run is making
            them.
        OSError: no room, or no right to write.
        RunStopped: a signal came; what is finished is kept.
    """
    source = str(texts.source)
    path = vectors_file or source + ENDING
    if not is_read_again(source):
        raise InputError(f"{source} is no file, whose texts could be read a second time; copy them into one")
    if files.is_remote(path):
        raise InputError(f"{path}: vectors are kept on this machine; name a place by --vectors_file")
    answers = VectorAnswers(embedder, vector_type)
    columns = sorted(texts.columns)
    wanted = {
        "format": _FORMAT,
        "texts": describe_file(source),
        "read": {"input_format": texts.input_format, "columns": columns},
        "model": answers.identify(),
    }
    rows = read_texts(texts, answers.example_fields)
    if not any(text is not None for text in rows):
        raise InputError(f"{source}: no text in it to search")
    dtype = record_type(vector_type, embedder.hidden_size)
    vectors = _kept(path, wanted, dtype, len(rows))
    if vectors is None:
        # Of two models at a time the note of one would come beside the vectors of the other.
        with open_workspace(path + _NOTE):
            _make(path, wanted, embedder, texts, vector_type)
            if describe_file(source) == wanted["texts"]:
                vectors = _kept(path, wanted, dtype, len(rows))
            else:
                # Some are vectors of other texts than those of the note, and of those that were read.
                os.remove(path)
                os.remove(path + _NOTE)
    else:
        logging.info("%d vectors are there already, in %s", len(rows), path)
    if vectors is None:
        raise InputError(f"{source} changed while its vectors were made; start again")
    return TextLibrary(rows, vectors, {name: wanted[name] for name in ("texts", "read", "model")})


def read_texts(texts: TablePrediction, fields: ExampleFields) -> list[str | None]:
    """The texts of all rows of a file; None for one that is blank, or faulty, of which a warning tells.

    Args:
        texts: `source`, a file, with its `input_format` and `columns`.
        fields: that have the text.

    Raises:
        InputError: no such file, or one that has no such column.
    """
    fields = fields.with_columns(dict(column.split("=", 1) for column in texts.columns))
    rows: list[str | None] = []
    errors: list[str] = []
    for row in open_rows(str(texts.source), fields, None, texts.input_format, carried=()).rows:
        text, error = "", None if row.error is None else f"{row.where}: {row.error}"
        if error is None:
            try:
                text = fields.check(row.values, row.where)[TEXT]
            except InputError as found:
                error = str(found)
        if error is not None and any(value is not None and str(value).strip() for value in row.values.values()):
            errors.append(error)
        rows.append(text if text.strip() else None)
    if errors:
        logging.warning("%s: %s rows cannot be read, the first: %s", texts.source, f"{len(errors):,}", errors[0])
    return rows


def _kept(path: str, wanted: Mapping[str, Any], dtype: np.dtype[Any], count: int) -> np.ndarray | None:
    """The vectors at a path; None if there are none, or those of something else.

    Raises:
        InputError: what is there was not kept here.
    """
    note = path + _NOTE
    found = files.read_json(note) if files.exists(note) else {}
    stranger = next((one for one in (note, path) if files.exists(one) and found.get("format") != _FORMAT), None)
    if stranger is not None:
        raise InputError(
            f"{stranger} is there already and was not kept with these texts; name another place by --vectors_file"
        )
    if not files.exists(path):
        return None
    begins = found.pop(_BEGINS, None)
    if found != wanted:
        changed = [words for name, words in _DECIDED_BY.items() if found.get(name) != wanted[name]]
        logging.warning("%s is of %s: it is made anew", path, " and ".join(changed))
        return None
    # Of a run that was stopped before it could note it, or of an earlier version, it is not known.
    if begins is not None and begins != _begin_of(path):
        logging.warning("%s was written by another command since: it is made anew", path)
        return None
    try:
        # As np.load does it of an array; of an archive of arrays that would give something else.
        vectors = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError, EOFError):
        logging.warning("%s is damaged: it is made anew", path)
        return None
    expected = np.empty(count, dtype)
    if (vectors.shape, vectors.dtype) != (expected.shape, expected.dtype):
        logging.warning("%s is damaged: it is made anew", path)
        return None
    return vectors


def _begin_of(path: str) -> dict[str, Any]:
    """The first vectors of a file, by which those of another model are told from them."""
    return {"size": os.path.getsize(path), **describe_file(path, _LONGEST_BEGIN)}


def _make(path: str, wanted: Mapping[str, Any], embedder: Embedder, texts: TablePrediction, vector_type: str) -> None:
    """Makes the vectors of all rows; a run that was stopped is gone on with."""
    # Vectors without their note, or with that of others, must never stand there.
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    files.write_json(path + _NOTE, wanted)
    job = TablePrediction(
        *(texts.source, texts.input_format, texts.columns, path, NPY, ()),
        **{"batch_size": texts.batch_size, "overwrite": True},
    )
    outcome = embed_rows(embedder, job, vector_type)
    files.write_json(path + _NOTE, {**wanted, _BEGINS: _begin_of(path)})
    if outcome.errors:
        logging.warning("%d rows cannot be found; the first: %s", outcome.errors, outcome.first_error)
