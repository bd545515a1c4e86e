"""Vectors in three types and in files of NumPy: what is read again, how far off it is, and rows without a vector."""

import io
import json

import numpy as np
import pytest

from albert_tf.rows.vector_formats import VECTOR_TYPES, NpyForm, record_type, to_answer, to_floats, vector_line

VECTOR = np.random.default_rng(0).normal(size=48).astype(np.float32)
# The largest distance, as a share of the largest number of the vector.
TOLERANCES = {"float32": 0, "float16": 2**-11, "int8": 0.5 / 127}


def written(form, windows):
    parts, file = io.BytesIO(form.header() + b"".join(map(form.encode, windows))), io.BytesIO()
    form.finish(parts, file)
    file.seek(0)
    return np.load(file)


@pytest.mark.parametrize("vector_type", VECTOR_TYPES)
def test_a_file_of_numpy_holds_the_vectors_in_order_and_nan_for_none(vector_type):
    answers = [to_answer(vector, vector_type) for vector in (VECTOR, 0 * VECTOR, -3 * VECTOR)]
    form = NpyForm(record_type(vector_type, len(VECTOR)))
    kept = written(form, [answers[:2], [], [{"error": "no text"}, answers[2]]])
    assert kept.dtype == (np.dtype([("scale", "f4"), ("vector", "i1", 48)]) if vector_type == "int8" else vector_type)
    floats = to_floats(kept)
    assert floats.dtype == np.float32 and floats.shape == (4, 48)
    assert np.isnan(floats[2]).all()
    limit = TOLERANCES[vector_type] * np.abs(VECTOR).max() + 1e-9
    for found, factor in zip(floats[[0, 1, 3]], (1, 0, -3), strict=True):
        assert np.abs(found - factor * VECTOR).max() <= 3 * limit


def test_a_file_of_no_rows_still_has_the_size_of_a_vector():
    assert written(NpyForm(record_type("float16", 5)), []).shape == (0, 5)


@pytest.mark.parametrize("vector_type", VECTOR_TYPES)
def test_a_line_of_json_has_every_digit_that_counts_and_no_more(vector_type):
    answer = to_answer(VECTOR, vector_type)
    line = vector_line({"row": 1, **answer})
    assert len(line) < 48 * 16
    found = json.loads(line)
    np.testing.assert_array_equal(np.array(found["vector"], answer["vector"].dtype), answer["vector"])
    assert vector_line({"row": 2, "error": "no text"}) == '{"row": 2, "error": "no text"}'
