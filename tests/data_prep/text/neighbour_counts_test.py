"""Counted embeddings: the counts against a literal double loop, what they show, the file, and bad input."""

import functools
import json
import random
import sys

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.text import neighbour_counts
from data_prep.text.documents import read_parts
from data_prep.text.neighbour_counts import (
    EmbeddingCounting,
    NeighbourCounts,
    count_embeddings,
    embed,
    positive_information,
)
from data_prep.text.text_reading import TextReading

sparse = pytest.importorskip("scipy.sparse")


@pytest.fixture(scope="module")
def tokenizer(small_vocabulary) -> AlbertTokenizer:
    return AlbertTokenizer(small_vocabulary)


def counted_literally(documents, tokenizer, window):
    """1 / distance for every ordered pair of pieces of a document, one pair at a time."""
    counts = np.zeros((tokenizer.vocab_size,) * 2)
    specials = {tokenizer.pad_id, tokenizer.unk_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id}
    for sentences in documents:
        ids = [piece for sentence in sentences for piece in sentence]
        for here, first in enumerate(ids):
            for there, second in enumerate(ids):
                if 0 < abs(here - there) <= window and not {first, second} & specials:
                    counts[first, second] += 1 / abs(here - there)
    return counts


@pytest.mark.parametrize("chunk", [1, 40, 1000])
@pytest.mark.parametrize("window", [1, 4])
def test_counts_are_those_of_a_literal_double_loop(tokenizer, window, chunk, monkeypatch):
    rng = random.Random(7)
    documents = [[rng.choices(range(12), k=rng.randint(0, 9)) for _ in range(rng.randint(1, 4))] for _ in range(8)]
    monkeypatch.setattr(neighbour_counts, "_CHUNK", chunk)
    counts = NeighbourCounts(tokenizer, window)
    for sentences in documents:
        counts.add(sentences)
    expected = counted_literally(documents, tokenizer, window)
    assert expected.sum() > 40
    np.testing.assert_allclose(counts.total().toarray(), expected, rtol=1e-6)
    assert counts.num_pieces == sum(len(sentence) for sentences in documents for sentence in sentences)


def test_information_is_the_formula():
    counts = np.array([[0, 8, 1, 0], [8, 2, 3, 0], [1, 3, 0, 0], [0, 0, 0, 0]], np.float32)
    of_piece = counts.sum(axis=1)
    contexts = of_piece**0.75 / (of_piece**0.75).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.nan_to_num(np.maximum(0, np.log(counts / of_piece[:, None] / contexts)), nan=0.0)
    information = positive_information(sparse.csr_matrix(counts))
    assert np.count_nonzero(expected) > 2
    np.testing.assert_allclose(information.toarray(), expected, rtol=1e-6)


def test_vectors_are_the_largest_singular_ones():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 5, (30, 30)).astype(np.float32)
    counts += counts.T
    left, values, _ = np.linalg.svd(positive_information(sparse.csr_matrix(counts)).toarray())
    vectors = embed(sparse.csr_matrix(counts), 4)
    assert vectors.dtype == np.float32
    expected = (left[:, :4] * values[:4]) @ left[:, :4].T
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-4)
    np.testing.assert_array_equal(embed(sparse.csr_matrix(counts), 4), vectors)
    # Of the two signs that a singular vector may have, the one that does not depend on the processor.
    assert (vectors.max(axis=0) == np.abs(vectors).max(axis=0)).all()


def settings_for(tokenizer, corpus, tmp_path, **changes) -> EmbeddingCounting:
    given = {"input_file": corpus, "output_file": str(tmp_path / "e.npz"), "embedding_size": 8, **changes}
    return EmbeddingCounting(tokenizer=tokenizer, **given)


def test_the_file_has_a_row_for_every_piece_and_the_vocabulary(tokenizer, small_corpus, tmp_path):
    settings = settings_for(tokenizer, small_corpus, tmp_path)
    read, found = count_embeddings(settings)
    with open(small_corpus) as file:
        assert read == sum(len(tokenizer.encode(line)) for line in file)
    with np.load(settings.output_file) as arrays:
        vectors, vocabulary = arrays["word_embeddings"], json.loads(str(arrays["vocabulary"]))
    assert vectors.shape == (150, 8)
    assert vectors.dtype == np.float32
    assert not vectors[:5].any()
    assert np.count_nonzero(vectors.any(axis=1)) == found > 100
    assert vocabulary == {"file": tokenizer.model_file, "sha256": tokenizer.sha256, "size": 150}


def test_reading_stops_at_max_pieces_and_raw_text_is_split(tokenizer, small_corpus, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(neighbour_counts, "read_parts", functools.partial(read_parts, part_characters=500))
    whole = count_embeddings(settings_for(tokenizer, small_corpus, tmp_path))
    raw = TextReading(split_sentences=True)
    assert count_embeddings(settings_for(tokenizer, small_corpus, tmp_path, reading=raw))[0] == pytest.approx(
        whole[0], rel=0.01
    )
    for most in (10**12, whole[0]):
        assert count_embeddings(settings_for(tokenizer, small_corpus, tmp_path, max_pieces=most)) == whole
    assert "is reached" not in caplog.text
    read, _ = count_embeddings(settings_for(tokenizer, small_corpus, tmp_path, max_pieces=1, embedding_size=2))
    assert 1 <= read < whole[0]
    assert "--max_pieces=1 is reached" in caplog.text


def refused(**settings) -> str:
    with pytest.raises(InputError) as caught:
        count_embeddings(EmbeddingCounting(**settings))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_bad_input_is_one_line_and_leaves_no_file(tokenizer, small_corpus, tmp_path, monkeypatch):
    given = {"input_file": small_corpus, "output_file": str(tmp_path / "e.npz"), "tokenizer": tokenizer}
    assert "none.txt" in refused(**{**given, "input_file": str(tmp_path / "none.txt")})
    assert "--embedding_size=150 must be less than the 150 pieces" in refused(**given, embedding_size=150)
    assert "--window must be at least 1" in refused(**given, window=0)
    (tmp_path / "short.txt").write_text("ba\n")
    short = {**given, "input_file": str(tmp_path / "short.txt")}
    assert "too few for --embedding_size=128" in refused(**short)
    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
    assert "pip install 'albert_tf[embeddings]'" in refused(**given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt", "short.txt"]
