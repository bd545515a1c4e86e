"""A pre-trained model that fills in masks and judges orders: an export of any format, or a checkpoint as it is.

TensorFlow is imported only for what it runs; an export as ONNX or LiteRT does without.
"""

import dataclasses
import re
import reprlib
import textwrap
from collections.abc import Sequence

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.given_values import count_of, items_of, path_of
from albert_tf.runtime.settings import StrPath
from albert_tf.serving.input_fields import is_unicode
from albert_tf.serving.masked_text import MaskModel
from albert_tf.serving.model_kind import PORTABLE, SAVED_MODEL, kind_of
from albert_tf.serving.threads import set_threads
from albert_tf.tokenization.base import SPACE
from albert_tf.tokenization.byte_pieces import byte_value, with_characters
from albert_tf.tokenization.special_pieces import MASK


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
        saved_model: a SavedModel of export_saved_model, an export of export_model as ONNX or LiteRT, a run's
            output_dir, or a checkpoint of any format with its vocabulary; or a name of published weights.
        num_threads: how many threads compute; None: as many as this process may use of the processor's cores. Of
            TensorFlow it is the number for all that the process does.

    Raises:
        InputError: none of these is there, it is damaged, or its model was fine-tuned.
    """

    def __init__(self, saved_model: StrPath, num_threads: int | None = None) -> None:
        self.saved_model = path_of(saved_model)
        self._model = _open(self.saved_model, num_threads)

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
        top_k = count_of(top_k, "top_k")
        texts = [texts] if isinstance(texts, str) else items_of(texts, "texts")
        if not texts:
            return []
        all_parts = [self._split(text) for text in texts]
        found = self._model.fill(texts, top_k)
        filled = []
        for text, parts, masked in zip(texts, all_parts, found, strict=True):
            _check_count(text, parts, masked.mask_count)
            filled.append(_fill(text, parts, masked.pieces, masked.probabilities))
        return filled

    def order(self, first: str, second: str) -> tuple[float, float]:
        """Judges whether two texts stand in the order in which they were written.

        Returns:
            the probabilities of in order and of swapped.

        Raises:
            InputError: the model was not trained to judge orders.
        """
        if not self._model.judges_order:
            raise InputError(f"{self.saved_model} judges no orders: its model was trained without a sentence task")
        for text in (first, second):
            _check_text(text)
        return self._model.order(first, second)

    def _split(self, text: str) -> list[str]:
        """The parts of a text around its masks."""
        _check_text(text)
        parts = re.split(re.escape(MASK), text, flags=re.IGNORECASE if self._model.do_lower_case else 0)
        if len(parts) == 1:
            raise InputError(
                f"no {MASK} in {textwrap.shorten(text, 80)!r}; write {MASK} where a word is to be filled in"
            )
        return parts


def _open(path: str, num_threads: int | None) -> MaskModel:
    kind = kind_of(path)
    if kind == PORTABLE:
        from albert_tf.serving.portable_masks import PortableMasks

        return PortableMasks(path, num_threads)
    set_threads(num_threads, path)
    from albert_tf.serving.graph_masks import GraphMasks

    return GraphMasks(path, is_export=kind == SAVED_MODEL)


def _check_text(text: object) -> None:
    """Raises InputError for what is no text, or not UTF-8."""
    if not isinstance(text, str):
        raise InputError(f"a text was expected; received {reprlib.repr(text)}")
    if not is_unicode(text):
        raise InputError("a text is not UTF-8; convert it first")


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
    pieces = _with_characters(parts, pieces)
    for at, part in enumerate(parts[1:]):
        piece = pieces[at] if at < len(pieces) else None
        if piece is None:
            text += MASK
        else:
            text = (text.rstrip() + piece.replace(SPACE, " ")).lstrip()
        text += part
    return text


def _with_characters(parts: list[str], pieces: list[str | None]) -> list[str | None]:
    """The pieces, with the characters that bytes at neighbouring masks make up in the place of the first of them."""
    rows = [(piece or "", None if piece is None else byte_value(piece), True) for piece in pieces]
    # Bytes with text between them make up no character together.
    rows = [one for row, part in zip(rows, parts[1:]) for one in (row, (part, None, False)) if one[2] or part]
    shown = with_characters([row[0] for row in rows], [row[1] for row in rows], errors="keep")
    characters = [text for text, (_, _, is_piece) in zip(shown, rows, strict=True) if is_piece]
    return [None if piece is None else text for piece, text in zip(pieces, characters, strict=True)]
