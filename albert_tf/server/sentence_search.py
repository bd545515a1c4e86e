"""The nearest sentences of a file to a text: cosines of vectors, all of which are computed at the start.

Shapes: B batch, S pieces, H hidden units.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.heads.pooling import POOLED, USUAL_POOLING
from albert_tf.rows.input_lines import open_input, read_lines
from albert_tf.runtime.errors import InputError
from albert_tf.server.joining import EMBED_FROM_TEXT, TOKENS_FROM_TEXT
from albert_tf.server.json_tensors import Question
from albert_tf.server.served_model import ServedModel
from albert_tf.server.settings import ServerSettings
from albert_tf.serving.input_fields import is_unicode
from albert_tf.serving.nearest import find_nearest

# Vectors of ALBERT-base for so many are 300 MB.
MOST_SENTENCES = 100_000
_EMBEDDING = "embedding"
_FLAG = "--page_sentences_file"
_SECONDS_BETWEEN_LINES = 10.0


class SentenceSearch:
    """Sentences with their vectors.

    Attributes:
        model_name: of the model whose vectors they are.
        sentences: as the file has them, without blank ones.
    """

    def __init__(self, model_name: str, sentences: Sequence[str], vectors: np.ndarray, signature: str):
        self.model_name, self.sentences = model_name, sentences
        self._vectors, self._signature = vectors, signature

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
        name = next((name for name, model in models.items() if _signature(model) is not None), None)
        if name is None:
            raise InputError(
                f"{_FLAG} needs a model that was only pre-trained, whose vectors are compared; add one by --model"
            )
        sentences = read_sentences(path, settings.max_text_chars)
        vectors = _encode_all(models[name], sentences, settings.max_batch_size)
        return cls(name, sentences, vectors, _signature(models[name]))

    def question(self, text: str) -> Question:
        """The question to the model whose answer `nearest` takes."""
        return Question(self._signature, True, {"text": _texts([text])})

    def nearest(self, outputs: Mapping[str, np.ndarray], count: int) -> list[dict[str, Any]]:
        """The sentences nearest to a text, nearest first.

        Args:
            outputs: of the model for the text.
            count: how many, if there are as many.
        """
        places, cosines = (found[0] for found in find_nearest(self._vectors, pooled(outputs), count))
        return [
            {"sentence": self.sentences[place], "cosine": float(cosine)}
            for place, cosine in zip(places, cosines, strict=True)
        ]


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
    """The vector of each text, of length 1: float32 [B, H].

    Args:
        outputs: "embedding" [B, H], the model's own; or "sequence_output" [B, S, H] and "input_mask" [B, S], of which
            the mean is taken.
    """
    if _EMBEDDING in outputs:
        return USUAL_POOLING.with_choices(POOLED).pool({"pooled_output": outputs[_EMBEDDING]})
    return USUAL_POOLING.pool(outputs)


def _signature(model: ServedModel) -> str | None:
    """The signature that gives vectors of texts, or what they are made of; None where the model has none."""
    return next((name for name in (EMBED_FROM_TEXT, TOKENS_FROM_TEXT) if name in model.signatures), None)


def _encode_all(model: ServedModel, sentences: Sequence[str], batch_size: int) -> np.ndarray:
    """float32 [sentences, H], batches of like lengths."""
    order = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))
    vectors, last_line = [], time.monotonic()
    logging.info("encoding %d sentences", len(sentences))
    for start in range(0, len(order), batch_size):
        places = order[start : start + batch_size]
        batch = _texts([sentences[place] for place in places])
        vectors.append(pooled(model.run(_signature(model), {"text": batch})))
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
