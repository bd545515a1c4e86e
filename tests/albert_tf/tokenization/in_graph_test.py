"""The graph against the Python tokenizer: chosen texts, odd Unicode, every character, Wikipedia; and saved models."""

import random
import unicodedata

import pytest
import tensorflow as tf

from albert_tf.tokenization import in_graph
from albert_tf.tokenization.packing import pack_pair
from albert_tf.tokenization.text_cleaning import clean_text
from albert_tf.tokenization.tokenizer import AlbertTokenizer

TEXTS = [
    "In 1995, 2,000 people [MASK]. Ünïted 字 ``x'' ",
    "",
    "[MASK]",
    "The un[mask]able [MASK] ([Mask]) 1995,[MASK]. ▁",
    "[MASK] x [CLS] <pad>",
    "a\0b ÀÉ\u3000x\x85y",
    " ",
    "ΟΔΟΣ İstanbul ﬁ ² ガ 한국어",
]
SWITCHES = [
    {},
    {"do_lower_case": False},
    {"keep_accents": True},
    {"normalization": "NFKC"},
    {"keep_accents": True, "normalization": "NFKC", "replace_quotes": True},
]


def odd_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    assigned = [chr(c) for c in range(1, 0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]
    pools = [
        assigned,
        [c for c in assigned if unicodedata.combining(c)],
        [c for c in assigned if c.isspace() or unicodedata.category(c) in ("Cc", "Cf")],
        [c for c in assigned if c.lower() != c],
        [c for c in assigned if unicodedata.decomposition(c)],
        list("0123456789,.- '\"[](){}MASKmask<>unk"),
    ]
    return ["".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 40))) for _ in range(count)]


def share_that_agrees(tokenizer, graph, texts) -> float:
    same = 0
    for start in range(0, len(texts), 4000):
        batch = texts[start : start + 4000]
        encoded = graph.encode(tf.constant(batch)).to_list()
        same += sum(a == b for a, b in zip(tokenizer.encode_batch(batch), encoded))
    return same / len(texts)


@pytest.mark.parametrize("switches", SWITCHES)
def test_graph_and_python_give_the_same_ids(small_model, switches):
    tokenizer = AlbertTokenizer(small_model, **switches)
    graph = in_graph.InGraphTokenizer(small_model, **switches)
    texts = tf.constant(TEXTS)
    assert graph.encode(texts).to_list() == [tokenizer.encode(text) for text in TEXTS]
    assert graph.encode_with_masks(texts).to_list() == [tokenizer.encode_with_masks(text) for text in TEXTS]
    assert [text.decode() for text in graph.clean(texts).numpy()] == [
        clean_text(text, tokenizer.cleaning) for text in TEXTS
    ]


def test_graph_and_python_agree_on_odd_unicode(official_tokenizer):
    graph = in_graph.InGraphTokenizer.from_tokenizer(official_tokenizer)
    assert share_that_agrees(official_tokenizer, graph, odd_texts(5000, seed=1)) >= 0.999


def test_graph_and_python_clean_every_character_that_both_know_alike(small_tokenizer):
    """The Unicode tables of Python, tensorflow and tensorflow-text are of different years; all know Unicode 13."""
    graph = in_graph.InGraphTokenizer.from_tokenizer(small_tokenizer)
    codes = [*range(1, 0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20)]
    texts = [f"a{chr(code)}b" for code in codes]
    cleaned = graph.clean(tf.constant(texts)).numpy()
    differing = {code for code, text, found in zip(codes, texts, cleaned) if clean_text(text) != found.decode("utf-8")}
    assert len(differing) < 250
    assert all(code > 0x2C00 for code in differing)


def test_bytes_that_are_not_utf8_become_replacement_characters(small_tokenizer):
    graph = in_graph.InGraphTokenizer.from_tokenizer(small_tokenizer)
    raw = [b"ba\xffbe", b"\xed\xa0\x80x", b"caf\xc3"]
    decoded = [text.decode("utf-8", "replace") for text in raw]
    assert [text.decode() for text in graph.clean(tf.constant(raw)).numpy()] == list(map(clean_text, decoded))
    assert graph.encode(tf.constant(raw)).to_list() == small_tokenizer.encode_batch(decoded)


