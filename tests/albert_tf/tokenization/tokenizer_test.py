"""The tokenizer: known ids of the published vocabulary, the digit-comma rule, [MASK], word starts, bad files."""

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.sentencepiece_messages import new_model
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer, starts_word

NUMBERS_WITH_COMMA = ("▁1995,", "1995,", "▁7,", "7,")


def pieces_of(tokenizer, ids):
    return [tokenizer.id_to_piece(piece_id) for piece_id in ids]


def test_special_pieces_have_the_official_ids(small_tokenizer, official_tokenizer):
    for tokenizer in (small_tokenizer, official_tokenizer):
        ids = [getattr(tokenizer, f"{name}_id") for name in ("pad", "unk", "cls", "sep", "mask")]
        assert ids == [0, 1, 2, 3, 4]
    assert official_tokenizer.vocab_size == 30_000


def test_the_published_vocabulary_gives_its_known_pieces(official_tokenizer):
    assert official_tokenizer.encode("Hello  wörld") == [10975, 126]
    assert official_tokenizer.encode_pieces("Hello wörld 字") == ["▁hello", "▁world", "▁", "字"]
    assert official_tokenizer.encode("字")[-1] == official_tokenizer.unk_id
    assert official_tokenizer.sha256.startswith("fefb02b667a6c5c2")


def test_a_number_and_its_comma_are_two_pieces(official_tokenizer):
    # "▁1995," is a piece of the published vocabulary; the rule gives "▁1995" and ",".
    assert official_tokenizer.piece_to_id("▁1995,") != official_tokenizer.unk_id
    pieces = ["▁in", "▁1995", ",", "▁2,000"]
    assert official_tokenizer.encode_pieces("In 1995, 2,000") == pieces
    assert pieces_of(official_tokenizer, official_tokenizer.encode("In 1995, 2,000")) == pieces


@pytest.mark.parametrize("text", ["in 1995, ba", "1995,1995,", "7, 8, 9, 2001,", "ba7,ba1995,"])
def test_the_digit_comma_rule_holds_in_any_vocabulary(small_tokenizer, text):
    assert set(NUMBERS_WITH_COMMA) & set(small_tokenizer._processor.encode(text, out_type=str))
    ids = small_tokenizer.encode(text)
    assert not set(NUMBERS_WITH_COMMA) & set(pieces_of(small_tokenizer, ids))
    assert small_tokenizer.decode(ids) == text


def test_the_rule_leaves_a_piece_whose_number_would_become_unknown(small_tokenizer):
    # "55," alone is encoded as "▁55" and ","; without its space the vocabulary lacks it.
    assert small_tokenizer.encode_pieces("ba55,")[-1] == "55,"


def made_up_tokenizer(*pieces):
    """A tokenizer whose vocabulary is the special pieces and these."""
    proto = new_model()
    kinds = proto.SentencePiece
    controls = [("<pad>", kinds.CONTROL), ("<unk>", kinds.UNKNOWN)]
    controls += [(piece, kinds.CONTROL) for piece in ("[CLS]", "[SEP]", "[MASK]")]
    for piece, kind in [*controls, *((piece, kinds.NORMAL) for piece in pieces)]:
        proto.pieces.add(piece=piece, score=-1.0, type=kind)
    proto.trainer_spec.unk_id, proto.trainer_spec.pad_id = 1, 0
    proto.trainer_spec.bos_id = proto.trainer_spec.eos_id = -1
    proto.normalizer_spec.add_dummy_prefix = True
    tokenizer = AlbertTokenizer.__new__(AlbertTokenizer)
    tokenizer.__setstate__({"model_file": "made", "model_bytes": proto.SerializeToString(), "cleaning": TextCleaning()})
    return tokenizer


def test_a_piece_inside_a_word_gets_no_space_from_the_rule():
    """A vocabulary that holds "5," without a leading space: the comma rule must not bring a space in."""
    tokenizer = made_up_tokenizer("▁", "a", "5", ",", "5,", "▁5")
    assert tokenizer.encode_pieces("a5,") == ["▁", "a", "5", ","]


def test_the_rule_is_for_numbers_and_leaves_a_word_with_its_comma_alone():
    tokenizer = made_up_tokenizer("▁", "a", "5", ",", "a,", "5,", ",,", "5.")
    assert tokenizer.encode_pieces("a,") == ["▁", "a,"]
    assert tokenizer.encode_pieces("5,") == ["▁", "5", ","]
    assert tokenizer.encode_pieces(",,") == ["▁", ",,"]
    assert tokenizer.encode_pieces("5.") == ["▁", "5."]


