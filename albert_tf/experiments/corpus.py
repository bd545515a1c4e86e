"""The text and the vocabulary of an experiment, and of a row that has more text, or a vocabulary of its own."""

import dataclasses
from collections.abc import Mapping

from albert_tf.experiments.command_lines import READING, VOCABULARY, names_of
from albert_tf.experiments.given_text import check_held_out, read_text
from albert_tf.experiments.row import Row
from albert_tf.experiments.steps import Given, Made, Own, Step

_PREFIX, _RESULT = "vocabulary", "vocabulary.model"


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The text and the vocabulary that an experiment works on.

    Attributes:
        train: text to train on.
        held_out: text to evaluate on.
        vocabulary: its file.
        vocab_size: pieces in it.
        not_to_train_on: the files that the held-out text is, or was taken from, by their SHA-256.
    """

    train: Given
    held_out: Given
    vocabulary: Given | Made
    vocab_size: int
    not_to_train_on: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def vocabulary_key(self) -> str:
        """The vocabulary's identity."""
        return self.vocabulary.digest if isinstance(self.vocabulary, Given) else self.vocabulary.step.key

    def name_of_vocabulary(self) -> str:
        """The vocabulary, for errors."""
        return self.vocabulary.path if isinstance(self.vocabulary, Given) else "the row's vocabulary"


def corpus_of_row(corpus: Corpus, row: Row) -> Corpus:
    """The text and the vocabulary that a row works on.

    Args:
        corpus: the experiment's.
        row: of the experiment.

    Raises:
        InputError: there is no more_text, or it is held-out text.
    """
    if row.more_text is not None:
        more = read_text(row.more_text, "more_text")
        check_held_out(more, corpus.not_to_train_on, "more_text")
        both = Given(f"{corpus.train.path},{row.more_text}", f"{corpus.train.digest} {more.digest}")
        corpus = dataclasses.replace(corpus, train=both)
    if row.vocabulary is None:
        return corpus
    flags = {
        **{"input_file": corpus.train, "model_prefix": Own(_PREFIX), "vocab_size": row.vocabulary["vocab_size"]},
        **names_of(row.records, READING),
        **row.vocabulary,
    }
    step = Step(VOCABULARY, flags, _RESULT, fixed={"overwrite": True})
    return dataclasses.replace(corpus, vocabulary=Made(step, _RESULT), vocab_size=row.vocabulary["vocab_size"])
