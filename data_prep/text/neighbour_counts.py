"""Word embeddings counted from a text: which pieces stand near which others, in as many dimensions as the model has.

Positive pointwise mutual information of pieces within a window, near ones counting more, and its largest singular
vectors (Levy, Goldberg and Dagan, 2015, "Improving distributional similarity with lessons learned from word
embeddings": contexts to the power 0.75, singular values to the power 0.5). Pre-training that starts from them need
not find out by gradients what can be counted in a minute.

Shapes: V pieces of the vocabulary, E dimensions.
"""

import dataclasses
import io
import os
from typing import Annotated

import numpy as np
from absl import logging

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import replace_file
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.progress import ByteProgress
from albert_tf.runtime.settings import Count, LongCount, check, described
from albert_tf.tokenization.base import Tokenizer
from data_prep.text.documents import read_parts, sentences_of
from data_prep.text.standard_input import input_files
from data_prep.text.text_files import size_of_files
from data_prep.text.text_reading import TextReading

# Makes rare contexts count less.
CONTEXT_POWER = 0.75
# Pieces that are counted together before they are added to the rest: memory of some 100 MB.
_CHUNK = 2_000_000


@described
@dataclasses.dataclass(frozen=True)
class EmbeddingCounting:
    """Settings for counting embeddings."""

    input_file: Annotated[str, "Comma list of sentence files and globs; or of raw text."]
    output_file: Annotated[str, "Where the embeddings go (.npz)."]
    tokenizer: Annotated[Tokenizer, "The vocabulary; it cleans text as when the records were made."]
    embedding_size: Annotated[Count, "Dimensions: embedding_size of the model's config."] = 128
    window: Annotated[Count, "How far apart two pieces may stand to be neighbours, in pieces."] = 2
    max_pieces: Annotated[LongCount, "Stop reading there; memory grows with what is read."] = 50_000_000
    reading: Annotated[TextReading, "How the files are read."] = dataclasses.field(default_factory=TextReading)

    def __post_init__(self):
        check(self)
        if self.embedding_size >= self.tokenizer.vocab_size:
            raise InputError(
                f"--embedding_size={self.embedding_size} must be less than the {self.tokenizer.vocab_size} pieces of "
                f"{self.tokenizer.model_file}"
            )


def count_embeddings(settings: EmbeddingCounting) -> tuple[int, int]:
    """Counts the text, and writes float32 [V, E] as "word_embeddings", with "vocabulary" as JSON beside it.

    Pieces without neighbours, and the special ones, have rows of zeros.

    Returns:
        how many pieces were read, and how many of the vocabulary have neighbours.

    Raises:
        InputError: a file that cannot be read, or too little text for so many dimensions.
    """
    folder = os.path.dirname(settings.output_file)
    with input_files(settings.input_file, folder, settings.reading.input_format) as paths:
        settings.reading.check_files(paths)
        return _count_files(paths, settings)