def test_text_never_yields_control_ids(small_tokenizer, official_tokenizer):
    text = "[CLS] a [SEP] [MASK] <pad> [mask] <unk>"
    for tokenizer in (small_tokenizer, official_tokenizer):
        assert not set(tokenizer.encode(text)) & {0, 2, 3, 4}
    cased = AlbertTokenizer(official_tokenizer.model_file, do_lower_case=False)
    assert not set(cased.encode(text)) & {0, 2, 3, 4}


def test_text_yields_no_control_piece_whatever_the_vocabulary_calls_it(small_model):
    # Some vocabularies have them as words that are found in any text.
    proto = new_model()
    with open(small_model, "rb") as file:
        proto.ParseFromString(file.read())
    for piece in proto.pieces:
        if piece.piece in ("<pad>", "[CLS]", "[SEP]", "[MASK]"):
            piece.type = piece.USER_DEFINED
    tokenizer = AlbertTokenizer.__new__(AlbertTokenizer)
    cleaning = TextCleaning(do_lower_case=False)
    tokenizer.__setstate__({"model_file": "made", "model_bytes": proto.SerializeToString(), "cleaning": cleaning})
    for piece in ("<pad>", "[CLS]", "[SEP]", "[MASK]"):
        assert tokenizer.piece_to_id(piece) not in tokenizer.encode(f"a {piece} b"), piece
    assert tokenizer.encode_with_masks("[MASK] [SEP]").count(tokenizer.mask_id) == 1
    assert tokenizer.sep_id not in tokenizer.encode_with_masks("[MASK] [SEP]")


def test_masks_stand_in_place_of_the_missing_piece(official_tokenizer):
    def shown(text):
        return " ".join(pieces_of(official_tokenizer, official_tokenizer.encode_with_masks(text)))

    assert shown("The capital of France is [MASK].") == "▁the ▁capital ▁of ▁france ▁is [MASK] ."
    assert shown("un[mask]able [MASK] [Mask] x") == "▁un [MASK] able [MASK] [MASK] ▁x"
    assert shown("In 1995,[MASK]") == "▁in ▁1995 , [MASK]"
    assert shown("([MASK])") == "▁ ( [MASK] )"


def test_without_lower_casing_only_capital_mask_counts(official_model):
    tokenizer = AlbertTokenizer(official_model, do_lower_case=False)
    assert tokenizer.encode_with_masks("[MASK] [mask]").count(tokenizer.mask_id) == 1


def test_text_without_masks_is_encoded_alike(small_tokenizer):
    for text in ("in 1995, babe", "", "字 (x)", "mask ] ["):
        assert small_tokenizer.encode_with_masks(text) == small_tokenizer.encode(text)


def test_batches_are_encoded_as_single_texts(official_tokenizer):
    texts = ["In 1995, x", "", "Crème 字", "a\0b"]
    assert official_tokenizer.encode_batch(texts) == [official_tokenizer.encode(text) for text in texts]


def test_decoding_restores_cleaned_text_and_shows_special_pieces(official_tokenizer):
    text = "the quick (brown) fox - in 1995, it's 3.5."
    assert official_tokenizer.decode(official_tokenizer.encode(text)) == text
    ids = [2, *official_tokenizer.encode_with_masks("a [MASK]."), 3, 0, 0]
    assert official_tokenizer.decode(np.array(ids)) == "[CLS] a [MASK]. [SEP]"


@pytest.mark.parametrize("wrong", [[[1, 2]], np.array([[1]]), "ab", "12", [None], [1, 2.0], 5, {1: 2}])
def test_only_the_ids_of_one_text_are_decoded(small_tokenizer, wrong):
    with pytest.raises(InputError, match=r"`ids` must be whole numbers, those of one text|a list of ids was expected"):
        small_tokenizer.decode(wrong)


def test_ids_of_any_library_are_decoded(small_tokenizer):
    class Scalar:
        """A number of TensorFlow or JAX."""

        def __init__(self, number):
            self.number = number

        def __index__(self):
            return self.number

    ids = [*small_tokenizer.encode("bada falo"), small_tokenizer.pad_id]
    for given in (tuple(ids), np.array(ids, np.uint8), [*map(Scalar, ids)], iter(ids)):
        assert small_tokenizer.decode(given) == "bada falo"


