"""Places of pieces in a text as a graph, against the same in Python: random text of awkward characters, and prose."""

import random

import pytest
import tensorflow as tf

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.alignment import align
from albert_tf.tokenization.in_graph import InGraphTokenizer
from albert_tf.tokenization.in_graph_alignment import InGraphAligner
from albert_tf.tokenization.tokenizer import AlbertTokenizer

# Letters, accents of both kinds, ligatures, Hangul in both forms, marks that compose, what is dropped, what is a space.
# Not in it: a sigma at the end of a word, which Python lower-cases otherwise than TensorFlow, and runs of punctuation.
CHARACTERS = (
    'abcZ 12,."(-\t\n\u00a0éÉñ\u0301\u0327ﬁﬂ①½日本한국가\u1100\u1161\u11a8σıŁ\u200b\u00ad\ufffd\u2581\0'
    "\U0001f600ßЖ１９,ह\u093f\u09c7\u09be…™Å\u212b\u00a8"
)


def _aligner(tokenizer):
    in_graph = InGraphTokenizer.from_tokenizer(tokenizer)
    aligner = InGraphAligner(in_graph, tokenizer)
    return tf.function(aligner.align, input_signature=[tf.TensorSpec([], tf.string)]), aligner


def _assert_same(tokenizer, graph, text):
    wanted = align(tokenizer, text)
    ids, starts, ends = (value.numpy().tolist() for value in graph(tf.constant(text.encode())))
    assert ids == wanted.ids, text
    assert starts == wanted.starts.tolist(), text
    assert ends == wanted.ends.tolist(), text


@pytest.mark.slow
@pytest.mark.parametrize("lower_case", [True, False])
def test_random_text_is_placed_as_in_python(small_model, lower_case):
    tokenizer, rng = AlbertTokenizer(small_model, lower_case), random.Random(0)
    graph, _keep = _aligner(tokenizer)
    for _ in range(300):
        _assert_same(tokenizer, graph, "".join(rng.choices(CHARACTERS, k=rng.randint(0, 30))))


def test_numbers_with_a_comma_are_placed_as_in_python(small_tokenizer):
    graph, _keep = _aligner(small_tokenizer)
    for text in ("in 1995, bada", "7, 8, 55, 1995,1995, x", "1995,", " 1995,  7,"):
        _assert_same(small_tokenizer, graph, text)


def test_a_cleaning_that_looks_at_neighbours_is_refused(small_model):
    for switches in ({"keep_accents": True}, {"normalization": "NFKC"}, {"replace_quotes": True}):
        tokenizer = AlbertTokenizer(small_model, **switches)
        with pytest.raises(InputError, match="only with the published cleaning"):
            InGraphAligner(InGraphTokenizer.from_tokenizer(tokenizer), tokenizer)
