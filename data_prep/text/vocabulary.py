"""Trains a vocabulary: of sentencepiece with the pieces, ids and settings of the official English one; of WordPiece."""

import dataclasses
import io
import os
import random
import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import sentencepiece
from absl import logging

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.files import replace_file
from albert_tf.runtime.progress import ByteProgress
from albert_tf.runtime.settings import Bounds, Interval, LongCount, OneOf, OnlyWith, check, described, warn_of_idle
from albert_tf.tokenization.basic_words import check_switches, split_words
from albert_tf.tokenization.special_pieces import CLS, MASK, PAD, SEP, UNK
from albert_tf.tokenization.text_cleaning import TextCleaning, clean_text
from albert_tf.tokenization.vocabulary_file import parse_model
from albert_tf.tokenization.word_pieces import WordPieceTokenizer
from data_prep.text.documents import read_parts, sentences_of
from data_prep.text.lost_letters import LostLetters
from data_prep.text.standard_input import input_files
from data_prep.text.text_files import read_lines, size_of_files
from data_prep.text.text_reading import TextReading
from data_prep.text.word_piece_training import train_word_pieces

SENTENCEPIECE, WORDPIECE = "sentencepiece", "wordpiece"
# Of the files that are written; the first is the vocabulary.
WRITTEN_ENDINGS = {SENTENCEPIECE: (".model", ".vocab"), WORDPIECE: (WordPieceTokenizer.ending,)}
# The ids that follow from these settings: <pad> 0, <unk> 1, [CLS] 2, [SEP] 3, [MASK] 4, then the symbols, which are
# pieces of their own wherever they stand. Read from the trainer_spec inside the published model (30k-clean).
PAD_ID, UNK_ID = 0, 1
CONTROL_SYMBOLS = (CLS, SEP, MASK)
USER_DEFINED_SYMBOLS = ("(", ")", '"', "-", ".", "–", "£", "€")
FIRST_PIECES = (PAD, UNK, *CONTROL_SYMBOLS, *USER_DEFINED_SYMBOLS)

# sentencepiece leaves out longer sentences (bytes, its default, which the official vocabulary kept); we cut them.
LONGEST_SENTENCE = 4192
# The sums of the training depend on how many threads share them, so the number is the official one on any machine.
NUM_THREADS = 16
# Of the sample of a larger corpus; sentencepiece would take another in every process, whatever its seed.
_SEED = 12345
# sentencepiece works for many minutes on some larger sizes, without a word, and refuses others.
_MOST_PIECES = 10_000_000
# sentencepiece refuses to sample fewer; what it is given it takes whole.
_SMALLEST_SAMPLE = 101

_ERRORS_ONLY = 2
_TOO_HIGH = re.compile(r"Vocabulary size too high .* a value <= (\d+)")
_TOO_LOW = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")


@described
@dataclasses.dataclass(frozen=True)
class VocabularyTraining:
    """Settings for training a vocabulary."""

    input_file: Annotated[
        str, "Comma list of sentence files and globs, as split_sentences writes them; or of raw text."
    ]
    model_prefix: Annotated[str, "Where to write: PREFIX.model and PREFIX.vocab, or PREFIX.txt of WordPiece."]
    kind: Annotated[str, OneOf(SENTENCEPIECE, WORDPIECE), "Kind of vocabulary; WordPiece is BERT's."] = SENTENCEPIECE
    vocab_size: Annotated[
        int, Bounds(len(FIRST_PIECES) + 1, _MOST_PIECES), "Number of pieces, special ones among them."
    ] = 30_000
    character_coverage: Annotated[
        float,
        Interval("[0.98, 1]"),
        "Share of the corpus's characters that get pieces, 0.98 to 1; the rest become <unk>, or bytes.",
    ] = 0.99995
    byte_fallback: Annotated[
        bool,
        "Cut characters without pieces into bytes, 256 pieces more, so that nothing is <unk>; sentencepiece alone.",
    ] = False
    input_sentence_size: Annotated[
        LongCount,
        OnlyWith("kind", SENTENCEPIECE),
        "Train on a random sample of this many sentences if there are more; sentencepiece alone.",
    ] = 10_000_000
    cleaning: Annotated[TextCleaning, "Of each sentence; tokenise with the same switches later."] = dataclasses.field(
        default_factory=TextCleaning
    )
    reading: Annotated[TextReading, "How the files are read."] = dataclasses.field(default_factory=TextReading)

    def __post_init__(self):
        check(self)
        if not self.model_prefix or self.model_prefix.endswith("/"):
            raise FlagError(f"--model_prefix must end in a file name. Received {self.model_prefix!r}")
        if self.byte_fallback and self.kind == WORDPIECE:
            raise FlagError("--byte_fallback goes with --kind=sentencepiece: WordPiece has no pieces of bytes")


