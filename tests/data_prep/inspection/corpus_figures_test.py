"""The figures of records made from real prose (chapters of novels of ../shared/data) against what they should be.

What is expected is worked out, not measured once: shares of the replacements and labels are fixed numbers, windows
come from a literal walk through the rules with the same budget and word lengths, lengths from the share of short
targets.
"""

import itertools
import json
import lzma
import random
import re
from collections import Counter

import numpy as np
import pytest

from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.draws import Draws
from data_prep.examples.instances import InstanceSettings, draw_instances
from data_prep.examples.masking import Pieces
from data_prep.examples.segment_pairs import build_pairs
from data_prep.examples.token_store import TokenStore
from data_prep.inspection.statistics import RecordStatistics

CHARACTERS = 1_500_000
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'])")


@pytest.fixture(scope="module")
def tokenizer(shared) -> AlbertTokenizer:
    return AlbertTokenizer(str(shared / "data" / "albert_vocab" / "spiece.model"))


@pytest.fixture(scope="module")
def documents(shared, tokenizer):
    """Chapters: what stands between headings, cut into sentences after . ! ? before a capital."""
    chapters, size = [[]], 0
    with lzma.open(shared / "data" / "eltec" / "eltec_share.jsonl.xz", "rt", encoding="utf-8") as lines:
        for paragraph in itertools.chain.from_iterable(json.loads(line)["paragraphs"] for line in lines):
            if paragraph.startswith("# "):
                chapters.append([])
            else:
                chapters[-1] += SENTENCE_END.split(" ".join(paragraph.split()))
            size += len(paragraph)
            if size > CHARACTERS:
                break
    return TokenStore.from_documents(
        (source, tokenizer.encode_batch(sentences)) for source, sentences in enumerate(chapters) if sentences
    )


def _make(documents, tokenizer, **changes):
    settings = InstanceSettings(**{"max_seq_length": 128, "dupe_factor": 1, **changes})
    pieces, counts = Pieces.of_tokenizer(tokenizer), Counter()
    statistics = RecordStatistics(pieces.ids.mask_id, pieces.ids.unk_id)
    batch, windows = draw_instances(documents, settings, pieces, Draws(1), counts)
    statistics.add_batch(batch, windows)
    return batch, statistics, counts


def _error(share, trials):
    return (share * (1 - share) / trials) ** 0.5


def test_rates_labels_and_replacements(documents, tokenizer):
    _, statistics, counts = _make(documents, tokenizer)
    summary = statistics.summary(128)
    examples, predictions = summary["examples"], summary["predictions"]
    assert examples > 2500
    # Budgets are whole numbers: 19 of 128 is 14.84 %.
    assert summary["mask_rate"] == pytest.approx(0.1486, abs=0.002)
    assert summary["label_1_share"] == pytest.approx(0.5, abs=4 * _error(0.5, examples))
    for name, share in (
        ("shown_as_mask_share", 0.8),
        ("shown_unchanged_share", 0.1),
        ("shown_as_random_piece_share", 0.1),
    ):
        assert summary[name] == pytest.approx(share, abs=4 * _error(share, predictions))
    assert counts["random_segments"] == 0


def test_windows_are_those_of_a_literal_walk_through_the_rules(documents, tokenizer):
    made, statistics, _ = _make(documents, tokenizer)
    rng, expected = random.Random(2), Counter()
    for number in range(1500):
        expected.update(_walk(made.instance(number), rng))
    for words in (1, 2, 3):
        share = expected[words] / expected.total()
        ours = statistics.windows[words] / statistics.windows.total()
        assert ours == pytest.approx(share, abs=5 * _error(share, expected.total()))
    # Overlaps and the end of the budget shift shares from longer windows to windows of one word.
    assert 6 / 11 < expected[1] / expected.total() < 0.65


def _walk(instance, rng):
    """The number of words in each window that the rules of REFERENCE take, window by window."""
    length, separator = len(instance.input_ids), instance.segment_ids.index(1) - 1
    words = []
    for position, opens in enumerate(instance.token_boundary):
        if position in (0, separator, length - 1):
            continue
        if opens:
            words.append([])
        words[-1].append(position)
    first_of_second = sum(word[0] < separator for word in words)
    windows = [
        words[word : min(word + 3, first_of_second if word < first_of_second else len(words))]
        for word in range(len(words))
    ]
    rng.shuffle(windows)
    budget, covered = min(20, max(1, round(length * 0.15))), set()
    for window in windows:
        if len(covered) >= budget:
            return
        n = min(rng.choices((1, 2, 3), (6, 3, 2))[0], len(window))
        while n and len(covered) + sum(map(len, window[:n])) > budget:
            n -= 1
        positions = set(itertools.chain.from_iterable(window[:n]))
        if positions and not positions & covered:
            covered |= positions
            yield n


class _ShortTarget(Draws):
    """Draws that make build_pairs aim at one target: "short" at first, then that target, then as they come."""

    def __init__(self, target):
        super().__init__(target)
        self._first = [0.0, (target - 2 + 0.5) / 124]

    def unit(self, count):
        return np.full(count, self._first.pop(0)) if self._first else super().unit(count)


@pytest.mark.parametrize("target", [2, 5, 17, 40, 64, 100, 125])
def test_lengths_are_those_of_a_literal_walk_through_the_rules(documents, target):
    rules = InstanceSettings(max_seq_length=128).pair_rules
    pairs = build_pairs(documents, rules, _ShortTarget(target), Counter())
    ours = ((pairs.ends - pairs.starts).sum(axis=1) + 3).tolist()
    borders = documents.documents.tolist()
    assert ours == [
        length
        for start, end in itertools.pairwise(borders)
        for length in _walk_lengths(np.diff(documents.sentences[start : end + 1].astype(int)).tolist(), target)
    ]


def _walk_lengths(sentences, target):
    """The lengths of a document's examples, by the lengths of its sentences and the rules of docs/data.md."""
    chunk = []
    for index, sentence in enumerate(sentences):
        chunk.append(sentence)
        is_last = index == len(sentences) - 1
        if is_last and len(chunk) == 1 and index:
            chunk.insert(0, sentences[index - 1])
        if len(chunk) >= 2 and (is_last or sum(chunk) >= target):
            yield min(sum(chunk), 125) + 3
            chunk = []


def test_only_ends_of_documents_are_short_without_short_targets(documents, tokenizer):
    _, statistics, _ = _make(documents, tokenizer, short_seq_prob=0.0)
    assert statistics.lengths.total() - statistics.lengths[128] <= documents.num_documents


def test_a_long_sequence_with_the_official_budget_is_masked_at_four_percent(documents, tokenizer):
    _, statistics, _ = _make(documents, tokenizer, max_seq_length=512, short_seq_prob=0.0)
    assert statistics.summary(512)["mask_rate"] == pytest.approx(20 / 512, abs=0.004)
    _, enough, _ = _make(documents, tokenizer, max_seq_length=512, max_predictions_per_seq=77, short_seq_prob=0.0)
    assert enough.summary(512)["mask_rate"] == pytest.approx(0.15, abs=0.002)


def test_quirks_bring_random_documents_and_more_labels_of_1(documents, tokenizer):
    _, statistics, counts = _make(documents, tokenizer, reference_quirks=True)
    examples = statistics.counts["examples"]
    random_share = counts["random_segments"] / examples
    assert random_share > 0.01
    assert statistics.labels[1] / examples == pytest.approx(0.5 + random_share / 2, abs=4 * _error(0.5, examples))
