"""WordPiece in Python: the longest pieces, unknown words, places, masks, text again, and bad files."""

import pickle
import random
import re

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.alignment import align
from albert_tf.tokenization.base import SPACE
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import count_pieces, is_vocabulary
from albert_tf.tokenization.word_pieces import MAX_WORD_CHARACTERS, WordPieceTokenizer
from tests.support.word_pieces import LETTERS, SYLLABLES


def pieces_of(tokenizer, text):
    return [tokenizer.pieces[piece_id] for piece_id in tokenizer.encode(text)]


def segmentations(word, pieces):
    """All ways to cut a word."""
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        if word[:end] in pieces:
            yield from ((word[:end], *rest) for rest in segmentations(word[end:], pieces))


def test_each_piece_is_the_longest_from_where_the_last_one_ends(word_pieces):
    assert pieces_of(word_pieces, "Badaba bax, 中文 hello") == [
        *("ba", "##da", "##ba", "ba", "##x", ",", "中", "文", "hello"),
    ]


def test_the_rule_is_that_of_all_cuttings_the_first_pieces_are_longest(word_pieces):
    rng = random.Random(0)
    known = {*SYLLABLES, *LETTERS}
    for _ in range(300):
        word = "".join(rng.choices("abdiexz7", k=rng.randint(1, 7)))
        best = max(segmentations(word, known), key=lambda cut: [len(piece) for piece in cut])
        assert [piece.removeprefix("##") for piece in pieces_of(word_pieces, word)] == list(best)


def test_a_word_that_no_pieces_make_up_is_unknown_as_a_whole(word_pieces):
    assert pieces_of(word_pieces, "bañda baßda ba") == ["ba", "##n", "##da", "[UNK]", "ba"]


def test_a_word_that_is_too_long_is_unknown(word_pieces):
    longest = "a" * MAX_WORD_CHARACTERS
    assert len(word_pieces.encode(longest)) == MAX_WORD_CHARACTERS
    assert pieces_of(word_pieces, f"{longest}a b") == ["[UNK]", "b"]


def test_special_pieces_come_of_no_text(word_pieces):
    special = {word_pieces.pad_id, word_pieces.cls_id, word_pieces.sep_id, word_pieces.mask_id}
    assert not special & set(word_pieces.encode("[PAD] [CLS] [SEP] [MASK] [mask]"))
    assert pieces_of(word_pieces, "[unused1]")[:2] == ["[", "u"]


def test_masks_are_found_in_any_case_where_letters_are_lower_cased(word_pieces, word_piece_file):
    mask, ba = word_pieces.mask_id, word_pieces.piece_to_id("ba")
    assert word_pieces.encode_with_masks("ba[mask]ba [MASK]") == [ba, mask, ba, mask]
    cased = WordPieceTokenizer(word_piece_file, do_lower_case=False)
    assert cased.encode_with_masks("ba[MASK]") == [ba, mask]
    assert mask not in cased.encode_with_masks("ba[mask]")
    assert word_pieces.encode_with_masks("bada, bé") == word_pieces.encode("bada, bé")


def test_pieces_are_places_of_the_text(word_pieces):
    aligned = align(word_pieces, "  Báda,\u200b 中ß ba")
    assert aligned.ids == word_pieces.encode(aligned.text)
    assert [aligned.text_of(place, place) for place in range(len(aligned.ids))] == [
        *("Bá", "da", ",", "中", "ß", "ba"),
    ]
    first, last = aligned.pieces_of(2, 6)
    assert aligned.text_of(first, last) == "Báda"


@pytest.mark.parametrize("switches", [{}, {"do_lower_case": False}, {"keep_accents": True}])
def test_random_text_is_placed_and_its_ids_are_those_of_encode(word_piece_file, switches):
    tokenizer, rng = WordPieceTokenizer(word_piece_file, **switches), random.Random(1)
    for _ in range(300):
        text = "".join(rng.choices("abdZ ,.'\t\x0bé\u0301ﬁ中한\u200b\0ΣσİЖ，", k=rng.randint(0, 25)))
        aligned = align(tokenizer, text)
        assert aligned.ids == tokenizer.encode(text)
        assert (np.diff(aligned.starts) >= 0).all()
        assert (np.diff(aligned.ends) >= 0).all()
        assert (aligned.starts <= aligned.ends).all()


