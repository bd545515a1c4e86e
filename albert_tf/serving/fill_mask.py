"""A pre-trained model that fills in masks and judges orders: a SavedModel, or a checkpoint without exporting it."""

import dataclasses
import os
import re
import reprlib
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from albert_tf.conversion.formats import FORMATS
from albert_tf.published.local_copy import local_copy
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.runtime.settings import StrPath
from albert_tf.serving import signatures
from albert_tf.serving.export_file import holds_saved_model
from albert_tf.serving.loading import load_export, to_tensor
from albert_tf.serving.saved_model import open_pretrained
from albert_tf.serving.text_module import TOKENIZATION_INFO
from albert_tf.tokenization.special_pieces import MASK
from albert_tf.tokenization.tokenizer import SPACE


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A piece for a mask.

    Attributes:
        piece: as the vocabulary has it; SPACE at its start is the space before a word.
        probability: of the piece at this mask, over the whole vocabulary.
        text: the text with the piece in place of this mask.
    """

    piece: str
    probability: float
    text: str


@dataclasses.dataclass(frozen=True)
class FilledText:
    """A text and what the model would put where [MASK] stands.

    Attributes:
        text: as received.
        masks: for each [MASK] in turn its candidates, likeliest first.
        best: the text with each mask's likeliest piece, each chosen for itself.
    """

    text: str
    masks: list[list[Candidate]]
    best: str


class FillMask:
    """A pre-trained model, asked with text.

    Args:
        saved_model: a SavedModel of export_saved_model, a run's output_dir, or a checkpoint of any format with its
            vocabulary; or a name of published weights.

    Raises:
        InputError: none of these is there, it is damaged, or its model was fine-tuned.
    """

    def __init__(self, saved_model: StrPath) -> None:
        self.saved_model = os.fspath(saved_model).rstrip("/")
        self._load()
        self._lower_case = bool(self._signatures[TOKENIZATION_INFO]()["do_lower_case"])

    def _load(self) -> None:
        self._loaded: Any
        self._signatures: Mapping[str, Callable[..., Any]]
        # Kept, since the signatures live as long as what they were loaded with.
        folder = local_copy(self.saved_model)
        if _is_checkpoint(folder):
            self._loaded, self._signatures = open_pretrained(self.saved_model)
        else:
            self._loaded, _ = load_export(folder, (signatures.FILL_MASK,))
            self._signatures = self._loaded.signatures

    def __call__(self, texts: Sequence[str] | str, top_k: int = 5) -> list[FilledText]:
        """The same as `fill_mask`."""
        return self.fill_mask(texts, top_k)

    def fill_mask(self, texts: Sequence[str] | str, top_k: int = 5) -> list[FilledText]:
        """The likeliest pieces for every "[MASK]" of the texts, which are run as one batch.

        Args:
            texts: each with at least one "[MASK]"; one that stands alone is a list of one.
            top_k: how many pieces for a mask.

        Raises:
            InputError: a text without "[MASK]" or with one beyond the longest sequence, or top_k below 1.
        """
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"`top_k` must be at least 1. Received {reprlib.repr(top_k)}")
        if not isinstance(texts, str | Iterable):
            raise InputError(f"texts were expected; received {reprlib.repr(texts)}")
        texts = [texts] if isinstance(texts, str) else list(texts)
        if not texts:
            return []
        all_parts = [self._split(text) for text in texts]
        # int32 holds no more, and no vocabulary has as many pieces.
        limit = tf.constant(min(top_k, tf.int32.max))
        outputs = self._call(signatures.FILL_MASK, text=to_tensor(texts), top_k=limit)
        filled = []
        for at, (text, parts) in enumerate(zip(texts, all_parts, strict=True)):
            _check_count(text, parts, int(outputs["mask_count"][at]))
            pieces = [[piece.decode() for piece in row] for row in outputs["pieces"][at].numpy()]
            filled.append(_fill(text, parts, pieces, outputs["probabilities"][at].numpy().tolist()))
        return filled

    def order(self, first: str, second: str) -> tuple[float, float]:
        """Judges whether two texts stand in the order in which they were written.

        Returns:
            the probabilities of in order and of swapped.

        Raises:
            InputError: the model was not trained to judge orders.
        """
        if signatures.SOP_FROM_TEXT not in self._signatures:
            raise InputError(
                f"--saved_model: {self.saved_model} has no signature {signatures.SOP_FROM_TEXT}; "
                "its model was trained without a sentence task"
            )
        outputs = self._call(signatures.SOP_FROM_TEXT, first=to_tensor([first]), second=to_tensor([second]))
        return float(outputs["in_order"][0]), float(outputs["swapped"][0])

    def _call(self, signature: str, **inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        """Calls a signature and checks that what it returns is finite; reports an error of TensorFlow as one line."""
        try:
            outputs = self._run(signature, inputs)
        except tf.errors.ResourceExhaustedError:
            raise InputError(f"{self.saved_model}: no memory for so many texts at once; give fewer") from None
        except tf.errors.OpError as error:
            raise InputError(f"{self.saved_model}: the model failed: {reason_of(error)}") from None
        for name, values in outputs.items():
            if values.dtype.is_floating and not bool(tf.reduce_all(tf.math.is_finite(values))):
                raise InputError(
                    f"{self.saved_model}: the model's {name} is not a finite number; its weights are damaged"
                )
        return outputs

    def _run(self, signature: str, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        try:
            outputs: dict[str, tf.Tensor] = self._signatures[signature](**inputs)
        except tf.errors.NotFoundError:
            # tf.random.set_seed takes the vocabulary away from a graph that was not loaded from a SavedModel.
            self._load()
            outputs = self._signatures[signature](**inputs)
        return outputs

    def _split(self, text: str) -> list[str]:
        """The parts of a text around its masks."""
        if not isinstance(text, str):
            raise InputError(f"a text was expected; received {reprlib.repr(text)}")
        parts = re.split(re.escape(MASK), text, flags=re.IGNORECASE if self._lower_case else 0)
        if len(parts) == 1:
            raise InputError(
                f"no {MASK} in {textwrap.shorten(text, 80)!r}; write {MASK} where a word is to be filled in"
            )
        return parts


def _is_checkpoint(path: str) -> bool:
    """Tells whether a checkpoint lies there, and no SavedModel."""
    return not holds_saved_model(path) and any(format.recognise(path) for format in FORMATS.values())


def _check_count(text: str, parts: list[str], count: int) -> None:
    """Raises InputError if the model saw other masks than the text shows."""
    if len(parts) - 1 != count:
        raise InputError(
            f"{len(parts) - 1} {MASK} in {textwrap.shorten(text, 80)!r}, but the model read {count}: the text is "
            "longer than the model takes, or a mask is spelt in odd characters; shorten it, and write masks plainly"
        )


def _fill(text: str, parts: list[str], pieces: list[list[str]], probabilities: list[list[float]]) -> FilledText:
    """Puts the pieces, by mask and likeliest first, into the text; rows beyond its masks are padding."""
    masks = [
        [
            Candidate(piece, probability, _join(parts, [None] * at + [piece]))
            for piece, probability in zip(pieces[at], probabilities[at], strict=True)
        ]
        for at in range(len(parts) - 1)
    ]
    return FilledText(text, masks, _join(parts, [candidates[0].piece for candidates in masks]))


def _join(parts: list[str], pieces: list[str | None]) -> str:
    """The text with pieces in place of its masks; a mask whose piece is None, or that has none, stays.

    A space before a mask belongs to the piece that stood there, so a piece without one joins the word before it.
    """
    text = parts[0]
    for at, part in enumerate(parts[1:]):
        piece = pieces[at] if at < len(pieces) else None
        if piece is None:
            text += MASK
        else:
            text = (text.rstrip() + piece.replace(SPACE, " ")).lstrip()
        text += part
    return text
