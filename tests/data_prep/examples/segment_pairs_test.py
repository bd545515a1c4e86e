"""Segment pairs against the rules of docs/data.md, on documents whose ids tell which sentence they come from."""

import itertools
import math
import random
from collections import Counter
from typing import NamedTuple

import pytest
from segment_lists import from_lists

from data_prep.examples.draws import Draws
from data_prep.examples.segment_pairs import (
    PairRules,
    build_pairs,
    truncate,
)
from data_prep.examples.token_store import TokenStore

TRIALS = 10_000


class _Pair(NamedTuple):
    """A pair as lists of ids."""

    first: list
    second: list
    label: int


def _document(lengths, source=0):
    """Sentence k of document s holds the ids 10000 s + 100 k, 10000 s + 100 k + 1, ..."""
    return source, [[10_000 * source + 100 * k + i for i in range(length)] for k, length in enumerate(lengths)]


def _ids(document):
    return [piece for sentence in document[1] for piece in sentence]


def _rules(task="sop", max_seq_length=23, short=0.0, quirks=False) -> PairRules:
    return PairRules(max_seq_length, short, task, quirks)


def _lists(ids, pairs):
    return [
        _Pair(*(ids[start:end].tolist() for start, end in zip(starts, ends)), int(label))
        for starts, ends, label in zip(pairs.starts, pairs.ends, pairs.labels)
    ]


def _pairs(documents, rules, seed=0, counts=None):
    """The pairs of all documents of a part, as lists."""
    store = TokenStore.from_documents(documents, vocab_size=100_000)
    return _lists(store.ids, build_pairs(store, rules, Draws(seed), Counter() if counts is None else counts))


def _many(document, rules, times, seed=0):
    """The pairs of `times` equal documents, a list for each."""
    groups, left = [], iter(_pairs([(source, document[1]) for source in range(times)], rules, seed))
    pairs = [*left]
    total = sum(map(len, document[1]))
    group, seen = [], 0
    for pair in pairs:
        group.append(pair)
        seen += len(pair.first) + len(pair.second)
        if seen == total:
            groups.append(group)
            group, seen = [], 0
    assert len(groups) == times
    return groups


def _truncate(first, second, room, times=1, seed=0):
    ids, pairs = from_lists([([*first], [*second], 0)] * times)
    return _lists(ids, truncate(pairs, room, Draws(seed)))


def _near(share, expected, trials):
    """Asserts that a binomial share is within four standard errors of its expectation."""
    assert abs(share - expected) < 4 * (expected * (1 - expected) / trials) ** 0.5


