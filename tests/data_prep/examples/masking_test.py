"""Masking against the official procedure: every outcome of a tiny example enumerated, and a literal walk through it.

`_every_outcome` works out with fractions what masks the procedure of REFERENCE can make and how likely each is:
all orders of the windows, all n, the budget. `_literal` is the same procedure, step by step as REFERENCE states it.
"""

import itertools
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from segment_lists import from_lists

from albert_tf.records.masking_rules import PieceIds
from data_prep.examples.draws import Draws
from data_prep.examples.masking import Masker, MaskingRules, Pieces

CLS, SEP, MASK = 2, 3, 4
# Ids of at least 100 start a word, ids from 50 to 99 continue one.
PIECES = Pieces(np.array([True] * 5 + [False] * 95 + [True] * 900))


def _rules(prob=0.15, most=20, **changes) -> MaskingRules:
    return MaskingRules(prob, most, **changes)


def masked(masker, pairs, seed=0):
    """(the masked instances of (first, second, label), how many windows have 0, 1, 2, ... words)."""
    batch, windows = masker.mask(*from_lists(pairs), Draws(seed))
    return [batch.instance(number) for number in range(len(batch))], windows


def _words(first, second, straddle) -> list[list[list[int]]]:
    """For each word, the words (lists of positions) that a window from it may take, itself first."""
    words, position, segment_of = [], 1, []
    for segment, ids in enumerate((first, second)):
        for index, piece in enumerate(ids):
            opens = PIECES.starts[piece] or (index == 0 and (not straddle or segment == 0))
            if opens:
                words.append([])
                segment_of.append(segment)
            words[-1].append(position)
            position += 1
        position += 1
    return [
        [words[other] for other in range(word, len(words)) if straddle or segment_of[other] == segment_of[word]]
        for word in range(len(words))
    ]


def _take(window_words, n, budget, covered):
    """The positions that a window takes, after the rules on budget and overlap; empty if it is given up."""
    for words in range(n, 0, -1):
        positions = [*itertools.chain.from_iterable(window_words[:words])]
        if len(covered) + len(positions) <= budget:
            return positions if not covered.intersection(positions) else []
    return []


def _every_outcome(windows, budget, shares) -> dict[frozenset, Fraction]:
    outcomes: Counter = Counter()

    def walk(left, covered, chance):
        if len(covered) >= budget or not left:
            outcomes[covered] += chance
            return
        for index, window in enumerate(left):
            rest = left[:index] + left[index + 1 :]
            for n, share in enumerate(shares, 1):
                taken = _take(window, n, budget, covered)
                walk(rest, covered | frozenset(taken), chance * share / len(left))

    walk(windows, frozenset(), Fraction(1))
    return outcomes


def _literal(windows, budget, shares, rng) -> tuple[set[int], list[int]]:
    order = [*windows]
    rng.shuffle(order)
    covered, sizes = set(), []
    for window in order:
        if len(covered) >= budget:
            break
        n = rng.choices(range(1, len(shares) + 1), shares)[0]
        taken = _take(window, n, budget, covered)
        if taken:
            covered.update(taken)
            sizes.append(sum(word[0] in taken for word in window))
    return covered, sizes


