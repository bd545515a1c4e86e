"""Pairs of texts judged by the words that they share, by counted embeddings, and by a model."""

import json
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.benchmarks.vector_search import counted_vectors, search_by_words
from albert_tf.embedding.dev_set import DevSet
from albert_tf.embedding.text_tables import TextTable
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.vocabularies import make_tokenizer

PAIRS = [("which bird sings", "the bird that sings is a lark"), ("which fish swims", "a trout is a fish"), ("x", "y")]


def test_words_that_are_shared_find_a_text():
    pytest.importorskip("bm25s")
    scores = search_by_words(DevSet.from_table(TextTable("pairs.tsv", ("a", "b"), PAIRS, None)))
    # The third shares none: every text is as near, and two stand before the right one.
    assert scores["recall_at_1"] == pytest.approx(2 / 3)
    assert scores["mrr"] == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_pieces_of_few_texts_count_for_more(small_vocabulary, tmp_path):
    tokenizer = make_tokenizer(small_vocabulary)
    table = np.random.default_rng(0).normal(size=(tokenizer.vocab_size, 4)).astype(np.float32)
    path = str(tmp_path / "counted.npz")
    np.savez(path, word_embeddings=table)
    texts = ["baba dodo", "baba", "baba lala"]
    vectors = counted_vectors(texts, path, small_vocabulary)
    weights = {}
    for text in texts:
        for piece in set(tokenizer.encode(text)):
            weights[piece] = weights.get(piece, 0) + 1
    wanted = [sum(table[piece] * np.log(3 / weights[piece]) for piece in tokenizer.encode(text)) for text in texts]
    np.testing.assert_allclose(vectors, wanted, atol=1e-6)
    np.savez(path, word_embeddings=table[1:])
    with pytest.raises(InputError, match="59 pieces, .* has 60"):
        counted_vectors(texts, path, small_vocabulary)
    with pytest.raises(InputError, match="is not of count_embeddings"):
        counted_vectors(texts, small_vocabulary, small_vocabulary)


@pytest.mark.slow
def test_a_model_is_judged_beside_them(exported, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join("\t".join(pair) for pair in [("a", "b"), *PAIRS]) + "\n")
    command = [sys.executable, "-m", "albert_tf.benchmarks.vector_search", f"--pairs_file={path}"]
    done = subprocess.run([*command, f"--model={exported}"], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert (result["benchmark"], result["pairs"], result["texts"]) == ("vector_search", 3, 6)
    assert 0 < result[str(exported)]["mrr"] <= 1