def test_pieces_are_shown_as_those_of_sentencepiece(word_pieces):
    def shown(piece):
        return word_pieces.id_to_piece(word_pieces.piece_to_id(piece))

    assert shown("ba") == f"{SPACE}ba"
    assert shown("##ba") == "ba"
    assert (shown(","), shown("("), shown("中"), shown("[MASK]")) == (",", f"{SPACE}(", "中", "[MASK]")
    assert word_pieces.decode(word_pieces.encode("Bada, (hello) 中文.")) == "bada, ( hello)中文."
    assert word_pieces.decode([word_pieces.cls_id, word_pieces.unk_id, word_pieces.pad_id]) == "[CLS] [UNK]"
    for wrong in (-1, word_pieces.vocab_size):
        with pytest.raises(IndexError):
            word_pieces.id_to_piece(wrong)


def test_pieces_inside_words_start_none(word_pieces):
    starts = dict(zip(word_pieces.pieces, word_pieces.word_starts, strict=True))
    assert starts["ba"]
    assert starts["[MASK]"]
    assert not starts["##ba"]


def test_inputs_of_a_model_are_padded_with_the_id_of_pad(word_piece_file, tmp_path):
    lines = (tmp_path / "vocab.txt", word_piece_file)
    with open(lines[1], encoding="utf-8") as file:
        pieces = file.read().split()
    pieces.remove("[PAD]")
    lines[0].write_text("\n".join([*pieces, "[PAD]"]), encoding="utf-8")
    tokenizer = WordPieceTokenizer(lines[0])
    batch = tokenizer(["ba", "ba da"], ["da", "mi"])
    assert batch["input_ids"][0, -1] == tokenizer.pad_id == len(pieces)
    assert batch["segment_ids"].tolist() == [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1]]


def test_a_pickled_tokenizer_needs_no_file(word_piece_file, tmp_path):
    copy = tmp_path / "vocab.txt"
    with open(word_piece_file, "rb") as file:
        copy.write_bytes(file.read())
    tokenizer = WordPieceTokenizer(copy, keep_accents=True)
    copy.unlink()
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode("bé da") == tokenizer.encode("bé da")
    assert again.describe() == tokenizer.describe()


def test_a_name_tells_the_kind(word_piece_file, small_model):
    assert type(make_tokenizer(word_piece_file)) is WordPieceTokenizer
    assert type(make_tokenizer(small_model)) is AlbertTokenizer
    with open(word_piece_file, "rb") as file:
        assert count_pieces(file.read(), word_piece_file) == make_tokenizer(word_piece_file).vocab_size
    assert all(map(is_vocabulary, ("vocab_chinese.txt", "vocab.txt", "a.model")))
    assert not any(map(is_vocabulary, ("notes.txt", "vocab.json")))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "no line is [PAD], [UNK], [CLS], [SEP], [MASK]; give another"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nba\n", "no line is [MASK]"),
        (b"<pad>\t0\n<unk>\t0\n", "looks like sentencepiece's list of pieces; give the .model file"),
        (b"\xef\xbb\xbf[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", "begins with a byte order mark"),
        (b"[PAD] \n[UNK] \n[CLS] \n[SEP] \n[MASK] \n", "its lines begin or end in white space"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n\n[MASK]\nba\n", "line 5 is blank"),
        (b"[PAD]\n\xff", "is not UTF-8 at byte 6"),
        (b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nba\nda\nba\n", "lines 6 and 8 are the same piece, 'ba'"),
    ],
)
def test_files_that_are_no_vocabulary_are_one_line(tmp_path, contents, message):
    path = tmp_path / "vocab.txt"
    path.write_bytes(contents)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        WordPieceTokenizer(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_each_tokenizer_refuses_the_other_s_vocabulary_in_one_line(word_piece_file, small_model):
    with pytest.raises(InputError, match="WordPieceTokenizer reads it"):
        AlbertTokenizer(word_piece_file)
    with pytest.raises(InputError, match="and so no vocab.txt of WordPiece"):
        WordPieceTokenizer(small_model)


def test_lines_may_end_as_on_windows(word_piece_file, tmp_path):
    with open(word_piece_file, encoding="utf-8") as file:
        pieces = file.read().split("\n")
    (tmp_path / "vocab.txt").write_bytes("\r\n".join(pieces).encode())
    assert WordPieceTokenizer(tmp_path / "vocab.txt").pieces == WordPieceTokenizer(word_piece_file).pieces
