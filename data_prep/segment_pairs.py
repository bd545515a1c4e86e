"""Documents to pairs of segments: how long a segment is, where it is cut, and what its label says.

The rules are those of the official create_pretraining_data.py (create_instances_from_document,
truncate_seq_pair); docs/data.md lists what is done otherwise and what `reference_quirks` brings back. Nothing here
knows about text or vocabularies: a document is ids and sentence offsets.
"""

import bisect
import dataclasses
import random
from collections import Counter
from collections.abc import Iterator, Sequence

SOP, NSP, NONE = "sop", "nsp", "none"
SENTENCE_TASKS = (SOP, NSP, NONE)

# The official code's bound on how often it looks for a document other than the one at hand.
_TRIES_FOR_ANOTHER_DOCUMENT = 10


@dataclasses.dataclass(frozen=True)
class TokenizedDocument:
    """A document as ids.

    Attributes:
        ids: the pieces of all sentences, one after the other.
        offsets: where each sentence starts in ids, and at last len(ids); no sentence is empty.
        source: number of the document in the corpus; pieces of one long document share it.
    """

    ids: Sequence[int]
    offsets: Sequence[int]
    source: int

    @classmethod
    def from_sentences(cls, sentences: Sequence[Sequence[int]], source: int) -> "TokenizedDocument":
        """Joins the ids of sentences; empty ones are left out."""
        ids: list[int] = []
        offsets = [0]
        for sentence in sentences:
            if sentence:
                ids += sentence
                offsets.append(len(ids))
        return cls(ids, offsets, source)

    @property
    def num_sentences(self) -> int:
        """How many sentences the document has."""
        return len(self.offsets) - 1


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentPair:
    """Two segments of ids, the second empty if there is no sentence task; label 0 in order, 1 swapped or random."""

    first: Sequence[int]
    second: Sequence[int]
    label: int


@dataclasses.dataclass(frozen=True)
class PairRules:
    """How pairs are built.

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


def build_pairs(
    documents: Sequence[TokenizedDocument], index: int, rules: PairRules, rng: random.Random, counts: Counter
) -> Iterator[SegmentPair]:
    """Cuts one document into pairs, once through.

    Args:
        documents: the documents of a part; all but `index` serve as sources of random segments for nsp.
        index: which document to cut.
        rules: how.
        rng: all draws come from its random().
        counts: what happened out of the ordinary is added here (docs/data.md, statistics).
    """
    document = documents[index]
    if rules.sentence_task == NONE:
        pairs = _single_segments(document, rules, rng)
    elif rules.sentence_task == SOP and not rules.reference_quirks:
        pairs = _ordered_pairs(document, rules, rng, counts)
    else:
        pairs = _official_pairs(documents, index, rules, rng, counts)
    for first, second, label in pairs:
        cut_first, cut_second = truncate(first, second, rules.max_tokens, rng)
        counts["pieces_cut_off"] += len(first) + len(second) - len(cut_first) - len(cut_second)
        yield SegmentPair(cut_first, cut_second, label)


def truncate(
    first: Sequence[int], second: Sequence[int], max_tokens: int, rng: random.Random
) -> tuple[Sequence[int], Sequence[int]]:
    """Drops pieces until both segments fit: always from the longer (the second if equal), front or back by chance."""
    start_first, end_first, start_second, end_second = 0, len(first), 0, len(second)
    for _ in range(len(first) + len(second) - max_tokens):
        from_front = rng.random() < 0.5
        if end_first - start_first > end_second - start_second:
            start_first, end_first = start_first + from_front, end_first - (not from_front)
        else:
            start_second, end_second = start_second + from_front, end_second - (not from_front)
    return first[start_first:end_first], second[start_second:end_second]


def draw_integer(rng: random.Random, low: int, high: int) -> int:
    """A whole number from low to high, both included.

    Only Random.random() is the same in every version of Python, so every draw of the data scripts is made of it.
    """
    return low + int(rng.random() * (high - low + 1))


def _draw_target(rules: PairRules, rng: random.Random) -> int:
    """How many pieces the pairs of a document aim at; drawn once a document and pass."""
    if rng.random() < rules.short_seq_prob:
        return draw_integer(rng, 2, rules.max_tokens)
    return rules.max_tokens


def _chunk_end(document: TokenizedDocument, start: int, target: int) -> int:
    """The sentence before which a chunk from `start` ends: the first to reach the target, or the document's end."""
    offsets = document.offsets
    end = bisect.bisect_left(offsets, offsets[start] + target, start + 1)
    return min(end, document.num_sentences)


