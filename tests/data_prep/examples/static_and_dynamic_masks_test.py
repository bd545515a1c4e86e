"""Masks drawn in training against those that create_pretraining_data writes, on the same pairs of the same documents.

Each figure is compared by a chi-squared test of two samples: how many pieces are predicted, how many words and pieces
a masked run has, where predictions lie, what is shown in their place, and which pieces stand there. Of the
statistic, its distance from its mean in standard deviations is taken: beyond 5 is no chance (the largest of 24 seeds
was 3.3), and what lies within is the tolerance. Predictions of one example are not independent, which
makes some figures vary less than the test supposes and none noticeably more.

That the test can fail is shown by the same comparison with rules that are a little off.
"""

import dataclasses
import json
import lzma
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.inputs import dynamic_masking
from albert_tf.inputs.dynamic_masking import DynamicMasker
from albert_tf.records.instance_batch import to_unmasked_examples
from albert_tf.records.masking_rules import MaskingRules
from albert_tf.records.unmasked_records import parse_unmasked_batch
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.draws import Draws
from data_prep.examples.instances import InstanceSettings
from data_prep.examples.masking import Masker, Pieces
from data_prep.examples.segment_pairs import build_pairs
from data_prep.examples.token_store import TokenStore

S, P = 64, 10
BEYOND_CHANCE = 5
MASK = 4
# Epochs, of some 3,500 predictions each.
TIMES = 8


class Sample:
    """Counts over masked examples, whose words are hidden whole or not."""

    def __init__(self, whole_words: bool):
        self.whole_words = whole_words
        self.tables = {
            name: Counter() for name in ("predictions", "words", "pieces", "places", "shown", "randoms", "specials")
        }

    def add(self, examples: int, rows, positions, shown, originals, boundary, following) -> None:
        """Adds the predictions of some examples, one after the other.

        Args:
            examples: how many there are.
            rows: the example of each prediction.
            positions, shown, originals: where it lies, what stands there, what stood there.
            boundary, following: token_boundary there and at the next token.
        """
        random = (shown != MASK) & (shown != originals)
        opens = np.append(True, (np.diff(positions) != 1) | (np.diff(rows) != 0))
        run = np.cumsum(opens) - 1
        # Words are hidden whole: a run starts where a word starts, and the next word starts after it.
        if self.whole_words:
            assert boundary[opens].all()
            assert following[np.append(opens[1:], True)].all()
        for name, values in {
            "predictions": np.bincount(rows, minlength=examples),
            "places": positions,
            "pieces": np.bincount(run),
            "words": np.bincount(run, weights=boundary).astype(int),
            "shown": np.where(shown == MASK, 0, np.where(random, 1, 2)),
            "randoms": shown[random] // 8,
            "specials": shown[random] <= MASK,
        }.items():
            outcomes, counts = np.unique(values, return_counts=True)
            self.tables[name].update(dict(zip(outcomes.tolist(), counts.tolist())))


def distance(first: Counter, second: Counter) -> float:
    """The chi-squared statistic of two samples of one distribution, from its mean in standard deviations."""
    totals = first.total(), second.total()
    outcomes, rest = [], [0, 0]
    for outcome in first.keys() | second.keys():
        counts = first[outcome], second[outcome]
        # Rare outcomes are one together, so that no expectation is small.
        if sum(counts) * min(totals) / sum(totals) >= 10:
            outcomes.append(counts)
        else:
            rest = [a + b for a, b in zip(rest, counts)]
    if sum(rest) * min(totals) / sum(totals) >= 10:
        outcomes.append(rest)
    statistic = 0.0
    for counts in outcomes:
        for count, total in zip(counts, totals):
            expected = sum(counts) * total / sum(totals)
            statistic += (count - expected) ** 2 / expected
    freedom = len(outcomes) - 1
    return (statistic - freedom) / (2 * freedom) ** 0.5 if freedom else 0.0


def distances(first: Sample, second: Sample) -> dict[str, float]:
    return {name: distance(first.tables[name], second.tables[name]) for name in first.tables}


def _hides_whole_words(rules: MaskingRules) -> bool:
    # With the quirks a segment may start inside a word.
    return rules.do_whole_word_mask and not rules.reference_quirks