def test_a_pickled_tokenizer_needs_no_file(small_model, tmp_path):
    copy = tmp_path / "copy.model"
    with open(small_model, "rb") as file:
        copy.write_bytes(file.read())
    tokenizer = AlbertTokenizer(str(copy), do_lower_case=False, keep_accents=True)
    dumped = pickle.dumps(tokenizer)
    copy.unlink()
    restored = pickle.loads(dumped)
    assert restored.encode("In 1995, É [MASK]") == tokenizer.encode("In 1995, É [MASK]")
    assert restored.encode_with_masks("[MASK]") == [4]
    assert (restored.sha256, restored.cleaning) == (tokenizer.sha256, tokenizer.cleaning)


@pytest.mark.parametrize(
    ("piece", "starts"),
    [
        ("▁the", True),
        ("▁", True),
        ("<unk>", True),
        ("<", True),
        ("<a", True),
        ("a<", True),  # "<" is not listed, so it is no part of a word of English letters
        (">", True),
        ("a=b", True),
        (".", True),
        ("'", True),  # not a listed punctuation, but no English letter either
        ("the", False),
        ("THE", False),
        (".com", False),
        ("...", False),
        ("'s", True),
        ("1", True),
        ("é", True),
        ("aé", True),
        ("–", True),
    ],
)
def test_words_start_by_the_official_rule(piece, starts):
    assert starts_word(piece) is starts


def test_all_listed_punctuation_starts_a_word_alone_and_none_inside_one():
    for character in '!"#$%&()*+,-./:;?@[\\]^_`{|}~':
        assert starts_word(character)
        assert not starts_word(f"a{character}")
        assert not starts_word(f"{character}b")
        assert starts_word(f"▁{character}")


def test_word_starts_has_one_entry_a_piece(official_tokenizer):
    starts = official_tokenizer.word_starts
    assert starts.shape == (30_000,)
    assert starts.dtype == bool
    assert starts[:13].all()
    assert not starts[official_tokenizer.piece_to_id("ing")]


@pytest.mark.slow
def test_a_line_of_ten_megabytes_is_encoded_in_seconds(small_tokenizer):
    start = time.monotonic()
    ids = small_tokenizer.encode("ba " * 3_400_000)
    assert len(ids) >= 3_400_000
    assert len(small_tokenizer.encode("z" * 10_000_000)) >= 1
    assert time.monotonic() - start < 30


def test_importing_and_encoding_needs_no_tensorflow(small_model):
    code = (
        "import sys; from albert_tf.tokenization.tokenizer import AlbertTokenizer; "
        "import albert_tf.tokenization.packing; "
        f"AlbertTokenizer({small_model!r}).encode_with_masks('a [MASK]'); sys.exit('tensorflow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def one_line_error(path) -> str:
    with pytest.raises(InputError) as caught:
        AlbertTokenizer(str(path))
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_files_that_are_no_vocabulary_are_one_line_errors(small_model, tmp_path):
    assert "does not exist" in one_line_error(tmp_path / "nothing.model")
    assert "folder" in one_line_error(tmp_path)
    with open(small_model, "rb") as file:
        whole = file.read()
    for length in (0, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.model").write_bytes(whole[:length])
        assert f"({length} bytes) is not a sentencepiece model" in one_line_error(tmp_path / "cut.model")
    (tmp_path / "text.model").write_text("[PAD]\n[UNK]\n")
    assert "is not a sentencepiece model" in one_line_error(tmp_path / "text.model")


def test_a_vocabulary_cut_between_its_parts_is_refused(small_model, tmp_path):
    proto = new_model()
    with open(small_model, "rb") as file:
        proto.ParseFromString(file.read())
    proto.ClearField("normalizer_spec")
    (tmp_path / "cut.model").write_bytes(proto.SerializeToString())
    assert "only a part of one" in one_line_error(tmp_path / "cut.model")


def test_missing_special_pieces_are_all_named(small_model, tmp_path):
    proto = new_model()
    with open(small_model, "rb") as file:
        proto.ParseFromString(file.read())
    for piece in proto.pieces:
        if piece.piece in ("[CLS]", "[MASK]"):
            piece.piece = "x" + piece.piece
    (tmp_path / "other.model").write_bytes(proto.SerializeToString())
    message = one_line_error(tmp_path / "other.model")
    assert "lacks [CLS], [MASK]" in message
    assert "train_vocabulary" in message
