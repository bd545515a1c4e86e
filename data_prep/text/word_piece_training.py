"""Trains a WordPiece vocabulary, with the trainer of the tokenizers library on words as our tokenizer cuts them."""

from collections import Counter
from collections.abc import Callable, Iterable

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.packages import import_extra
from albert_tf.tokenization.basic_words import is_ideograph, is_punctuation
from albert_tf.tokenization.word_piece_file import INSIDE, WORD_PIECE_SPECIALS
from albert_tf.tokenization.word_pieces import MAX_WORD_CHARACTERS

# Pieces that come of fewer places of the corpus are not made (BertWordPieceTokenizer of the library).
_MIN_FREQUENCY = 2


def train_word_pieces(read_sentences: Callable[[], Iterable[list[str]]], vocab_size: int, coverage: float) -> list[str]:
    """The pieces of a vocabulary, special ones first, then characters, then what they make up, commonest first.

    The same sentences give the same pieces.

    Args:
        read_sentences: gives the words of each sentence; called twice, once to count characters.
        vocab_size: number of pieces, the special ones among them.
        coverage: share of all characters that get pieces; words with others are unknown.

    Raises:
        InputError: the tokenizers library is not installed, there is no text, or vocab_size does not suit the text.
    """
    tokenizers = import_extra("tokenizers", "wordpiece", "--kind=wordpiece")
    counts: Counter[str] = Counter()
    for words in read_sentences():
        counts.update("".join(words))
    characters = _covered(counts, coverage)
    if not characters:
        raise InputError("--input_file: there is no text in it")
    # The library takes what it has not been given in the order of a hash, and breaks ties by that order.
    inside = [letter for letter in sorted(characters) if not is_punctuation(letter) and not is_ideograph(letter)]
    first = [*WORD_PIECE_SPECIALS, *sorted(characters), *(INSIDE + letter for letter in inside)]
    if vocab_size < len(first):
        raise InputError(
            f"--vocab_size={vocab_size} is too small: {len(characters)} characters, at the start of words and inside, "
            f"and special pieces alone are {len(first)}. Give more, or a lower --character_coverage"
        )
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(unk_token=WORD_PIECE_SPECIALS[1], max_input_chars_per_word=MAX_WORD_CHARACTERS)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=_MIN_FREQUENCY,
        show_progress=False,
        special_tokens=first,
        continuing_subword_prefix=INSIDE,
    )
    sentences = (" ".join(word for word in words if characters.issuperset(word)) for words in read_sentences())
    tokenizer.train_from_iterator(sentences, trainer)
    vocabulary = tokenizer.get_vocab()
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    if len(pieces) < vocab_size:
        raise InputError(
            f"--vocab_size={vocab_size} is too large for this corpus, which allows at most {len(pieces)}. Give that or "
            "less, or more text"
        )
    return pieces


def _covered(counts: Counter[str], coverage: float) -> frozenset[str]:
    """The commonest characters that together make up the share."""
    missing, kept = coverage * counts.total(), []
    # Of equally common ones the first in the order of code points.
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if missing <= 0:
            break
        kept.append(character)
        missing -= count
    return frozenset(kept)