class Documents:
    """Pairs of some documents, and both ways to mask them."""

    def __init__(self, store: TokenStore, pieces: Pieces, **changes):
        self.settings = InstanceSettings(max_seq_length=S, max_predictions_per_seq=P, dupe_factor=1, **changes)
        self.store, self.pieces = store, pieces
        self.pairs = build_pairs(store, self.settings.pair_rules, Draws(0), Counter())
        self.unmasked = Masker(self.settings.masking_rules, pieces).leave_unmasked(store.ids, self.pairs)

    def static(self, times: int, seed: int = 0) -> Sample:
        """Masks the pairs `times` times, as for records with masks."""
        sample = Sample(_hides_whole_words(self.settings.masking_rules))
        masker = Masker(self.settings.masking_rules, self.pieces)
        for turn in range(times):
            batch, _ = masker.mask(self.store.ids, self.pairs, Draws(1000 * seed + turn))
            rows = np.repeat(np.arange(len(batch)), np.diff(batch.prediction_offsets))
            places = batch.offsets[rows] + batch.masked_lm_positions
            columns = batch.masked_lm_positions, batch.input_ids[places], batch.masked_lm_ids
            sample.add(len(batch), rows, *columns, batch.token_boundary[places], batch.token_boundary[places + 1])
        return sample

    def dynamic(self, times: int, seed: int = 0, rules: MaskingRules | None = None) -> Sample:
        """Masks the pairs in the graph for `times` epochs, by different rules if they are given."""
        rules = rules or self.settings.masking_rules
        sample, count = Sample(_hides_whole_words(rules)), len(self.unmasked)
        masker = DynamicMasker(rules, self.pieces.ids, S, seed)
        parsed = parse_unmasked_batch(to_unmasked_examples(self.unmasked, S), S)
        boundary = parsed.boundary.numpy()
        for turn in range(times):
            batch = masker.mask(parsed, tf.constant(turn * count, tf.int64))
            batch = {name: value.numpy() for name, value in batch.items()}
            real = batch["masked_lm_weights"] > 0
            rows, positions = np.nonzero(real)[0], batch["masked_lm_positions"][real]
            columns = positions, batch["input_ids"][rows, positions], batch["masked_lm_ids"][real]
            sample.add(count, rows, *columns, boundary[rows, positions], boundary[rows, positions + 1])
        return sample


@pytest.fixture(scope="module")
def documents() -> Documents:
    """Documents of made-up pieces: every other one starts a word, some are far more frequent than others."""
    rng = np.random.default_rng(0)
    pieces = Pieces(np.arange(400) % 2 == 1)
    made_up = [
        (number, [(5 + 395 * rng.random(rng.integers(4, 25)) ** 3).astype(int).tolist() for _ in range(12)])
        for number in range(150)
    ]
    return Documents(TokenStore.from_documents(made_up), pieces)


@pytest.fixture(scope="module")
def static(documents) -> Sample:
    return documents.static(TIMES)


def test_both_kinds_of_masks_are_distributed_alike(documents, static):
    dynamic = documents.dynamic(TIMES)
    assert min(sample.tables["shown"].total() for sample in (static, dynamic)) > 25_000
    found = distances(static, dynamic)
    assert max(found.values()) < BEYOND_CHANCE, found
    # Two samples of one kind differ no less.
    assert max(distances(dynamic, documents.dynamic(TIMES, seed=1)).values()) < BEYOND_CHANCE


@pytest.mark.parametrize(
    ("changes", "seen_in"),
    [
        ({"ngram": 2}, "words"),
        ({"favor_shorter_ngram": False}, "words"),
        ({"masked_lm_prob": 0.14}, "predictions"),
        ({"do_whole_word_mask": False}, "pieces"),
        ({"max_predictions_per_seq": P - 1}, "predictions"),
        ({"reference_quirks": True}, "specials"),
        ("MASK_SHARE", "shown"),
        ("KEEP_SHARE", "shown"),
    ],
)
def test_rules_a_little_off_are_noticed(documents, static, changes, seen_in, monkeypatch):
    rules = documents.settings.masking_rules
    if isinstance(changes, str):
        monkeypatch.setattr(dynamic_masking, changes, getattr(dynamic_masking, changes) - 0.02)
    else:
        rules = dataclasses.replace(rules, **changes)
    dynamic = documents.dynamic(TIMES, rules=rules)
    assert distances(static, dynamic)[seen_in] > BEYOND_CHANCE


def test_masks_off_by_one_place_are_noticed(documents, static, monkeypatch):
    to_tokens = dynamic_masking._to_tokens
    monkeypatch.setattr(dynamic_masking, "_to_tokens", lambda hidden, middles: to_tokens(hidden, middles + 1))
    with pytest.raises(AssertionError):
        documents.dynamic(1)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"reference_quirks": True}, {"do_whole_word_mask": False, "ngram": 1}])
def test_a_million_masked_pieces_of_wikipedia(shared, changes):
    tokenizer = AlbertTokenizer(str(shared / "data" / "albert_vocab" / "spiece.model"))
    articles = []
    with lzma.open(shared / "data" / "wikipedia" / "wiki_share.jsonl.xz", "rt", encoding="utf-8") as lines:
        for number, line in zip(range(150), lines):
            article = json.loads(line)
            text = "\n".join(article["paragraphs"]) if "paragraphs" in article else article["text"]
            sentences = [part.strip() for part in text.replace(". ", ".\n").split("\n") if part.strip()]
            articles.append((number, tokenizer.encode_batch(sentences)))
    documents = Documents(TokenStore.from_documents(articles), Pieces.of_tokenizer(tokenizer), **changes)
    times = -(-1_000_000 // documents.static(1).tables["shown"].total())
    static, dynamic = documents.static(times), documents.dynamic(times)
    assert min(sample.tables["shown"].total() for sample in (static, dynamic)) >= 990_000
    found = distances(static, dynamic)
    assert max(found.values()) < BEYOND_CHANCE, found
