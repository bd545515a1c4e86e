"""Documents to pairs of segments: how long a segment is, where it is cut, and what its label says.

The rules are those of the official create_pretraining_data.py (create_instances_from_document,
truncate_seq_pair); docs/data.md lists what is done otherwise and what `reference_quirks` brings back. Nothing here
knows about text or vocabularies: documents are ids and offsets, a segment is where it starts and ends among the ids.
"""

import dataclasses
import itertools
from collections import Counter

import numpy as np

from albert_tf.records.names import NONE, NSP, SOP
from data_prep.examples.draws import Draws
from data_prep.examples.token_store import TokenStore

# The official code's bound on how often it looks for a document other than the one at hand.
_TRIES_FOR_ANOTHER_DOCUMENT = 10


@dataclasses.dataclass(frozen=True)
class SegmentPairs:
    """Pairs of segments of a part.

    Attributes:
        starts: int64 [pairs, 2], where the first and the second segment start among the ids of the part.
        ends: int64 [pairs, 2], where they end. An empty second segment means that there is no sentence task.
        labels: uint8 [pairs], 0 in order, 1 swapped or random.
    """

    starts: np.ndarray
    ends: np.ndarray
    labels: np.ndarray


@dataclasses.dataclass(frozen=True)
class PairRules:
    """Rules for building pairs.

    Attributes:
        max_seq_length: S, special tokens included.
        short_seq_prob: how often a document is cut into pairs shorter than S.
        sentence_task: sop, nsp or none.
        reference_quirks: whether to do as the official code does where docs/data.md calls that a fault.
    """

    max_seq_length: int
    short_seq_prob: float
    sentence_task: str
    reference_quirks: bool = False

    @property
    def max_tokens(self) -> int:
        """Room for pieces beside [CLS] and the [SEP] of each segment."""
        return self.max_seq_length - (2 if self.sentence_task == NONE else 3)


def build_pairs(store: TokenStore, rules: PairRules, draws: Draws, counts: Counter) -> SegmentPairs:
    """Cuts the documents of a part into pairs, once through.

    Args:
        store: the documents of a part; for nsp they are also where random segments come from.
        rules: how.
        draws: all that is drawn comes from it.
        counts: what happened out of the ordinary is added here (docs/data.md, statistics).

    Returns:
        The pairs in the order of the documents and of the text in each.
    """
    targets = _draw_targets(store.num_documents, rules, draws)
    if rules.sentence_task == NONE:
        pairs = _single_segments(store, targets)
    elif rules.sentence_task == SOP and not rules.reference_quirks:
        pairs = _ordered_pairs(store, targets, draws, counts)
    else:
        pairs = _official_pairs(store, targets, rules, draws, counts)
    truncated = truncate(pairs, rules.max_tokens, draws)
    counts["pieces_cut_off"] += int((pairs.ends - pairs.starts).sum() - (truncated.ends - truncated.starts).sum())
    return truncated