def test_chunks_end_with_the_sentence_that_reaches_the_target():
    # Target 20: sentences 0-2 make 21, of which one piece is cut off; 3-4 are what is left.
    pairs = _pairs([_document([7, 7, 7, 5, 5])], _rules())
    texts = [sorted([*pair.first, *pair.second]) for pair in pairs]
    assert [len(text) for text in texts] == [20, 10]
    assert {piece // 100 for piece in texts[0]} == {0, 1, 2}
    assert {piece // 100 for piece in texts[1]} == {3, 4}


def test_the_label_is_1_exactly_if_the_segments_are_swapped():
    labels = Counter()
    for (pair,) in _many(_document([4, 4, 4]), _rules(), 2000):
        joined = [*pair.second, *pair.first] if pair.label else [*pair.first, *pair.second]
        assert joined == sorted(joined)
        assert len(joined) == 12
        labels[pair.label] += 1
    _near(labels[1] / 2000, 0.5, 2000)


def test_every_place_between_sentences_is_as_likely():
    firsts = Counter()
    for (pair,) in _many(_document([2, 2, 2, 2]), _rules(), TRIALS):
        firsts[len(pair.second if pair.label else pair.first)] += 1
    assert sorted(firsts) == [2, 4, 6]
    for count in firsts.values():
        _near(count / TRIALS, 1 / 3, TRIALS)


def test_short_targets_are_uniform_from_2_and_drawn_once_a_pass():
    # One-piece sentences: a chunk is exactly as long as its target.
    document = _document([1] * 90)
    targets = Counter()
    # No label, one segment: nothing is used twice, so that the documents can be told apart.
    for pairs in _many(document, _rules("none", max_seq_length=22, short=1.0), 4000):
        sizes = [len(pair.first) for pair in pairs]
        assert len(set(sizes[:-1])) <= 1
        targets[sizes[0]] += 1
    assert sorted(targets) == [*range(2, 21)]
    for count in targets.values():
        _near(count / 4000, 1 / 19, 4000)


def test_short_targets_come_as_often_as_asked():
    rules = _rules("none", max_seq_length=22, short=0.1)
    lengths = Counter(len(pairs) > 3 for pairs in _many(_document([1] * 60), rules, TRIALS))
    # 60 pieces make three chunks unless the target is below 20: 18 of 19 short targets.
    _near(lengths[True] / TRIALS, 0.1 * 18 / 19, TRIALS)


def test_sop_never_takes_another_document_nor_a_chunk_of_one_sentence():
    documents = [_document([30, 1, 30, 3, 2, 9], source) for source in range(4)]
    for seed in range(300):
        seen = set()
        for pair in _pairs(documents, _rules(short=0.5), seed=seed):
            (source,) = {piece // 10_000 for piece in (*pair.first, *pair.second)}
            seen.add(source)
            first, second = ({piece // 100 for piece in segment} for segment in (pair.first, pair.second))
            assert max(first) < min(second) if pair.label == 0 else min(first) > max(second)
        assert seen == {0, 1, 2, 3}


def test_a_last_sentence_left_alone_takes_the_one_before_it_again():
    counts = Counter()
    pairs = _pairs([_document([10, 10, 10])], _rules(), counts=counts)
    assert [sorted({piece // 100 for piece in (*pair.first, *pair.second)}) for pair in pairs] == [[0, 1], [1, 2]]
    assert counts["sentences_used_twice"] == 1


def test_a_document_of_one_sentence_has_no_order():
    counts = Counter()
    (pair,) = _pairs([_document([10]), _document([5, 5], 1)], _rules(), counts=counts)
    assert {piece // 10_000 for piece in (*pair.first, *pair.second)} == {1}
    assert counts["one_sentence_documents_left_out"] == 1


def test_quirks_pair_a_lone_sentence_with_another_document():
    documents = [_document([10], 0), _document([5, 5, 5, 5], 1)]
    counts = Counter()
    pair, _ = _pairs(documents, _rules(quirks=True), counts=counts)
    assert (pair.first, pair.label) == (_ids(documents[0]), 1)
    assert {piece // 10_000 for piece in pair.second} == {1}
    assert counts["one_sentence_chunks"] == counts["random_segments"] == 1


def test_nsp_takes_random_segments_half_the_time_and_puts_unused_sentences_back():
    documents = [_document([4] * 30, source) for source in range(3)]
    labels, sources = Counter(), Counter()
    for seed in range(1000):
        expected = 0
        for pair in _pairs(documents, _rules("nsp"), seed=seed):
            if pair.first[0] // 10_000 != 1:
                continue
            assert pair.first[0] // 100 % 100 == expected
            segment = pair.first if pair.label else [*pair.first, *pair.second]
            assert [*segment] == sorted(segment)
            expected = segment[-1] // 100 % 100 + 1
            labels[pair.label] += 1
            if pair.label:
                sources[pair.second[0] // 10_000] += 1
        assert expected == 30
    assert sources[1] == 0
    _near(sources[0] / sources.total(), 0.5, sources.total())
    # A chunk of several sentences is random half the time; only a last sentence left alone always is.
    assert 0.5 < labels[1] / labels.total() < 0.56


class _Lowest(Draws):
    """Draws that always choose the lowest number, and remember between which."""

    def __init__(self):
        super().__init__(0)
        self.asked = []

    def integer(self, low, high):
        self.asked.append((low, high))
        return low


def test_quirks_look_ten_times_for_another_document():
    # Two documents of a sentence each: a chunk of one sentence asks for a document, and then for a sentence of it.
    store = TokenStore.from_documents([_document([5], 0), _document([5], 1)], vocab_size=100_000)
    draws, counts = _Lowest(), Counter()
    pairs = _lists(store.ids, build_pairs(store, _rules(quirks=True), draws, counts))
    # The first finds itself ten times over and is content with that; the second finds the first at once.
    assert draws.asked == [*[(0, 1)] * 10, (0, 0), (0, 1), (0, 0)]
    assert [pair.second[0] // 10_000 for pair in pairs] == [0, 0]
    assert counts["random_segments_of_the_same_document"] == 1


def test_a_random_segment_fills_what_the_first_leaves_of_the_target():
    documents = [_document([1] * 60, source) for source in range(3)]
    sizes, starts, counts = Counter(), set(), Counter()
    for seed in range(100):
        for pair in _pairs(documents, _rules("nsp"), seed=seed, counts=counts):
            if pair.label:
                to_the_end = 60 - pair.second[0] // 100 % 100
                assert len(pair.second) == min(20 - len(pair.first), to_the_end)
                sizes[len(pair.second)] += 1
                starts.add(60 - to_the_end)
    # Sentences of one piece: nothing had to be cut to fit.
    assert counts["pieces_cut_off"] == 0
    assert set(range(1, 20)) <= set(sizes)
    # It starts anywhere, at the first sentence and at the last.
    assert {0, 59} <= starts


def test_a_random_segment_has_a_sentence_even_where_none_is_wanted():
    # The first sentence alone is longer than the target.
    documents = [_document([30], 0), _document([4, 4, 4], 1)]
    for seed in range(20):
        pair = _pairs(documents, _rules("nsp"), seed=seed)[0]
        assert {piece // 100 for piece in pair.second} <= {100, 101, 102}
        assert len(pair.second) == 4


def test_nsp_with_pieces_of_one_document_finds_the_other_document():
    documents = [_document([4] * 6, 0), _document([4] * 6, 0), _document([4] * 6, 1)]
    for seed in range(200):
        for pair in _pairs(documents, _rules("nsp"), seed=seed):
            assert pair.label == 0 or pair.second[0] // 10_000 != pair.first[0] // 10_000


def test_without_a_task_there_is_one_segment_and_one_more_place():
    pairs = _pairs([_document([7, 7, 9, 3])], _rules("none"))
    assert [(len(pair.first), len(pair.second), pair.label) for pair in pairs] == [(21, 0, 0), (3, 0, 0)]


def test_truncation_takes_from_the_longer_and_from_the_second_if_equal():
    for first, second, room in itertools.product(range(14), range(14), range(3, 14)):
        ((kept_first, kept_second, _),) = _truncate(range(first), range(100, 100 + second), room)
        wanted_first, wanted_second = first, second
        while wanted_first + wanted_second > room:
            if wanted_first > wanted_second:
                wanted_first -= 1
            else:
                wanted_second -= 1
        assert (len(kept_first), len(kept_second)) == (wanted_first, wanted_second)
        for kept in (kept_first, kept_second):
            assert kept == [*range(kept[0], kept[0] + len(kept))] if kept else True


@pytest.mark.parametrize("quirks", [False, True])
def test_the_halves_of_a_cut_pair_tell_nothing_of_its_order(quirks):
    """An odd length gives the first segment the larger half: cut before it is swapped, a pair would show its label."""
    rng = random.Random(0)
    documents = [_document([rng.randint(3, 12) for _ in range(40)], source) for source in range(400)]
    rules = _rules(max_seq_length=22, quirks=quirks)
    assert rules.max_tokens == 19
    halves = [pair.label for pair in _pairs(documents, rules) if (len(pair.first), len(pair.second)) == (10, 9)]
    assert len(halves) > 1000
    assert 0.4 < sum(halves) / len(halves) < 0.6


def test_truncation_takes_from_front_and_back_alike():
    fronts = Counter(pair.first[0] for pair in _truncate(range(12), [99], 3, times=TRIALS))
    # Ten pieces are dropped, each at the front or the back: a binomial number of them at the front.
    for dropped in range(11):
        _near(fronts[dropped] / TRIALS, math.comb(10, dropped) / 2**10, TRIALS)


@pytest.mark.parametrize("task", ["sop", "nsp", "none"])
@pytest.mark.parametrize("quirks", [False, True])
def test_no_segment_is_empty_or_too_long(task, quirks):
    rng = random.Random(1)
    rules = _rules(task, short=0.3, quirks=quirks)
    for seed in range(200):
        documents = [_document([rng.randint(1, 40) for _ in range(rng.randint(1, 8))], source) for source in range(4)]
        for pair in _pairs(documents, rules, seed):
            assert len(pair.first) + len(pair.second) <= rules.max_tokens
            assert pair.first
            assert bool(pair.second) == (task != "none")