def test_a_batch_of_no_texts_is_a_batch_of_no_ids(small_tokenizer):
    graph = in_graph.InGraphTokenizer.from_tokenizer(small_tokenizer)
    nothing = tf.constant([], tf.string)
    assert graph.encode(nothing).to_list() == []
    assert graph.encode_with_masks(nothing).to_list() == []


def test_a_space_before_a_mask_of_the_next_text_is_kept(small_tokenizer):
    graph = in_graph.InGraphTokenizer.from_tokenizer(small_tokenizer)
    texts = ["ba (", "[MASK]", "字", "[MASK]"]
    assert graph.encode_with_masks(tf.constant(texts)).to_list() == [
        small_tokenizer.encode_with_masks(text) for text in texts
    ]


def test_graph_and_python_pack_alike(small_tokenizer):
    graph = in_graph.InGraphTokenizer.from_tokenizer(small_tokenizer)
    words = ["", "ba", "be bi bo", "in 1995, ba be bi bo bu", "da " * 40]
    pairs = [(first, second) for first in words for second in words]
    first, second = map(list, zip(*pairs))
    first_ids, second_ids = graph.encode(tf.constant(first)), graph.encode(tf.constant(second))
    for length in (4, 5, 16, 64):
        for other in (None, second_ids):
            packed = in_graph.pack_ragged(first_ids, other, length, cls_id=2, sep_id=3)
            assert packed["input_ids"].shape[1] <= length
            for row, (one, two) in enumerate(pairs):
                two_ids = None if other is None else small_tokenizer.encode(two)
                ids, segments = pack_pair(small_tokenizer.encode(one), two_ids, length, cls_id=2, sep_id=3)
                padding = packed["input_ids"].shape[1] - len(ids)
                assert packed["input_ids"][row].numpy().tolist() == ids + [0] * padding
                assert packed["input_mask"][row].numpy().tolist() == [1] * len(ids) + [0] * padding
                assert packed["segment_ids"][row].numpy().tolist() == segments + [0] * padding


@pytest.mark.slow
def test_a_saved_model_takes_strings(small_tokenizer, tmp_path):
    class Serving(tf.Module):
        def __init__(self):
            super().__init__()
            self.tokenizer = in_graph.InGraphTokenizer.from_tokenizer(small_tokenizer)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.string)])
        def ids(self, first, second):
            tokenizer = self.tokenizer
            return in_graph.pack_ragged(
                tokenizer.encode_with_masks(first), tokenizer.encode(second), 12, tokenizer.cls_id, tokenizer.sep_id
            )

    tf.saved_model.save(Serving(), str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    for count in (1, len(TEXTS)):
        found = loaded.ids(tf.constant(TEXTS[:count]), tf.constant(TEXTS[::-1][:count]))["input_ids"].numpy()
        for row, first, second in zip(found, TEXTS, TEXTS[::-1]):
            expected, _ = pack_pair(small_tokenizer.encode_with_masks(first), small_tokenizer.encode(second), 12, 2, 3)
            assert row[: len(expected)].tolist() == expected


@pytest.mark.slow
def test_graph_and_python_agree_on_wikipedia(official_tokenizer, shared):
    from data_prep.text.documents import read_parts, sentences_of
    from data_prep.text.text_reading import TextReading

    path = str(shared / "data" / "wikipedia" / "wiki_share.jsonl.xz")
    reading = TextReading(split_sentences=True)
    documents = (document for part in read_parts([path], reading=reading) for document in part.documents)
    sentences = [sentence for document in documents for sentence in sentences_of(document, reading)]
    graph = in_graph.InGraphTokenizer.from_tokenizer(official_tokenizer)
    assert len(sentences) > 800_000
    assert share_that_agrees(official_tokenizer, graph, sentences) >= 0.999
