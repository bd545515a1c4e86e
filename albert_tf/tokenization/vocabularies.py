"""The tokenizer of a vocabulary, whichever kind it is: sentencepiece or WordPiece."""

import dataclasses

from albert_tf.runtime.settings import StrPath
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabulary_file import is_word_pieces
from albert_tf.tokenization.word_pieces import WordPieceTokenizer


def make_tokenizer(path: StrPath, cleaning: TextCleaning = OFFICIAL_CLEANING) -> AlbertTokenizer | WordPieceTokenizer:
    """Reads a vocabulary: a file whose name ends in .txt is a WordPiece one.

    Args:
        path: a .model, .spm or tokenizer.json file, or a vocab.txt, local or remote.
        cleaning: of texts.

    Raises:
        InputError: the file is missing, damaged, or no such vocabulary.
    """
    switches = dataclasses.asdict(cleaning)
    return WordPieceTokenizer(path, **switches) if is_word_pieces(str(path)) else AlbertTokenizer(path, **switches)
