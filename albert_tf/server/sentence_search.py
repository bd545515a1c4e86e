"""The nearest sentences of a file to a text: cosines of mean-pooled vectors, all of them computed at the start.

Shapes: B batch, S pieces, H hidden units.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.rows.input_lines import open_input, read_lines
from albert_tf.runtime.errors import InputError
from albert_tf.server.joining import TOKENS_FROM_TEXT
from albert_tf.server.json_tensors import Question
from albert_tf.server.served_model import ServedModel
from albert_tf.server.settings import ServerSettings
from albert_tf.serving.input_fields import is_unicode

# Vectors of ALBERT-base for so many are 300 MB.
MOST_SENTENCES = 100_000
_FLAG = "--page_sentences_file"
_SECONDS_BETWEEN_LINES = 10.0


class SentenceSearch:
    """Sentences with their vectors.

    Attributes:
        model_name: of the model whose vectors they are.
        sentences: as the file has them, without blank ones.
    """

    def __init__(self, model_name: str, sentences: Sequence[str], vectors: np.ndarray):
        self.model_name, self.sentences, self._vectors = model_name, sentences, vectors

    @classmethod
    def of_file(
        cls, path: str | None, models: Mapping[str, ServedModel], settings: ServerSettings
    ) -> "SentenceSearch | None":
        """Encodes the sentences of a file with the first model that encodes texts; None for no file.

        Raises:
            InputError: no such file or model, no sentence, too many, one that is too long or not UTF-8.
        """
        if path is None:
            return None
        name = next((name for name, model in models.items() if TOKENS_FROM_TEXT in model.signatures), None)
        if name is None:
            raise InputError(
                f"{_FLAG} needs a model that was only pre-trained, whose vectors are compared; add one by --model"
            )
        sentences = read_sentences(path, settings.max_text_chars)
        vectors = _encode_all(models[name], sentences, settings.max_batch_size)
        return cls(name, sentences, vectors)

    def question(self, text: str) -> Question:
        """The question to the model whose answer `nearest` takes."""
        return Question(TOKENS_FROM_TEXT, True, {"text": _texts([text])})

    def nearest(self, outputs: Mapping[str, np.ndarray], count: int) -> list[dict[str, Any]]:
        """The sentences nearest to a text, nearest first.

        Args:
            outputs: of the model for the text.
            count: how many, if there are as many.
        """
        cosines = self._vectors @ pooled(outputs)[0]
        order = np.argsort(-cosines, kind="stable")[:count]
        return [{"sentence": self.sentences[place], "cosine": float(cosines[place])} for place in order]


def read_sentences(path: str, max_text_chars: int) -> list[str]:
    """The lines of a file that are not blank; InputError where there is none or one that cannot be encoded."""
    sentences = []
    with open_input(path) as file:
        for number, line in enumerate(read_lines(file, path), 1):
            if not line.strip():
                continue
            if not is_unicode(line):
                raise InputError(f"{path}, line {number}: not UTF-8; convert the file")
            if len(line) > max_text_chars:
                raise InputError(
                    f"{path}, line {number}: {len(line):,} characters; at most {max_text_chars:,} are taken"
                )
            sentences.append(line.strip())
            if len(sentences) > MOST_SENTENCES:
                raise InputError(f"{path}: more than {MOST_SENTENCES:,} sentences; give a smaller file")
    if not sentences:
        raise InputError(f"{path}: no sentences; one was expected in each line")
    return sentences


def pooled(outputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Mean of each text's last hidden states, of length 1: float32 [B, H].

    Args:
        outputs: "sequence_output" [B, S, H] and "input_mask" [B, S].
    """
    mask = outputs["input_mask"][:, :, np.newaxis].astype(np.float32)
    means = (outputs["sequence_output"] * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1.0)
    return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)


def _encode_all(model: ServedModel, sentences: Sequence[str], batch_size: int) -> np.ndarray:
    """float32 [sentences, H], batches of like lengths."""
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
    vectors, last_line = [], time.monotonic()
    logging.info("encoding %d sentences", len(sentences))
    for start in range(0, len(order), batch_size):
        places = order[start : start + batch_size]
        vectors.append(pooled(model.run(TOKENS_FROM_TEXT, {"text": _texts([sentences[place] for place in places])})))
        if time.monotonic() - last_line > _SECONDS_BETWEEN_LINES:
            last_line = time.monotonic()
            logging.info("encoded %d of %d sentences", start + len(places), len(sentences))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return np.concatenate(vectors)[back]


def _texts(texts: Sequence[str]) -> np.ndarray:
    array = np.empty(len(texts), object)
    array[:] = [text.encode() for text in texts]
    return array