def train(settings: VocabularyTraining) -> int:
    """Trains the vocabulary and writes its files, each as a whole or not at all.

    The same input and settings give the same bytes on any machine.

    Returns:
        The number of sentences read.

    Raises:
        InputError: no usable text, a file that cannot be read, or a vocab_size that does not suit the corpus.
    """
    warn_of_idle(settings)
    folder = os.path.dirname(settings.model_prefix)
    with input_files(settings.input_file, folder, settings.reading.input_format) as paths:
        settings.reading.check_files(paths)
        return (_train_word_pieces if settings.kind == WORDPIECE else _train_on_files)(paths, settings)


def _train_on_files(paths: list[str], settings: VocabularyTraining) -> int:
    # Opened before the training, so that an output that cannot be written is found out at once.
    with (
        replace_file(f"{settings.model_prefix}.vocab") as vocab_file,
        replace_file(f"{settings.model_prefix}.model") as model_file,
    ):
        sentences = _Sentences(paths, settings)
        try:
            model_bytes = _train(sentences, settings)
        except _MoreThanTheSample:
            logging.info("more than --input_sentence_size=%d: reading again for a sample", settings.input_sentence_size)
            model_bytes = _train(sentences, settings)
        proto = parse_model(model_bytes, settings.model_prefix)
        assert tuple(piece.piece for piece in proto.pieces[: len(FIRST_PIECES)]) == FIRST_PIECES
        model_file.write(model_bytes)
        vocab_file.write(vocabulary_text(proto).encode("utf-8"))
    sentences.warn()
    return sentences.count


def _train_word_pieces(paths: list[str], settings: VocabularyTraining) -> int:
    check_switches(settings.cleaning)
    with replace_file(f"{settings.model_prefix}{WordPieceTokenizer.ending}") as file:
        sentences = _Sentences(paths, settings)

        def read() -> Iterator[list[str]]:
            sentences.count = 0
            for sentence in sentences.read():
                if words := split_words(sentence, settings.cleaning):
                    yield words
                    sentences.count += 1

        # Read twice, first for the characters alone.
        pieces = train_word_pieces(read, settings.vocab_size, settings.character_coverage)
        file.write("".join(f"{piece}\n" for piece in pieces).encode("utf-8"))
    sentences.warn()
    return sentences.count


def vocabulary_text(proto) -> str:
    """The text form of a vocabulary: a piece, a tab and its score on each line, the line number from 0 its id."""
    return "".join(f"{piece.piece}\t{piece.score:g}\n" for piece in proto.pieces)


class _MoreThanTheSample(Exception):
    """Signal that there are more sentences than the sample takes, so that they have to be read again."""


