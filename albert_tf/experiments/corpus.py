"""The text and the vocabulary of an experiment, and of a row that has more text, or a vocabulary of its own."""

import dataclasses

from albert_tf.experiments.command_lines import READING, VOCABULARY, names_of
from albert_tf.experiments.row import Row
from albert_tf.experiments.steps import Given, Made, Own, Step
from albert_tf.runtime.digests import digest_of_files
from albert_tf.runtime.files import list_files

_PREFIX, _RESULT = "vocabulary", "vocabulary.model"


@dataclasses.dataclass(frozen=True)
class Corpus:
    """The text and the vocabulary that an experiment works on.

    Attributes:
        train: text to train on.
        held_out: text to evaluate on.
        vocabulary: its file.
        vocab_size: pieces in it.
    """

    train: Given
    held_out: Given
    vocabulary: Given | Made
    vocab_size: int

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
        InputError: there is no more_text.
    """
    if row.more_text is not None:
        more = digest_of_files(list_files(row.more_text, "more_text"))
        both = Given(f"{corpus.train.path},{row.more_text}", f"{corpus.train.digest} {more}")
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
