"""Byte fallback end to end: nothing is unknown, text comes back; words, the graph, tokenizer.json, filled masks."""

import json

import numpy as np
import pytest

from albert_tf.conversion.hugging_face_tokenizer import tokenizer_json, write_tokenizer_json
from albert_tf.runtime.errors import InputError
from albert_tf.serving.fill_mask import _fill
from albert_tf.tokenization.alignment import align
from albert_tf.tokenization.byte_pieces import with_characters
from albert_tf.tokenization.in_graph import InGraphTokenizer
from albert_tf.tokenization.in_graph_alignment import InGraphAligner
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabulary_file import parse_model
from data_prep.examples.draws import Draws
from data_prep.examples.masking import Masker, MaskingRules, Pieces
from data_prep.examples.segment_pairs import SegmentPairs
from data_prep.text.vocabulary import VocabularyTraining, train

# Mixed scripts, marks, joined emoji, from right to left, without spaces, names of bytes and of special pieces.
TEXTS = [
    *("ba 龘 ba 😀ba", "<0x41> <0x4> <0xE4> ba<0xff>", "👨‍👩‍👧 ba 🏳️‍🌈", "नमस्ते दुनिया।", "مرحبا שלום", "สวัสดี ครับ"),
    *(
        "ba混合ba文字текст",
        "in 7, 龘7,",
        "",
        "[MASK] <pad>",
        "\ue000x\U0010ffff",
        "\ufeffba\u200b",
        "龘" * 400,
        "ba ΟΔΟΣ be",
    ),
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> AlbertTokenizer:
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "c.txt").write_text("ba bebo (ba) boba, 7, be 17 xabe\nbe ba混 boba\n" * 60, encoding="utf-8")
    train(VocabularyTraining(str(folder / "c.txt"), str(folder / "v"), vocab_size=284, byte_fallback=True))
    return AlbertTokenizer(folder / "v.model")


def test_nothing_is_unknown_and_text_comes_back(tokenizer):
    assert len(tokenizer.byte_values) == 256
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert tokenizer.unk_id not in ids
        cleaned, _, _ = tokenizer.clean_with_spans(text)
        assert tokenizer.decode(ids) == " ".join(cleaned.replace("\ufeff", "").replace("\u200b", " ").split())


def test_bytes_in_a_row_are_shown_as_their_characters_and_halves_are_not_hidden(tokenizer):
    ids = tokenizer.encode("ba龘")
    assert tokenizer.shown_pieces(ids)[-3:] == ["龘", "", ""]
    assert tokenizer.decode(ids[:-1]).endswith("\ufffd")
    pieces, values = ["<0xE9>", "<0xBE>", "a"], [0xE9, 0xBE, None]
    assert with_characters(pieces, values, errors="keep") == pieces
    # By the type of the piece, not by its name.
    assert with_characters(["<0x41>"], [None]) == ["<0x41>"]


def test_a_word_of_bytes_is_masked_as_a_whole(tokenizer):
    ids = np.array(tokenizer.encode("ba 龘龘 be") * 3, np.int32)
    pairs = SegmentPairs(np.array([[0, 0]]), np.array([[len(ids), 0]]), np.array([0]))
    masker = Masker(MaskingRules(0.5, 40, ngram=1), Pieces.of_tokenizer(tokenizer))
    is_byte = np.isin(ids, list(tokenizer.byte_values))
    seen = set()
    for seed in range(20):
        batch, _ = masker.mask(ids, pairs, Draws(seed))
        hidden = np.zeros(len(ids), bool)
        hidden[np.asarray(batch.masked_lm_positions) - 1] = True
        for start in np.flatnonzero(is_byte & ~np.roll(is_byte, 1)):
            # The space before the word is the first of its pieces.
            word = hidden[start - 1 : start + 6]
            assert word.all() or not word.any()
            seen.add(bool(word.all()))
    assert seen == {True, False}


def test_a_long_run_of_bytes_is_words_of_whole_characters(tokenizer):
    pieces = Pieces.of_tokenizer(tokenizer)
    ids = np.array(tokenizer.encode("ba " + "龘" * 14 + " be" + "é😀"), np.int32)
    starts = np.flatnonzero(pieces.word_boundary(ids))
    # The space and two characters of three bytes, two, ...; then a word that goes on in bytes.
    first = int(np.flatnonzero(np.isin(ids, list(tokenizer.byte_values)))[0])
    assert starts[starts >= first - 1].tolist() == [first - 1, *range(first + 6, first + 43, 6)]
    assert not len(pieces.word_boundary(ids[:0]))


def test_the_graph_gives_the_same_ids_and_places(tokenizer):
    import tensorflow as tf

    graph = InGraphTokenizer.from_tokenizer(tokenizer)
    assert graph.encode(tf.constant(TEXTS)).to_list() == tokenizer.encode_batch(TEXTS)
    masked = [f"{text} [MASK]龘[MASK]" for text in TEXTS]
    assert graph.encode_with_masks(tf.constant(masked)).to_list() == list(map(tokenizer.encode_with_masks, masked))
    aligner = InGraphAligner(graph, tokenizer)
    text = "ba 龘ba 😀"
    aligned, found = align(tokenizer, text), aligner.align(tf.constant(text))
    places = [aligned.starts.tolist(), aligned.ends.tolist()]
    assert [one.numpy().tolist() for one in found] == [aligned.ids, *places]
    for start, end in ((3, 4), (3, 6), (7, 8), (0, len(text))):
        assert aligned.text_of(*aligned.pieces_of(start, end)) == text[start:end]


def test_tokenizer_json_cuts_and_decodes_alike_and_comes_back_exactly(tokenizer, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    assert write_tokenizer_json(str(tmp_path), tokenizer) is None
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    plain = [text for text in TEXTS if "[MASK]" not in text]
    found = [theirs.encode(text, add_special_tokens=False).ids for text in plain]
    assert found == tokenizer.encode_batch(plain)
    assert [theirs.decode(ids) for ids in found] == list(map(tokenizer.decode, found))
    again = AlbertTokenizer(tmp_path / "tokenizer.json")
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
    assert again.byte_values == tokenizer.byte_values
    rows = [
        [(piece.piece, piece.score, piece.type) for piece in parse_model(one.model_bytes, "").pieces]
        for one in (again, tokenizer)
    ]
    assert rows[0] == rows[1]


def test_a_tokenizer_json_without_a_byte_is_one_line(tokenizer, tmp_path):
    values = tokenizer_json(tokenizer)
    values["model"]["vocab"] = [row for row in values["model"]["vocab"] if row[0] != "<0xE4>"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match="wants a piece for every byte; <0xE4> is missing"):
        AlbertTokenizer(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    "parts, pieces, best",
    [
        (["a ", "", "", "."], ["<0xE9>", "<0xBE>", "<0x98>"], "a龘."),
        (["", "", " b"], ["▁ba", "<0x41>"], "baA b"),
        (["a", "b", ""], ["<0xC3>", "<0xA9>"], "a<0xC3>b<0xA9>"),
    ],
)
def test_bytes_at_neighbouring_masks_are_filled_in_as_a_character(parts, pieces, best):
    assert _fill("", parts, [[piece] for piece in pieces], [[1.0]] * len(pieces)).best == best


def test_word_pieces_have_no_bytes():
    with pytest.raises(InputError, match="--byte_fallback goes with --kind=sentencepiece"):
        VocabularyTraining("a", "b", kind="wordpiece", byte_fallback=True)
