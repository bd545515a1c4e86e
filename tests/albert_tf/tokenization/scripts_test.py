"""Words of other alphabets for masking: what spaces part is one, and so is each piece of a script without spaces."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.base import SPACE
from albert_tf.tokenization.scripts import starts_spaced_word
from albert_tf.tokenization.tokenizer import AlbertTokenizer, starts_word
from data_prep.examples.instances import InstanceSettings
from data_prep.job.work_units import UnitMaker
from data_prep.text.text_reading import TextReading


@pytest.mark.parametrize(
    "piece, spaced, official",
    [
        *(("▁при", True, True), ("вет", False, True), ("ing", False, False), ("é", False, True), ("19", False, True)),
        *(
            ("北京", True, True),
            ("カメラ", True, True),
            ("ครับ", True, True),
            ("्या", False, True),
            ("한국", False, True),
        ),
        *((",", True, True), ("。", True, True), ("«", True, True), (".com", False, False), ("…»", True, True)),
    ],
)
def test_which_pieces_start_a_word(piece, spaced, official):
    assert starts_spaced_word(piece, SPACE) is spaced
    assert starts_word(piece) is official


def test_a_vocabulary_knows_both(train_pieces):
    tokenizer = AlbertTokenizer(train_pieces(["привет пример 北京, прима ветер веприм"] * 50, 27))
    official, spaced = tokenizer.word_starts, tokenizer.spaced_word_starts
    for piece in ("[CLS]", "[SEP]", "[MASK]", SPACE):
        assert official[tokenizer.piece_to_id(piece)] and spaced[tokenizer.piece_to_id(piece)]
    ids = tokenizer.encode("ветер 北京")
    assert official[ids].all()
    assert spaced[ids].sum() < len(ids)


def test_the_flag_chooses_between_them(train_pieces, tmp_path):
    tokenizer = AlbertTokenizer(train_pieces(["привет пример 北京, прима ветер веприм"] * 50, 27))
    for rule, expected in (("official", tokenizer.word_starts), ("spaces", tokenizer.spaced_word_starts)):
        settings = InstanceSettings(word_boundaries=rule)
        maker = UnitMaker(tokenizer, settings, TextReading(), str(tmp_path))
        assert maker.pieces.starts.tolist() == expected.tolist()
    with pytest.raises(InputError, match="--word_boundaries must be one of official, spaces"):
        InstanceSettings(word_boundaries="words")
