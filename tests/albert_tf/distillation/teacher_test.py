"""The teacher's vectors: from a model, asked once, or from a file; and what comes of them at another width."""

import numpy as np
import pytest
from letter_vectors import LetterVectors

from albert_tf.distillation import teacher
from albert_tf.distillation.teacher import Axes, TaughtTexts, keep_axes, open_teacher
from albert_tf.rows import vector_rows
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.runtime.errors import InputError


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("aab\n\nxyz\ncc\n")
    return TablePrediction(str(path))


@pytest.fixture
def model(monkeypatch):
    """A model of letters; what it was asked."""
    embedder = LetterVectors()
    monkeypatch.setattr(teacher, "Embedder", lambda path: embedder)
    monkeypatch.setattr(vector_rows, "identify_model", lambda path: {"sha256": "one"})
    return embedder


def of_file(tmp_path, array, texts):
    np.save(tmp_path / "vectors.npy", array)
    return open_teacher(str(tmp_path / "vectors.npy"), texts)


def taught(vectors):
    return TaughtTexts(["a"] * len(vectors), np.arange(len(vectors)), vectors)


def test_a_model_is_asked_once_and_texts_without_a_direction_are_left_out(texts, model):
    first = open_teacher("letters", texts)
    assert first.texts == ["aab", "cc"] and first.size == 3
    np.testing.assert_allclose(first.vectors(np.array([1, 0])), [[0, 0, 1], [0.8944, 0.4472, 0]], atol=1e-4)
    asked = len(model.batches)
    np.testing.assert_array_equal(open_teacher("letters", texts).kept, first.kept)
    assert len(model.batches) == asked


@pytest.mark.parametrize("vector_type", ["<f4", "<f2", "int8"])
def test_a_file_of_vectors_is_a_teacher(texts, tmp_path, vector_type):
    vectors = np.array([[3, 4], [1, 0], [np.nan, np.nan], [0, -2]], "f4")
    kept = vectors.astype(vector_type) if vector_type != "int8" else np.zeros(4, [("scale", "f4"), ("vector", "i1", 2)])
    if vector_type == "int8":
        kept["scale"], kept["vector"] = [1, 1, np.nan, 1], np.nan_to_num(vectors)
    found = of_file(tmp_path, kept, texts)
    # A blank text is not learned, nor one that has no vector.
    assert found.texts == ["aab", "cc"] and found.size == 2
    np.testing.assert_allclose(found.vectors(np.arange(2)), [[0.6, 0.8], [0, -1]], atol=1e-3)


@pytest.mark.parametrize(
    "array, fault",
    [
        (np.zeros((3, 2), "f4"), "has 3 vectors, .*texts.txt 4 rows"),
        (np.zeros((4, 2), "i4"), r"of floats were expected.* it holds int32 \[4, 2\]"),
        (np.zeros(4, "f4"), r"of floats were expected.* it holds float32 \[4\]"),
        (np.full((4, 2), np.nan, "f4"), "no text in it with a vector"),
    ],
)
def test_a_file_that_is_not_of_these_texts_is_one_line(texts, tmp_path, array, fault):
    with pytest.raises(InputError, match=fault):
        of_file(tmp_path, array, texts)


def test_a_file_that_is_missing_or_damaged_is_one_line(texts, tmp_path):
    with pytest.raises(InputError, match="no such file; embed_texts writes one"):
        open_teacher(str(tmp_path / "none.npy"), texts)
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(InputError, match="no file of NumPy, or a damaged one"):
        open_teacher(str(tmp_path / "bad.npy"), texts)
    with open(tmp_path / "bad.npy", "wb") as file:
        np.savez(file, vectors=np.zeros((4, 2), "f4"))
    with pytest.raises(InputError, match="no file of NumPy, or a damaged one"):
        open_teacher(str(tmp_path / "bad.npy"), texts)
    with pytest.raises(InputError, match="--vectors_file is for the vectors of a model"):
        open_teacher(str(tmp_path / "bad.npy"), texts, vectors_file="elsewhere.npy")


def test_a_narrower_student_keeps_the_cosines_that_vary():
    rng = np.random.default_rng(0)
    plane = rng.standard_normal((50, 2)) @ np.linalg.qr(rng.standard_normal((5, 5)))[0][:2]
    texts = taught(plane.astype("f4"))
    vectors, narrow = texts.vectors(np.arange(50)), Axes.of(texts, 2)
    np.testing.assert_allclose(narrow.apply(vectors) @ narrow.apply(vectors).T, vectors @ vectors.T, atol=1e-5)
    assert Axes.of(texts, 2).matrix.shape == (5, 2)


def test_a_wider_student_has_zeros_besides():
    texts = taught(np.array([[3, 4]], "f4"))
    np.testing.assert_allclose(Axes.of(texts, 4).apply(texts.vectors(np.array([0]))), [[0.6, 0.8, 0, 0]], atol=1e-6)


def test_axes_are_kept_for_a_run_that_goes_on(tmp_path):
    path = str(tmp_path / "axes.npy")
    first = keep_axes(path, lambda: Axes(np.eye(3, 2, dtype="f4")), is_begun=False, may_write=True)
    again = keep_axes(path, lambda: Axes(np.zeros((3, 2), "f4")), is_begun=True, may_write=True)
    np.testing.assert_array_equal(again.matrix, first.matrix)
    other = keep_axes(path, lambda: Axes(np.ones((3, 2), "f4")), is_begun=False, may_write=True)
    np.testing.assert_array_equal(other.matrix, np.ones((3, 2)))