def _count_files(paths: list[str], settings: EmbeddingCounting) -> tuple[int, int]:
    tokenizer = settings.tokenizer
    # Opened before the work, so that an output that cannot be written is found out at once.
    with replace_file(settings.output_file) as file:
        counts = NeighbourCounts(tokenizer, settings.window)
        with ByteProgress(size_of_files(paths), "counting") as progress:
            for part in read_parts(paths, report=progress.advance, reading=settings.reading):
                if counts.num_pieces >= settings.max_pieces:
                    logging.warning(
                        "--max_pieces=%d is reached; %d MB of the input are not read",
                        *(settings.max_pieces, progress.remaining // 1_000_000),
                    )
                    break
                for document in part.documents:
                    counts.add(tokenizer.encode_batch(sentences_of(document, settings.reading)))
        logging.info("%d pieces; finding %d dimensions", counts.num_pieces, settings.embedding_size)
        embeddings = embed(counts.total(), settings.embedding_size)
        vocabulary = {"file": tokenizer.model_file, "sha256": tokenizer.sha256, "size": tokenizer.vocab_size}
        buffer = io.BytesIO()
        np.savez(buffer, word_embeddings=embeddings, vocabulary=to_json(vocabulary))
        file.write(buffer.getbuffer())
    return counts.num_pieces, int(np.count_nonzero(embeddings.any(axis=1)))


class NeighbourCounts:
    """Counts which pieces stand within a window of each other, 1 / distance for each time.

    Args:
        tokenizer: the vocabulary; its special pieces are not counted.
        window: the largest distance.
    """

    def __init__(self, tokenizer: Tokenizer, window: int):
        self._sparse = _import_scipy().sparse
        self._window = window
        self._is_counted = np.ones(tokenizer.vocab_size, bool)
        specials = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id")
        self._is_counted[[getattr(tokenizer, name) for name in specials]] = False
        # Between documents, so that the end of one is no neighbour of the next.
        self._gap = [tokenizer.pad_id] * window
        self._waiting: list[int] = []
        self._total = self._sparse.csr_matrix((tokenizer.vocab_size,) * 2, dtype=np.float32)
        self.num_pieces = 0

    def add(self, sentences: list[list[int]]) -> None:
        """Counts a document, which is its sentences one after the other."""
        for ids in sentences:
            self._waiting += ids
            self.num_pieces += len(ids)
        self._waiting += self._gap
        if len(self._waiting) > _CHUNK:
            self._count_waiting()

    def total(self):
        """The counts, float32 [V, V], symmetric, in scipy's compressed rows."""
        self._count_waiting()
        return self._total + self._total.T.tocsr()

    def _count_waiting(self) -> None:
        ids = np.array(self._waiting, np.int64)
        self._waiting = []
        size = len(self._is_counted)
        for distance in range(1, self._window + 1):
            first, second = ids[:-distance], ids[distance:]
            both = self._is_counted[first] & self._is_counted[second]
            pairs, times = np.unique(first[both] * size + second[both], return_counts=True)
            weights = (times / distance).astype(np.float32)
            self._total += self._sparse.csr_matrix((weights, (pairs // size, pairs % size)), shape=(size, size))


def embed(counts, dimensions: int) -> np.ndarray:
    """The vectors of the pieces.

    Args:
        counts: [V, V], symmetric, of scipy.sparse.
        dimensions: E.

    Returns:
        float32 [V, E], zeros for a piece without neighbours.

    Raises:
        InputError: fewer pieces have neighbours than there are dimensions.
    """
    information = positive_information(counts)
    has_neighbours = np.diff(information.indptr) > 0
    found = np.count_nonzero(has_neighbours)
    if found <= dimensions:
        raise InputError(
            f"--input_file: {found} pieces with neighbours are too few for --embedding_size={dimensions}; "
            "give more text, or another vocabulary"
        )
    # A start of its own, so that the same counts give the same vectors.
    start = np.random.default_rng(0).standard_normal(len(has_neighbours)).astype(np.float32)
    left, values, _ = _import_scipy().sparse.linalg.svds(information, k=dimensions, v0=start)
    # Which of its two signs a vector has, the processor's rounding decides: let its largest number be positive.
    largest = left[np.abs(left).argmax(axis=0), np.arange(dimensions)]
    # What the others have is rounding.
    return (left * (np.sign(largest) * np.sqrt(values)) * has_neighbours[:, None]).astype(np.float32)


def positive_information(counts):
    """max(0, log(p(i, j) / (p(i) p'(j)))), where p' is of the smoothed contexts; float32, compressed rows."""
    counts = counts.tocoo()
    of_piece = np.bincount(counts.row, counts.data, counts.shape[0])
    smoothed = of_piece**CONTEXT_POWER
    smoothed /= max(smoothed.sum(), 1.0)
    information = np.log(counts.data / (of_piece[counts.row] * smoothed[counts.col]))
    kept = information > 0
    pairs = (counts.row[kept], counts.col[kept])
    return type(counts)((information[kept].astype(np.float32), pairs), shape=counts.shape).tocsr()


def _import_scipy():
    try:
        import scipy.sparse.linalg
    except ImportError:
        raise InputError("count_embeddings needs the extra embeddings: pip install 'albert_tf[embeddings]'") from None
    return scipy
