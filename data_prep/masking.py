"""Pairs to instances: which words are hidden and what stands in their place.

Whole words are masked in n-grams (ALBERT, section 4.2): a window of n words with p(n) proportional to 1/n. The
procedure is that of the official create_pretraining_data.py (create_masked_lm_predictions); docs/data.md lists what
is done otherwise and what `reference_quirks` brings back.
"""

import bisect
import dataclasses
import itertools
import random
from collections.abc import Sequence

import numpy as np

from albert_tf.inputs.pretraining_records import PretrainingInstance
from data_prep.segment_pairs import SegmentPair

# Of the pieces to be predicted, this share becomes [MASK], and as much again as is missing to KEEP_SHARE stays
# as it is; the rest is replaced by a random piece (BERT, section 3.1). Drawn for each piece on its own.
MASK_SHARE = 0.8
KEEP_SHARE = 0.9


class Pieces:
    """What masking needs to know of a vocabulary.

    Attributes:
        cls_id, sep_id, mask_id, unk_id: ids of the special pieces.
        vocab_size: number of pieces.
        starts: 1 for an id that starts a word, else 0; by id.
        specials: ids that text never holds or that stand for no text; never drawn as a random replacement.
    """

    def __init__(
        self,
        word_starts: np.ndarray,
        *,
        pad_id: int = 0,
        unk_id: int = 1,
        cls_id: int = 2,
        sep_id: int = 3,
        mask_id: int = 4,
    ):
        """Takes word_starts, bool [V], and the ids of the special pieces."""
        self.cls_id, self.sep_id, self.mask_id, self.unk_id = cls_id, sep_id, mask_id, unk_id
        self.vocab_size = len(word_starts)
        self.starts = np.asarray(word_starts, bool).astype(int).tolist()
        self.specials = frozenset((pad_id, unk_id, cls_id, sep_id, mask_id))
        self._ordinary = [piece for piece in range(self.vocab_size) if piece not in self.specials]

    @classmethod
    def of_tokenizer(cls, tokenizer) -> "Pieces":
        """The pieces of an AlbertTokenizer."""
        names = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id")
        return cls(tokenizer.word_starts, **{name: getattr(tokenizer, name) for name in names})

    def replacements(self, with_specials: bool) -> Sequence[int]:
        """The ids that a random replacement is drawn from."""
        return range(self.vocab_size) if with_specials else self._ordinary


@dataclasses.dataclass(frozen=True)
class MaskingRules:
    """How words are hidden.

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

    def budget(self, num_tokens: int) -> int:
        """How many pieces of an example of so many tokens ([CLS], [SEP] included) to predict; halves go to even."""
        if self.masked_lm_prob == 0:
            return 0
        return min(self.max_predictions_per_seq, max(1, round(num_tokens * self.masked_lm_prob)))


@dataclasses.dataclass(frozen=True, slots=True)
class MaskedInstance:
    """An instance, and how many words each masked window of it has."""

    instance: PretrainingInstance
    windows: list[int]


class Masker:
    """Masks one pair after another by the same rules."""

    def __init__(self, rules: MaskingRules, pieces: Pieces):
        self.rules = rules
        self.pieces = pieces
        self._replacements = pieces.replacements(with_specials=rules.reference_quirks)
        self._cumulative = [*itertools.accumulate(rules.ngram_shares())][:-1]

    def mask(self, pair: SegmentPair, rng: random.Random) -> MaskedInstance:
        """Joins the segments with [CLS] and [SEP], hides words, and notes what they were.

        Args:
            pair: the segments; the second may be empty.
            rng: all draws come from its random().
        """
        pieces = self.pieces
        tokens = [pieces.cls_id, *pair.first, pieces.sep_id]
        separator, segment_ids = len(tokens) - 1, [0] * len(tokens)
        if pair.second:
            tokens += [*pair.second, pieces.sep_id]
            segment_ids += [1] * (len(pair.second) + 1)
        boundary, words, words_in_first = self._find_words(tokens, separator)
        covered, windows = self._choose(words, words_in_first, separator, len(tokens), rng)
        positions = [*itertools.compress(range(len(tokens)), covered)]
        hidden = tokens.copy()
        for position in positions:
            draw = rng.random()
            if draw < MASK_SHARE:
                hidden[position] = pieces.mask_id
            elif draw >= KEEP_SHARE:
                hidden[position] = self._replacements[int(rng.random() * len(self._replacements))]
        labels = [tokens[position] for position in positions]
        instance = PretrainingInstance(hidden, segment_ids, boundary, positions, labels, pair.label)
        return MaskedInstance(instance, windows)

    def _find_words(self, tokens: list[int], separator: int) -> tuple[list[int], list[int], int]:
        """Where words start.

        Returns:
            (token_boundary; the first position of each word, and at last the end of the text; how many of the
            words are in the first segment). The end of a word is the start of the next, a [SEP] between aside.
        """
        boundary = [*map(self.pieces.starts.__getitem__, tokens)]
        boundary[0] = boundary[separator] = boundary[-1] = 1
        if not self.rules.reference_quirks:
            boundary[1] = 1
            if separator + 1 < len(tokens):
                boundary[separator + 1] = 1
        if self.rules.do_whole_word_mask:
            words = [position for position in itertools.compress(range(len(tokens)), boundary) if position > 1]
            words[:0] = [1]
            words.remove(separator)
            words_in_first = bisect.bisect_left(words, separator)
        else:
            words = [position for position in range(1, len(tokens)) if position != separator]
            words_in_first = separator - 1
        if separator == len(tokens) - 1:
            words.append(separator)
        return boundary, words, words_in_first

    def _choose(
        self, words: list[int], words_in_first: int, separator: int, length: int, rng: random.Random
    ) -> tuple[bytearray, list[int]]:
        """Draws windows of words until the budget is met.

        Every word, in random order, opens one window. A window too long for what is left of the budget loses
        words at its end; one that touches a masked piece is given up.

        Returns:
            (1 for each position to predict, the number of words of each window taken)
        """
        covered, windows = bytearray(length), []
        left = self.rules.budget(length)
        unseen = [*range(len(words) - 1)]
        straddle = self.rules.reference_quirks
        while left > 0 and unseen:
            # A random one of the unseen words: as if they had been shuffled beforehand, for less work.
            drawn = int(rng.random() * len(unseen))
            word, unseen[drawn] = unseen[drawn], unseen[-1]
            unseen.pop()
            stop = words_in_first if word < words_in_first and not straddle else len(words) - 1
            after = min(word + 1 + bisect.bisect_right(self._cumulative, rng.random()), stop)
            begin = words[word]
            while after > word:
                end = words[after]
                size = end - begin - (begin <= separator < end)
                if size <= left:
                    break
                after -= 1
            if after == word or covered.find(1, begin, end) >= 0:
                continue
            covered[begin:end] = b"\1" * (end - begin)
            covered[separator] = 0
            left -= size
            windows.append(after - word)
        return covered, windows