def _span(document: TokenizedDocument, start: int, end: int) -> Sequence[int]:
    return document.ids[document.offsets[start] : document.offsets[end]]


def _single_segments(document: TokenizedDocument, rules: PairRules, rng: random.Random) -> Iterator[tuple]:
    target = _draw_target(rules, rng)
    start = 0
    while start < document.num_sentences:
        end = _chunk_end(document, start, target)
        yield _span(document, start, end), [], 0
        start = end


def _ordered_pairs(
    document: TokenizedDocument, rules: PairRules, rng: random.Random, counts: Counter
) -> Iterator[tuple]:
    """Sentence order as the paper means it: both segments from one place of one document.

    A chunk takes at least two sentences. A last sentence that is left alone is paired with the one before it,
    which is then used twice. A document of one sentence has no order to learn and is left out.
    """
    last = document.num_sentences
    target = _draw_target(rules, rng)
    if last == 1:
        counts["one_sentence_documents_left_out"] += 1
        return
    start = 0
    while start < last:
        if start == last - 1:
            counts["sentences_used_twice"] += 1
            start -= 1
        end = max(_chunk_end(document, start, target), start + 2)
        middle = start + draw_integer(rng, 1, end - start - 1)
        first, second = _span(document, start, middle), _span(document, middle, end)
        swapped = rng.random() < 0.5
        yield (second, first, 1) if swapped else (first, second, 0)
        start = end


def _official_pairs(
    documents: Sequence[TokenizedDocument], index: int, rules: PairRules, rng: random.Random, counts: Counter
) -> Iterator[tuple]:
    """The official loop: nsp, or sop with a random segment beside every chunk of one sentence."""
    document = documents[index]
    target = _draw_target(rules, rng)
    start = 0
    while start < document.num_sentences:
        end = _chunk_end(document, start, target)
        size = end - start
        middle = start + (draw_integer(rng, 1, size - 1) if size > 1 else 1)
        first = _span(document, start, middle)
        if size == 1 or (rules.sentence_task == NSP and rng.random() < 0.5):
            counts["random_segments"] += 1
            counts["one_sentence_chunks"] += size == 1
            yield first, _random_segment(documents, index, target - len(first), rules, rng, counts), 1
            end = middle
        else:
            second = _span(document, middle, end)
            swapped = rules.sentence_task == SOP and rng.random() < 0.5
            yield (second, first, 1) if swapped else (first, second, 0)
        start = end


def _random_segment(
    documents: Sequence[TokenizedDocument],
    index: int,
    target: int,
    rules: PairRules,
    rng: random.Random,
    counts: Counter,
) -> Sequence[int]:
    """Sentences from a random place of another document until the target is reached, one at least."""
    if rules.reference_quirks:
        for _ in range(_TRIES_FOR_ANOTHER_DOCUMENT):
            chosen = draw_integer(rng, 0, len(documents) - 1)
            if chosen != index:
                break
    else:
        chosen = _draw_other_source(documents, index, rng)
    document = documents[chosen]
    counts["random_segments_of_the_same_document"] += document.source == documents[index].source
    start = draw_integer(rng, 0, document.num_sentences - 1)
    return _span(document, start, _chunk_end(document, start, max(target, 1)))


def _draw_other_source(documents: Sequence[TokenizedDocument], index: int, rng: random.Random) -> int:
    """A document of another source; the same one only if there is no other. Documents of a source lie together."""
    source = documents[index].source
    low, high = index, index + 1
    while low > 0 and documents[low - 1].source == source:
        low -= 1
    while high < len(documents) and documents[high].source == source:
        high += 1
    others = len(documents) - (high - low)
    if others == 0:
        return index
    chosen = draw_integer(rng, 0, others - 1)
    return chosen if chosen < low else chosen + high - low