def truncate(pairs: SegmentPairs, max_tokens: int, draws: Draws) -> SegmentPairs:
    """Drops pieces until both segments fit: always from the longer (the second if equal), front or back by chance.

    How many each segment loses follows from the lengths alone: one within its half of the room is kept whole, and
    of an odd room the first has the larger half. How many of them go at the front is a coin for each.
    """
    lengths = pairs.ends - pairs.starts
    first, second = lengths[:, 0], lengths[:, 1]
    kept_first = np.minimum(first, np.maximum(max_tokens - max_tokens // 2, max_tokens - second))
    kept_second = np.minimum(second, np.maximum(max_tokens // 2, max_tokens - first))
    dropped = (lengths - np.stack([kept_first, kept_second], axis=1)).ravel()
    ends = np.cumsum(dropped)
    fronts = np.concatenate([[0], np.cumsum(draws.coins(int(dropped.sum())), dtype=np.int64)])
    at_front = (fronts[ends] - fronts[ends - dropped]).reshape(lengths.shape)
    starts = pairs.starts + at_front
    return SegmentPairs(starts, starts + lengths - dropped.reshape(lengths.shape), pairs.labels)


def _draw_targets(count: int, rules: PairRules, draws: Draws) -> np.ndarray:
    """Draws how many pieces the pairs of each document aim at, once a document and pass. int64 [count]."""
    short = draws.unit(count) < rules.short_seq_prob
    return np.where(short, 2 + draws.below(np.full(count, rules.max_tokens - 1)), rules.max_tokens)


def _chunk_ends(store: TokenStore, targets: np.ndarray) -> list[int]:
    """For each sentence, the sentence before which a chunk from there ends: the first to reach the target.

    It may lie beyond the end of the document, which the caller minds.
    """
    sentences_of = np.diff(store.documents.astype(np.int64))
    starts = store.sentences.astype(np.int64)
    reached = np.searchsorted(starts, starts[:-1] + np.repeat(targets, sentences_of))
    return reached.tolist()


def _joined(store: TokenStore, bounds: np.ndarray, labels: np.ndarray) -> SegmentPairs:
    """Pairs from sentence numbers: int64 [pairs, 4], start and end of the first and of the second segment."""
    pieces = store.sentences.astype(np.int64)[bounds]
    return SegmentPairs(pieces[:, 0::2], pieces[:, 1::2], labels.astype(np.uint8))


def _single_segments(store: TokenStore, targets: np.ndarray) -> SegmentPairs:
    reached, borders = _chunk_ends(store, targets), store.documents.tolist()
    bounds = []
    for start, last in itertools.pairwise(borders):
        while start < last:
            end = min(reached[start], last)
            bounds.append((start, end, end, end))
            start = end
    bounds = np.array(bounds, np.int64).reshape(-1, 4)
    return _joined(store, bounds, np.zeros(len(bounds)))


def _ordered_pairs(store: TokenStore, targets: np.ndarray, draws: Draws, counts: Counter) -> SegmentPairs:
    """Sentence order as the paper means it: both segments from one place of one document.

    A chunk takes at least two sentences. A last sentence that is left alone is paired with the one before it,
    which is then used twice. A document of one sentence has no order to learn and is left out.
    """
    reached, borders = _chunk_ends(store, targets), store.documents.tolist()
    starts, ends = [], []
    for start, last in itertools.pairwise(borders):
        if last - start == 1:
            counts["one_sentence_documents_left_out"] += 1
            continue
        while start < last:
            if start == last - 1:
                counts["sentences_used_twice"] += 1
                start -= 1
            end = min(max(reached[start], start + 2), last)
            starts.append(start)
            ends.append(end)
            start = end
    starts, ends = np.array(starts, np.int64), np.array(ends, np.int64)
    middles = starts + 1 + draws.below(ends - starts - 1)
    swapped = draws.coins(len(starts)).astype(bool)
    in_order = np.stack([starts, middles, middles, ends], axis=1).reshape(-1, 4)
    return _joined(store, np.where(swapped[:, None], in_order[:, [2, 3, 0, 1]], in_order), swapped)


def _official_pairs(
    store: TokenStore, targets: np.ndarray, rules: PairRules, draws: Draws, counts: Counter
) -> SegmentPairs:
    """The official loop: nsp, or sop with a random segment beside every chunk of one sentence."""
    reached, borders = _chunk_ends(store, targets), store.documents.tolist()
    offsets, goals = store.sentences.tolist(), targets.tolist()
    bounds, labels = [], []
    for document in range(store.num_documents):
        start, last = borders[document : document + 2]
        while start < last:
            end = min(reached[start], last)
            size = end - start
            middle = start + (draws.integer(1, size - 1) if size > 1 else 1)
            if size == 1 or (rules.sentence_task == NSP and draws.one() < 0.5):
                counts["random_segments"] += 1
                counts["one_sentence_chunks"] += size == 1
                wanted = goals[document] - (offsets[middle] - offsets[start])
                second = _random_segment(store, document, max(wanted, 1), rules, draws, counts)
                bounds.append((start, middle, *second))
                labels.append(1)
                end = middle
            elif rules.sentence_task == SOP and draws.one() < 0.5:
                bounds.append((middle, end, start, middle))
                labels.append(1)
            else:
                bounds.append((start, middle, middle, end))
                labels.append(0)
            start = end
    return _joined(store, np.array(bounds, np.int64).reshape(-1, 4), np.array(labels, np.uint8))


def _random_segment(
    store: TokenStore, document: int, wanted: int, rules: PairRules, draws: Draws, counts: Counter
) -> tuple[int, int]:
    """Sentences (from, to) of another document, from a random place until the target is reached, one at least."""
    if rules.reference_quirks:
        for _ in range(_TRIES_FOR_ANOTHER_DOCUMENT):
            chosen = draws.integer(0, store.num_documents - 1)
            if chosen != document:
                break
    else:
        chosen = _draw_other_source(store.sources, document, draws)
    counts["random_segments_of_the_same_document"] += int(store.sources[chosen] == store.sources[document])
    low, high = store.documents[chosen : chosen + 2].tolist()
    start = draws.integer(low, high - 1)
    end = int(np.searchsorted(store.sentences, int(store.sentences[start]) + wanted))
    return start, min(end, high)


def _draw_other_source(sources: np.ndarray, document: int, draws: Draws) -> int:
    """A document of a different source; the same one only if there is no other. Documents of a source lie together."""
    low, high = np.searchsorted(sources, sources[document]), np.searchsorted(sources, sources[document], "right")
    others = len(sources) - int(high - low)
    if others == 0:
        return document
    chosen = draws.integer(0, others - 1)
    return chosen if chosen < low else chosen + int(high - low)