def _chi_squared(counts, chances) -> float:
    """The statistic over its mean in standard deviations; beyond 5 is no chance."""
    total = sum(counts.values())
    expected = {outcome: float(chance) * total for outcome, chance in chances.items()}
    statistic = sum((counts[outcome] - mean) ** 2 / mean for outcome, mean in expected.items())
    freedom = len(expected) - 1
    return (statistic - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize("quirks", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [([100, 50, 101, 102], [103, 104]), ([100, 101], [50, 102, 51]), ([51, 100], [101, 102, 103])],
)
def test_every_mask_is_as_likely_as_the_procedure_says(first, second, quirks):
    rules = _rules(prob=0.34, reference_quirks=quirks)
    (budget,) = rules.budgets(np.array([len(first) + len(second) + 3]))
    assert budget == 3
    chances = _every_outcome(_words(first, second, quirks), budget, [Fraction(6, 11), Fraction(3, 11), Fraction(2, 11)])
    instances, _ = masked(Masker(rules, PIECES), [(first, second, 0)] * 20_000, seed=7)
    counts = Counter(frozenset(instance.masked_lm_positions) for instance in instances)
    assert set(counts) <= set(chances)
    assert abs(_chi_squared(counts, chances)) < 5


def test_windows_cross_the_separator_only_with_quirks():
    first, second = [100, 101], [102, 103]
    for quirks in (False, True):
        masker = Masker(_rules(prob=0.3, ngram=2, reference_quirks=quirks), PIECES)
        instances, _ = masked(masker, [(first, second, 0)] * 4000)
        crossing = sum(instance.masked_lm_positions == [2, 4] for instance in instances)
        # Budget 2. Without quirks the two words around [SEP] are only masked one by one.
        outcomes = _every_outcome(_words(first, second, quirks), 2, [Fraction(2, 3), Fraction(1, 3)])
        expected = float(outcomes[frozenset((2, 4))])
        assert abs(crossing / 4000 - expected) < 4 * (expected * (1 - expected) / 4000) ** 0.5


@pytest.mark.parametrize(("favor_shorter", "shares"), [(True, (6, 3, 2)), (False, (2, 3, 6))])
def test_windows_want_1_2_3_words_as_6_3_2_of_11_or_the_other_way_round(favor_shorter, shares):
    # One-piece words. With a budget of three, a window of three words is the first one and the only one; with two,
    # so is a window that wanted two words or three. The end of the text clips them.
    assert np.allclose(_rules(favor_shorter_ngram=favor_shorter).ngram_shares(), np.array(shares) / 11)
    words, trials = 120, 20_000
    for budget, expected in ((3, shares[2] / 11 * 118 / 120), (2, (shares[1] + shares[2]) / 11 * 119 / 120)):
        rules = _rules(most=budget, favor_shorter_ngram=favor_shorter)
        _, windows = masked(Masker(rules, PIECES), [([100] * words, [], 0)] * trials, seed=3)
        assert abs(windows[budget] / trials - expected) < 4 * (expected * (1 - expected) / trials) ** 0.5


def test_the_budget_shortens_windows_as_a_literal_walk_through_the_rules_does():
    rng = random.Random(11)
    ids = [rng.choice((100, 101, 102, 50)) for _ in range(125)]
    first, second = ids[:60], ids[60:]
    rules = _rules()
    windows = _words(first, second, straddle=False)
    (budget,) = rules.budgets(np.array([len(ids) + 3]))
    _, ours = masked(Masker(rules, PIECES), [(first, second, 0)] * 40_000)
    theirs = Counter()
    for _ in range(4000):
        theirs.update(_literal(windows, budget, [6, 3, 2], rng)[1])
    for words in (1, 2, 3):
        mine, expected = ours[words] / ours.sum(), theirs[words] / theirs.total()
        assert abs(mine - expected) < 0.01
    # The budget and the overlaps cost the longer windows a part of their share.
    assert ours[1] / ours.sum() > 6 / 11


def test_budget_counts_specials_rounds_halves_to_even_and_is_at_least_1():
    lengths = np.array([3, 5, 10, 30, 50, 70, 128, 512])
    assert _rules().budgets(lengths).tolist() == [1, 1, 2, 4, 8, 10, 19, 20]
    assert _rules(most=77).budgets(lengths[-1:]).tolist() == [77]
    assert _rules(prob=0.0).budgets(lengths).tolist() == [0] * 8


def test_four_in_five_are_masked_and_half_the_rest_left_alone():
    masker = Masker(_rules(prob=1.0, most=500), PIECES)
    shown, trials = Counter(), 0
    pieces_drawn = Counter()
    for instance in masked(masker, [([500] * 200, [500] * 200, 0)] * 200, seed=5)[0]:
        for position, original in zip(instance.masked_lm_positions, instance.masked_lm_ids):
            piece = instance.input_ids[position]
            assert original == 500
            shown["mask" if piece == MASK else "kept" if piece == 500 else "random"] += 1
            pieces_drawn[piece] += piece not in (MASK, 500)
            trials += 1
    assert trials > 60_000
    for kind, share in (("mask", 0.8), ("kept", 0.1 + 0.1 / 995), ("random", 0.1 - 0.1 / 995)):
        assert abs(shown[kind] / trials - share) < 4 * (share * (1 - share) / trials) ** 0.5
    # Random pieces are uniform over all but the five specials.
    drawn = {piece: pieces_drawn[piece] for piece in range(5, 1000) if piece != 500}
    assert sum(drawn.values()) == shown["random"]
    assert abs(_chi_squared(Counter(drawn), dict.fromkeys(drawn, 1 / len(drawn)))) < 5


def test_specials_replace_words_only_with_quirks():
    for quirks, expected in ((False, set()), (True, {0, 1, 2, 3})):
        pieces = Pieces(np.array([True] * 10))
        masker = Masker(_rules(prob=1.0, most=300, reference_quirks=quirks), pieces)
        seen = set()
        for instance in masked(masker, [([7] * 100, [8] * 100, 0)] * 50, seed=2)[0]:
            seen.update(instance.input_ids[position] for position in instance.masked_lm_positions)
        assert seen & {0, 1, 2, 3} == expected


def test_the_pieces_that_replace_others_are_all_but_the_special_ones():
    assert PieceIds(9).replacements(with_specials=False).tolist() == [5, 6, 7, 8]
    assert PieceIds(9).replacements(with_specials=True).tolist() == [*range(9)]
    elsewhere = PieceIds(9, pad_id=8, unk_id=6, cls_id=4, sep_id=2, mask_id=0)
    assert elsewhere.replacements(with_specials=False).tolist() == [1, 3, 5, 7]


def test_all_of_a_word_or_none_and_never_a_special():
    rng = random.Random(4)
    masker = Masker(_rules(prob=0.3), PIECES)
    pairs = [
        (*([rng.choice((50, 60, 100, 200)) for _ in range(rng.randint(1, 30))] for _ in range(2)), 1)
        for _ in range(300)
    ]
    for (first, second, _), instance in zip(pairs, masked(masker, pairs)[0]):
        hidden = set(instance.masked_lm_positions)
        separator = len(first) + 1
        assert not hidden & {0, separator, len(instance.input_ids) - 1}
        for position in range(1, len(instance.input_ids)):
            if not instance.token_boundary[position]:
                assert (position in hidden) == (position - 1 in hidden)
        assert len(hidden) <= masker.rules.budgets(np.array([len(instance.input_ids)]))
        assert instance.masked_lm_positions == sorted(hidden)
        text = [CLS, *first, SEP, *second, SEP]
        assert instance.masked_lm_ids == [text[position] for position in instance.masked_lm_positions]
        assert all(a == b for p, (a, b) in enumerate(zip(instance.input_ids, text)) if p not in hidden)
        assert instance.segment_ids == [0] * (separator + 1) + [1] * (len(second) + 1)
        assert instance.label == 1


def test_every_piece_is_a_word_without_whole_word_masking():
    masker = Masker(_rules(prob=0.1, ngram=1, do_whole_word_mask=False), PIECES)
    instances, _ = masked(masker, [([100, 50, 51], [52, 53], 0)] * 5000)
    counts = Counter(position for instance in instances for position in instance.masked_lm_positions)
    assert abs(_chi_squared(counts, dict.fromkeys((1, 2, 3, 5, 6), 0.2))) < 5


@pytest.mark.parametrize(("quirks", "boundary"), [(False, [1, 1, 0, 1, 1, 0, 1]), (True, [1, 0, 0, 1, 0, 0, 1])])
def test_a_piece_cut_off_from_its_word_opens_one_except_with_quirks(quirks, boundary):
    masker = Masker(_rules(reference_quirks=quirks), PIECES)
    ((instance,), _) = masked(masker, [([50, 51], [52, 53], 0)])
    assert instance.token_boundary == boundary


def test_a_single_segment_has_one_separator():
    ((instance,), _) = masked(Masker(_rules(), PIECES), [([100, 101, 102], [], 0)])
    assert len(instance.input_ids) == 5
    assert instance.segment_ids == [0] * 5
    assert len(instance.masked_lm_positions) == 1
    assert instance.masked_lm_positions[0] in (1, 2, 3)


def test_a_word_longer_than_the_budget_is_left_whole():
    ((instance,), _) = masked(Masker(_rules(prob=0.15), PIECES), [([100] + [50] * 9, [], 0)])
    assert instance.masked_lm_positions == []


def test_pairs_masked_together_are_masked_as_each_alone_would_be():
    # Pairs of all kinds in one batch, by kind, against batches of that kind alone.
    kinds = [([100, 50, 101] * 9, [102, 103] * 12, 0), ([100] * 60, [], 0), ([51, 100, 50], [101] * 3, 1)]
    masker = Masker(_rules(), PIECES)
    together, _ = masked(masker, kinds * 4000, seed=1)
    for kind, pair in enumerate(kinds):
        alone, _ = masked(masker, [pair] * 4000, seed=2 + kind)
        places = [
            Counter(position for instance in group for position in instance.masked_lm_positions)
            for group in (together[kind :: len(kinds)], alone)
        ]
        # Each example masks a place once at most, so how often it is masked is binomial.
        for position in range(len(pair[0]) + len(pair[1]) + 3):
            ours, theirs = (counts[position] / 4000 for counts in places)
            assert abs(ours - theirs) <= 5 * (2 * theirs * (1 - theirs) / 4000) ** 0.5 + 1e-9
