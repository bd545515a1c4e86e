"""Documents as ids: made once for every pass over the text, in three flat arrays that can be mapped from a file."""

import array
import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

_SMALL_VOCABULARY = 1 << 16


@dataclasses.dataclass(frozen=True)
class TokenStore:
    """The documents of a part.

    Attributes:
        ids: the pieces of all sentences, one after the other; uint16, or uint32 for more than 65,536 pieces.
        sentences: where each sentence starts in `ids`, and at last len(ids); uint32. No sentence is empty.
        documents: where each document starts in `sentences`, and at last the number of sentences; uint32. No
            document is empty.
        sources: number in the corpus of each document; uint32. Pieces of one long document share it, side by side.
    """

    ids: np.ndarray
    sentences: np.ndarray
    documents: np.ndarray
    sources: np.ndarray

    @classmethod
    def from_documents(
        cls, documents: Iterable[tuple[int, Sequence[Sequence[int]]]], vocab_size: int = _SMALL_VOCABULARY
    ) -> "TokenStore":
        """Joins documents; sentences and documents without a piece are left out.

        Args:
            documents: (source, the ids of each sentence).
            vocab_size: number of pieces of the vocabulary.
        """
        ids: list[int] = []
        sentences, starts, sources = [0], [0], []
        for source, encoded in documents:
            for sentence in encoded:
                if sentence:
                    ids += sentence
                    sentences.append(len(ids))
            if len(sentences) - 1 > starts[-1]:
                starts.append(len(sentences) - 1)
                sources.append(source)
        # The standard library makes an array of a list twice as fast as NumPy.
        packed = array.array("H" if vocab_size <= _SMALL_VOCABULARY else "I", ids)
        return cls(np.array(packed), *(np.array(numbers, np.uint32) for numbers in (sentences, starts, sources)))

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self.sources)

    @property
    def num_sentences(self) -> int:
        """Number of sentences."""
        return len(self.sentences) - 1

    def keep(self, kept: np.ndarray) -> "TokenStore":
        """The same without some documents.

        Args:
            kept: bool [documents].
        """
        if kept.all():
            return self
        sentences_of = np.diff(self.documents)
        sentence_kept = np.repeat(kept, sentences_of)
        lengths = np.diff(self.sentences)
        ids = self.ids[np.repeat(sentence_kept, lengths)]
        return TokenStore(
            ids,
            np.concatenate([[0], np.cumsum(lengths[sentence_kept])]).astype(np.uint32),
            np.concatenate([[0], np.cumsum(sentences_of[kept])]).astype(np.uint32),
            self.sources[kept],
        )
