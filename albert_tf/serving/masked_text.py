"""A text's masks as a model fills them in, however it is run."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol


@dataclasses.dataclass(frozen=True)
class MaskedText:
    """The likeliest pieces for the masks of one text.

    Attributes:
        mask_count: how many masks the model read.
        pieces: for each mask its pieces as the vocabulary has them, likeliest first.
        probabilities: of these pieces, over the whole vocabulary.
    """

    mask_count: int
    pieces: list[list[str]]
    probabilities: list[list[float]]


class MaskModel(Protocol):
    """A pre-trained model that is asked with texts: PortableMasks or GraphMasks."""

    do_lower_case: bool
    judges_order: bool

    def fill(self, texts: Sequence[str], top_k: int) -> list[MaskedText]:
        """The likeliest pieces for the masks of each text."""

    def order(self, first: str, second: str) -> tuple[float, float]:
        """The probabilities that two texts stand in order, and that they are swapped."""
