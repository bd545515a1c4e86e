"""Pairs to instances: which words are hidden and what stands in their place.

The procedure is that of the official create_pretraining_data.py (create_masked_lm_predictions), by the rules of
albert_tf/records/masking_rules.py; docs/data.md lists what is done otherwise and what `reference_quirks` brings back.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from albert_tf.records.instance_batch import InstanceBatch
from albert_tf.records.masking_rules import (
    KEEP_SHARE,
    MASK_SHARE,
    MaskingRules,
    PieceIds,
)
from data_prep.examples.draws import Draws
from data_prep.examples.segment_pairs import SegmentPairs

# What a word is, for masking whole ones.
OFFICIAL, SPACES = "official", "spaces"
WORD_BOUNDARIES = (OFFICIAL, SPACES)
# Characters in a word that is bytes, at most; and the bytes that go on with a character (UTF-8).
_LONGEST_OF_BYTES = 2
_GOES_ON = (0x80, 0xBF)


class Pieces:
    """Facts about a vocabulary that masking needs.

    Attributes:
        ids: of the special pieces, and how many there are.
        starts: 1 for an id that starts a word, else 0; uint8, by id.
        leads: whether an id is a byte that begins a character; bool, by id. None for a vocabulary without bytes.
    """

    def __init__(self, word_starts: np.ndarray, byte_values: Mapping[int, int] | None = None, **special_ids: int):
        """Takes word_starts, bool [V], Tokenizer.byte_values, and special ids that are not the official ones."""
        self.ids = PieceIds(len(word_starts), **special_ids)
        self.starts = np.asarray(word_starts, bool).astype(np.uint8)
        self.leads: np.ndarray | None = None
        if byte_values:
            self.leads = np.zeros(len(word_starts), bool)
            self.leads[[one for one, value in byte_values.items() if not _GOES_ON[0] <= value <= _GOES_ON[1]]] = True

    def word_boundary(self, text: np.ndarray) -> np.ndarray:
        """Tells where a word starts in a text of ids: 1 or 0, uint8 [T].

        A text in characters that the vocabulary lacks may be one word from end to end, which no budget of masks would
        hold: a new word starts after every _LONGEST_OF_BYTES of them.
        """
        boundary = self.starts[text]
        if self.leads is None or not len(text):
            return boundary
        leads = self.leads[text]
        characters = np.cumsum(leads)
        before = np.maximum.accumulate(np.where(boundary, characters, 0))
        in_word = characters - before
        boundary[leads & (in_word > 1) & (in_word % _LONGEST_OF_BYTES == 1)] = 1
        return boundary

    @classmethod
    def of_tokenizer(cls, tokenizer, word_boundaries: str = OFFICIAL) -> "Pieces":
        """The pieces of a Tokenizer; word_boundaries are one of WORD_BOUNDARIES."""
        names = ("pad_id", "unk_id", "cls_id", "sep_id", "mask_id")
        starts = tokenizer.word_starts if word_boundaries == OFFICIAL else tokenizer.spaced_word_starts
        return cls(starts, tokenizer.byte_values, **{name: getattr(tokenizer, name) for name in names})


@dataclasses.dataclass(frozen=True)
class _Texts:
    """The pieces of many pairs, special ones left out, one pair after the other, and where their words start.

    Attributes:
        ids: the pieces [T].
        offsets: where each pair starts in ids, and at last T; int64 [N + 1].
        middles: where each pair's second segment starts in ids; int64 [N].
        boundary: 1 where a word starts, as the record tells it; uint8 [T].
        words: where each word starts in ids, and at last T; int64 [W + 1].
        word_offsets: where each pair starts in words, and at last W; int64 [N + 1].
        word_middles: the first word of each pair's second segment; int64 [N].
    """

    ids: np.ndarray
    offsets: np.ndarray
    middles: np.ndarray
    boundary: np.ndarray
    words: np.ndarray
    word_offsets: np.ndarray
    word_middles: np.ndarray


class Masker:
    """Masks many pairs at once."""

    def __init__(self, rules: MaskingRules, pieces: Pieces):
        self.rules = rules
        self.pieces = pieces
        self._replacements = pieces.ids.replacements(with_specials=rules.reference_quirks)
        self._cumulative = rules.ngram_borders()

    def mask(self, ids: np.ndarray, pairs: SegmentPairs, draws: Draws) -> tuple[InstanceBatch, np.ndarray]:
        """Joins segments with [CLS] and [SEP], hides words, and notes what they were.

        Args:
            ids: the pieces that the pairs are cut from.
            pairs: the segments.
            draws: all that is drawn comes from it.

        Returns:
            (the examples; how many masked windows have 0, 1, 2, ... words: int64 [ngram + 1])
        """
        texts = self._find_words(ids, pairs)
        covered, windows = self._choose(texts, draws)
        hidden = np.flatnonzero(np.repeat(covered, np.diff(texts.words)))
        shown = self._show(texts.ids[hidden], draws)
        return self._assemble(texts, pairs, hidden, shown), windows

    def leave_unmasked(self, ids: np.ndarray, pairs: SegmentPairs) -> InstanceBatch:
        """Joins segments as `mask` does and hides nothing, for masks that are drawn later.

        Args:
            ids: the pieces that the pairs are cut from.
            pairs: the segments.
        """
        nothing = np.zeros(0, np.int64)
        return self._assemble(self._find_words(ids, pairs), pairs, nothing, nothing)

    def _find_words(self, ids: np.ndarray, pairs: SegmentPairs) -> _Texts:
        lengths = pairs.ends - pairs.starts
        text = ids[spans(pairs.starts.ravel(), lengths.ravel())]
        offsets = offsets_of(lengths.sum(axis=1))
        middles = offsets[:-1] + lengths[:, 0]
        has_second = lengths[:, 1] > 0
        boundary = self.pieces.word_boundary(text)
        if not self.rules.reference_quirks:
            boundary[offsets[:-1]] = 1
            boundary[middles[has_second]] = 1
        if self.rules.do_whole_word_mask:
            opens = boundary.copy()
            opens[offsets[:-1]] = 1
        else:
            opens = np.ones_like(boundary)
        words = np.append(np.flatnonzero(opens), len(text))
        return _Texts(
            *(text, offsets, middles, boundary, words),
            word_offsets=np.searchsorted(words, offsets),
            word_middles=np.searchsorted(words, middles),
        )

    def _choose(self, texts: _Texts, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
        """Draws windows of words until the budgets are met: a window of every pair in each turn.

        Every word, in random order, opens one window. A window too long for what is left of the budget loses
        words at its end; one that touches a masked word is given up.

        Returns:
            (1 for each word to predict; how many windows of each number of words were taken)
        """
        words, ngram = texts.words, self.rules.ngram
        covered = np.zeros(len(words) + ngram, np.uint8)
        windows = np.zeros(ngram + 1, np.int64)
        unseen = np.arange(len(words) - 1)
        left = self.rules.budgets(np.diff(texts.offsets) + 2 + (texts.middles < texts.offsets[1:]))
        turn, ends = texts.word_offsets[:-1], texts.word_offsets[1:]
        middles = ends if self.rules.reference_quirks else texts.word_middles
        while True:
            active = np.flatnonzero((left > 0) & (turn < ends))
            if len(active) == 0:
                return covered[: len(words) - 1], windows
            if len(active) < len(left):
                left, turn, ends, middles = left[active], turn[active], ends[active], middles[active]
            # A random one of the words not seen yet; the first of these takes its place, so that the order is as
            # if all had been shuffled beforehand.
            drawn = turn + draws.below(ends - turn)
            word = unseen[drawn]
            unseen[drawn] = unseen[turn]
            turn = turn + 1
            stop = np.where(word < middles, middles, ends)
            wanted = 1 + np.searchsorted(self._cumulative, draws.unit(len(word)), "right")
            after = np.minimum(word + wanted, stop)
            begin = words[word]
            for _ in range(ngram - 1):
                after -= (words[after] - begin > left) & (after > word + 1)
            size = words[after] - begin
            taken = size <= left
            for step in range(ngram):
                taken &= (covered[word + step] == 0) | (word + step >= after)
            word, after = word[taken], after[taken]
            for step in range(ngram):
                covered[(word + step)[word + step < after]] = 1
            left = left - size * taken
            windows += np.bincount(after - word, minlength=ngram + 1)

    def _show(self, originals: np.ndarray, draws: Draws) -> np.ndarray:
        """Draws what stands where pieces are to be predicted: [MASK], the piece itself, or a random one."""
        chance = draws.unit(len(originals))
        shown = np.where(chance < MASK_SHARE, self.pieces.ids.mask_id, originals)
        random = np.flatnonzero(chance >= KEEP_SHARE)
        shown[random] = self._replacements[draws.below(np.full(len(random), len(self._replacements)))]
        return shown

    def _assemble(self, texts: _Texts, pairs: SegmentPairs, hidden: np.ndarray, shown: np.ndarray) -> InstanceBatch:
        lengths = pairs.ends - pairs.starts
        first_lengths, has_second = lengths[:, 0] + 2, lengths[:, 1] > 0
        offsets = offsets_of(lengths.sum(axis=1) + 2 + has_second)
        # Where each piece of text stands among all tokens: after one [CLS] a pair, and one [SEP] or two.
        gaps = np.stack([lengths[:, 0], lengths[:, 1]], axis=1).ravel()
        places = spans(np.stack([offsets[:-1] + 1, offsets[:-1] + first_lengths], axis=1).ravel(), gaps)
        input_ids = np.full(offsets[-1], self.pieces.ids.sep_id, texts.ids.dtype)
        input_ids[offsets[:-1]] = self.pieces.ids.cls_id
        input_ids[places] = texts.ids
        boundary = np.ones(offsets[-1], np.uint8)
        boundary[places] = texts.boundary
        input_ids[places[hidden]] = shown
        prediction_offsets = np.searchsorted(hidden, texts.offsets)
        positions = places[hidden] - np.repeat(offsets[:-1], np.diff(prediction_offsets))
        return InstanceBatch(
            *(input_ids, offsets, first_lengths, boundary),
            masked_lm_positions=positions,
            masked_lm_ids=texts.ids[hidden],
            prediction_offsets=prediction_offsets,
            labels=pairs.labels,
        )


def spans(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers start, start + 1, ... of each span, one span after the other; int64 [sum of lengths]."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Starts of spans that follow one another, and at last the end; int64 [spans + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
