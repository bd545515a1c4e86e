"""Texts to vectors, by an export of any format or by a checkpoint as it is.

TensorFlow is imported only for what it runs; an export as ONNX or LiteRT does without.

Shapes: B batch, H hidden.
"""

import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from albert_tf.heads.pooling import Pooling
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.given_values import count_of, items_of, path_of
from albert_tf.runtime.settings import StrPath
from albert_tf.serving.input_fields import is_unicode
from albert_tf.serving.model_kind import PORTABLE, SAVED_MODEL, kind_of
from albert_tf.serving.threads import set_threads

if TYPE_CHECKING:
    from albert_tf.serving.graph_vectors import GraphVectors
    from albert_tf.serving.portable_vectors import PortableVectors


class Embedder:
    """A model that makes a vector of a text.

    Attributes:
        path: of the model.
        pooling: how it makes one vector of a text, and where it cuts the text.
        hidden_size: H, the numbers of a vector.
    """

    def __init__(
        self,
        path: StrPath,
        pooling: Literal["mean", "cls", "pooled"] | None = None,
        *,
        normalize: bool | None = None,
        max_seq_length: int | None = None,
        num_threads: int | None = None,
    ) -> None:
        """Loads it.

        Args:
            path: a SavedModel of export_saved_model, an export of export_model as ONNX or LiteRT, a run's output_dir, a
                checkpoint of any format, a folder of sentence-transformers among them, or a name of published weights.
            pooling: see heads.pooling.Pooling; None: as the model says, else "mean".
            normalize: whether vectors have length 1; None: as the model says, else true.
            max_seq_length: where texts are cut, of a checkpoint; None: as the model says. An export has its own.
            num_threads: how many threads compute; None: as many as this process may use of the processor's cores. Of
                TensorFlow it is the number for all that the process does.

        Raises:
            InputError: none of these is there, it is damaged, or it cannot do what is asked for.
        """
        self.path = path_of(path)
        # A wrong word is an error before anything is loaded.
        checked = Pooling(max_seq_length=max_seq_length).with_choices(pooling, normalize)
        asked = {"mode": pooling, "normalize": normalize}
        self._model = _open(self.path, asked, checked.max_seq_length, num_threads)
        self.pooling = self._model.pooling
        self.hidden_size = self._model.hidden_size

    def __call__(self, texts: Sequence[str] | str) -> np.ndarray:
        """The same as `embed`."""
        return self.embed(texts)

    def embed(self, texts: Sequence[str] | str, batch_size: int = 32) -> np.ndarray:
        """The vectors of texts, float32 [texts, H]; texts of like lengths are run together.

        Args:
            texts: "[MASK]" in them is ordinary text. One that stands alone is a list of one.
            batch_size: how many are run together.

        Raises:
            InputError: what is no text, or no batch size.
        """
        batch_size = count_of(batch_size, "batch_size")
        texts = [texts] if isinstance(texts, str) else items_of(texts, "texts")
        for text in texts:
            if not isinstance(text, str) or not is_unicode(text):
                raise InputError(f"`texts` must be texts that UTF-8 can hold. Received {reprlib.repr(text)}.")
        vectors = np.zeros((len(texts), self.hidden_size), np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            vectors[places] = self._model.embed([texts[place] for place in places])
        return vectors


def _open(
    path: str, asked: Mapping[str, Any], max_seq_length: int | None, num_threads: int | None
) -> "GraphVectors | PortableVectors":
    kind = kind_of(path)
    if kind in (SAVED_MODEL, PORTABLE) and max_seq_length is not None:
        raise InputError(
            f"--max_seq_length is for checkpoints; {path} is an export, which cuts texts where it was told"
        )
    if kind == PORTABLE:
        from albert_tf.serving.portable_vectors import PortableVectors

        return PortableVectors(path, asked, num_threads)
    set_threads(num_threads, path)
    from albert_tf.serving.graph_vectors import GraphVectors

    return GraphVectors(path, kind == SAVED_MODEL, asked, max_seq_length)
