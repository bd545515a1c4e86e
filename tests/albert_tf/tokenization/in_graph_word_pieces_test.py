"""WordPiece as a graph, against the same in Python: chosen texts, odd Unicode, every character, places; and saved."""

import random

import pytest
import tensorflow as tf

from albert_tf.tokenization.alignment import align
from albert_tf.tokenization.basic_words import split_words
from albert_tf.tokenization.in_graph import graph_of
from albert_tf.tokenization.in_graph_alignment import InGraphAligner
from albert_tf.tokenization.word_pieces import MAX_WORD_CHARACTERS, WordPieceTokenizer
from tests.albert_tf.tokenization.in_graph_test import TEXTS, odd_texts

SWITCHES = [{}, {"do_lower_case": False}, {"keep_accents": True}]
LONG = [f"{'a' * MAX_WORD_CHARACTERS} b", f"{'a' * (MAX_WORD_CHARACTERS + 1)} b", "ж" * 150, "b" * 5000]
# No sigma at the end of a word: alone it is lower-cased otherwise than in its word.
CHARACTERS = "abdiZ ,.(\t\x0b\u00a0éñ\u0301\u0327ﬁ½中文한σ\u200b\ufffd\0😀ßЖ１,ह\u093f…"


@pytest.mark.parametrize("switches", SWITCHES)
def test_ids_are_those_of_python(word_piece_file, switches):
    tokenizer = WordPieceTokenizer(word_piece_file, **switches)
    graph = graph_of(tokenizer)
    texts = [*TEXTS, *LONG, "un[MASK]able.[mask]", *odd_texts(1500, seed=1)]
    assert graph.encode(tf.constant(texts)).to_list() == [tokenizer.encode(text) for text in texts]
    found = graph.encode_with_masks(tf.constant(texts)).to_list()
    assert found == [tokenizer.encode_with_masks(text) for text in texts]


def test_every_character_is_cut_as_in_python(word_piece_file):
    """The Unicode tables of Python, tensorflow and tensorflow-text are of different years; all know Unicode 13."""
    graph = graph_of(WordPieceTokenizer(word_piece_file))
    codes = [*range(1, 0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20)]
    texts = [f"a{chr(code)}b" for code in codes]
    cleaned = graph.clean(tf.constant(texts)).numpy()
    differing = {
        code for code, text, found in zip(codes, texts, cleaned) if split_words(text) != found.decode("utf-8").split()
    }
    assert len(differing) < 100
    assert all(code > 0x800 for code in differing)


def test_bytes_that_are_not_utf8_are_dropped(word_piece_file):
    tokenizer = WordPieceTokenizer(word_piece_file)
    raw = [b"ba\xffda", b"\xed\xa0\x80x", b"ba\xc3"]
    assert graph_of(tokenizer).encode(tf.constant(raw)).to_list() == [
        tokenizer.encode(text.decode("utf-8", "replace")) for text in raw
    ]


@pytest.mark.parametrize("switches", SWITCHES)
def test_pieces_are_placed_as_in_python(word_piece_file, switches):
    tokenizer, rng = WordPieceTokenizer(word_piece_file, **switches), random.Random(0)
    aligner = InGraphAligner(graph_of(tokenizer), tokenizer)
    graph = tf.function(aligner.align, input_signature=[tf.TensorSpec([], tf.string)])
    for text in [*("".join(rng.choices(CHARACTERS, k=rng.randint(0, 30))) for _ in range(60)), LONG[1], "Báda,中 ba"]:
        wanted = align(tokenizer, text)
        ids, starts, ends = (value.numpy().tolist() for value in graph(tf.constant(text.encode())))
        assert ids == wanted.ids, text
        assert starts == wanted.starts.tolist(), text
        assert ends == wanted.ends.tolist(), text


def test_two_saved_vocabularies_do_not_meet(word_piece_file, tmp_path):
    texts, found = tf.constant(["Bada 中x, [MASK]"]), []
    with open(word_piece_file, encoding="utf-8") as file:
        pieces = file.read().split()
    for name, chosen in (("a", pieces), ("b", pieces[::-1])):
        (tmp_path / f"{name}.txt").write_text("\n".join(chosen), encoding="utf-8")
        tokenizer = WordPieceTokenizer(tmp_path / f"{name}.txt")
        module = graph_of(tokenizer)
        module.encode_all = tf.function(module.encode, input_signature=[tf.TensorSpec([None], tf.string)])
        tf.saved_model.save(module, str(tmp_path / name))
        found.append((str(tmp_path / name), tokenizer.encode(texts.numpy()[0].decode())))
    for folder, ids in found:
        assert tf.saved_model.load(folder).encode_all(texts).to_list() == [ids]