class _Sentences:
    """The cleaned sentences of the files, or a sample of them; keeps the error that stopped it.

    sentencepiece turns any exception of its sentence iterator into a RuntimeError, so it has to be kept here.
    """

    def __init__(self, paths: list[str], settings: VocabularyTraining):
        self.count = 0
        self.error: BaseException | None = None
        self._paths, self._sample_size, self._total = paths, settings.input_sentence_size, 0
        self._cleaning, self._reading = settings.cleaning, settings.reading
        self.lost_letters = LostLetters(settings.cleaning, settings.kind == WORDPIECE)

    def __iter__(self) -> Iterator[str]:
        self.count, self.error = 0, None
        try:
            yield from self._sampled(self._cleaned())
        except BaseException as error:
            self.error = error
            raise
        logging.info("read %d sentences; training, which takes minutes for a large corpus", self.count)

    @property
    def is_sampled(self) -> bool:
        """Tells whether only a sample of the sentences is trained on."""
        return self._total > 0

    def _cleaned(self) -> Iterator[str]:
        for sentence in self.read():
            cleaned = clean_text(sentence, self._cleaning)
            if cleaned:
                self.count += 1
                yield from cut_long_sentence(cleaned)

    def _sampled(self, sentences: Iterable[str]) -> Iterator[str]:
        """All sentences; of more than the sample takes, at the second reading, so many of them, each as likely."""
        if not self._total:
            number = 0
            for number, sentence in enumerate(sentences, 1):
                if number <= self._sample_size:
                    yield sentence
            if number > self._sample_size:
                self._total = number
                raise _MoreThanTheSample
            return
        draws, missing = random.Random(_SEED), self._sample_size
        for left, sentence in zip(range(self._total, 0, -1), sentences):
            if draws.random() * left < missing:
                missing -= 1
                yield sentence

    def read(self) -> Iterator[str]:
        """The sentences as they stand in the files."""
        with ByteProgress(size_of_files(self._paths), "reading") as progress:
            if self._reading.split_sentences:
                for part in read_parts(self._paths, report=progress.advance, reading=self._reading):
                    for document in part.documents:
                        yield from map(self._counted, sentences_of(document, self._reading))
                return
            for path in self._paths:
                for _, line in read_lines(path, progress.advance):
                    yield self._counted(line)

    def _counted(self, sentence: str) -> str:
        self.lost_letters.add(sentence)
        return sentence

    def warn(self) -> None:
        """Warns of letters that cleaning made others of."""
        if line := self.lost_letters.describe():
            logging.warning("%s", line)


def cut_long_sentence(sentence: str, longest: int = LONGEST_SENTENCE) -> Iterator[str]:
    """Cuts a sentence of more than `longest` bytes (UTF-8) at spaces; a longer word is cut anywhere."""
    start = 0
    while start < len(sentence):
        # A character is at least a byte, so this slice holds all that fits.
        head = sentence[start : start + longest].encode("utf-8")[:longest].decode("utf-8", "ignore")
        space = head.rfind(" ")
        if start + len(head) < len(sentence) and space > 0:
            head = head[:space]
        start += len(head)
        if head.strip(" "):
            yield head


def _train(sentences: _Sentences, settings: VocabularyTraining) -> bytes:
    output = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=output,
            model_type="unigram",
            vocab_size=settings.vocab_size,
            character_coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            input_sentence_size=max(_SMALLEST_SAMPLE, settings.input_sentence_size),
            shuffle_input_sentence=True,
            max_sentence_length=LONGEST_SENTENCE,
            num_threads=NUM_THREADS,
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=-1,
            eos_id=-1,
            control_symbols=list(CONTROL_SYMBOLS),
            user_defined_symbols=list(USER_DEFINED_SYMBOLS),
            minloglevel=_ERRORS_ONLY,
        )
    except RuntimeError as error:
        if sentences.error is not None:
            raise sentences.error from None
        raise _explain(str(error), sentences, settings) from None
    return output.getvalue()


def _explain(message: str, sentences: _Sentences, settings: VocabularyTraining) -> Exception:
    """The user's mistake that led to an error of the trainer's, or the error itself."""
    if not sentences.count:
        return InputError(f"--input_file: there is no text in {settings.input_file}")
    if match := _TOO_HIGH.search(message):
        text, more = f"this corpus of {sentences.count} sentences", "more text"
        if sentences.is_sampled:
            text, more = f"a sample of {settings.input_sentence_size} sentences", "a larger --input_sentence_size"
        return InputError(
            f"--vocab_size={settings.vocab_size} is too large for {text}; it allows at most {match[1]}. Give that or "
            f"less, or {more}"
        )
    if match := _TOO_LOW.search(message):
        return InputError(
            f"--vocab_size={settings.vocab_size} is too small: characters and special pieces alone are {match[1]}. "
            "Give more, or a lower --character_coverage"
        )
    if "too large" in message:
        return InputError(
            f"the corpus of {sentences.count} sentences is too large for sentencepiece; lower --input_sentence_size"
        )
    return RuntimeError(f"sentencepiece could not train: {message}")
