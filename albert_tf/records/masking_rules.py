"""The rules of masking, the same for masks that stand in the records and for those that are drawn in training.

Whole words are masked in n-grams (ALBERT, section 4.2): a window of n words with p(n) proportional to 1/n. Two
follow the rules: data_prep/examples/masking.py, once for a set of records, and inputs/dynamic_masking.py, anew every
epoch.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

# Masks stand in the records, or are drawn when an example is read.
STATIC, DYNAMIC = "static", "dynamic"
MASKINGS = (STATIC, DYNAMIC)

# Of the pieces to be predicted, this share becomes [MASK], and as much again as is missing to KEEP_SHARE stays
# as it is; the rest is replaced by a random piece (BERT, section 3.1). Drawn for each piece on its own.
MASK_SHARE = 0.8
KEEP_SHARE = 0.9


@dataclasses.dataclass(frozen=True)
class PieceIds:
    """The facts of a vocabulary that masking needs: its size, and the ids of the special pieces."""

    vocab_size: int
    pad_id: int = 0
    unk_id: int = 1
    cls_id: int = 2
    sep_id: int = 3
    mask_id: int = 4

    def replacements(self, with_specials: bool) -> np.ndarray:
        """The ids that a random replacement is drawn from; int64.

        Args:
            with_specials: whether pieces that text never holds, or that stand for no text, are among them.
        """
        every = np.arange(self.vocab_size)
        specials = (self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id)
        return every if with_specials else np.setdiff1d(every, specials)


@dataclasses.dataclass(frozen=True)
class MaskingRules:
    """The rules by which words are hidden.

    Attributes:
        masked_lm_prob: share of an example's tokens to predict.
        max_predictions_per_seq: P, at most so many.
        ngram: the longest window in words.
        favor_shorter_ngram: p(n) ~ 1/n if true; if false the same shares, longest first.
        do_whole_word_mask: whether a word is hidden as a whole; if false every piece is a word.
        reference_quirks: whether to do as the official code does where docs/data.md calls that a fault.
    """

    masked_lm_prob: float
    max_predictions_per_seq: int
    ngram: int = 3
    favor_shorter_ngram: bool = True
    do_whole_word_mask: bool = True
    reference_quirks: bool = False

    def ngram_shares(self) -> list[float]:
        """p(n) for n = 1 .. ngram: 6/11, 3/11, 2/11 for three."""
        inverse = [1 / n for n in range(1, self.ngram + 1)]
        shares = [weight / sum(inverse) for weight in inverse]
        return shares if self.favor_shorter_ngram else shares[::-1]

    def ngram_borders(self) -> np.ndarray:
        """A draw from [0, 1) wants as many words as 1 and the number of these that it reaches; float64 [ngram - 1]."""
        return np.cumsum(self.ngram_shares())[:-1]

    def budgets(self, num_tokens: np.ndarray) -> np.ndarray:
        """Numbers of pieces to predict in examples of so many tokens ([CLS], [SEP] included); halves go to even."""
        if self.masked_lm_prob == 0:
            return np.zeros(len(num_tokens), np.int64)
        wanted = np.rint(num_tokens * self.masked_lm_prob).astype(np.int64)
        return np.clip(wanted, 1, self.max_predictions_per_seq)


def masking_to_json(rules: MaskingRules, ids: PieceIds) -> dict[str, Any]:
    """Rules and ids as the manifest of a set of records has them."""
    return {**dataclasses.asdict(rules), **dataclasses.asdict(ids)}


def masking_from_json(parameters: Mapping[str, Any]) -> tuple[MaskingRules, PieceIds]:
    """The rules and ids that masking_to_json was given.

    Raises:
        ValueError: a parameter is missing or unknown.
    """
    names = [[field.name for field in dataclasses.fields(kind)] for kind in (MaskingRules, PieceIds)]
    expected = {name for group in names for name in group}
    if wrong := sorted(expected ^ set(parameters)):
        raise ValueError(f"missing from masking_parameters, or unknown: {', '.join(wrong)}")
    rules, ids = ({name: parameters[name] for name in group} for group in names)
    return MaskingRules(**rules), PieceIds(**ids)
