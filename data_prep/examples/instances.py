"""A pass over a part of the corpus to its examples: a pure function of the settings, the part and a seed."""

import dataclasses
from collections import Counter
from typing import Annotated

import numpy as np

from albert_tf.config import LARGEST
from albert_tf.records.instance_batch import InstanceBatch, to_examples, to_unmasked_examples
from albert_tf.records.masking_rules import (
    DYNAMIC,
    MASKINGS,
    STATIC,
    MaskingRules,
)
from albert_tf.records.names import MAX_PREDICTIONS_PER_SEQ, MAX_SEQ_LENGTH, NONE, SENTENCE_TASKS, SOP
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Bounds, Count, Interval, OneOf, check, described
from data_prep.examples.draws import Draws
from data_prep.examples.masking import OFFICIAL, WORD_BOUNDARIES, Masker, Pieces
from data_prep.examples.segment_pairs import PairRules, build_pairs
from data_prep.examples.token_store import TokenStore

_LONGEST = LARGEST["max_position_embeddings"]


@described
@dataclasses.dataclass(frozen=True)
class InstanceSettings:
    """Everything that decides, with text and vocabulary, what the examples are.

    Raises:
        InputError: a value outside its range, at construction.
    """

    # As long as a model can have; every example takes as much memory.
    max_seq_length: Annotated[int, Bounds(5, _LONGEST), "Tokens in an example, padding included."] = MAX_SEQ_LENGTH
    max_predictions_per_seq: Annotated[int, Bounds(1, _LONGEST), "Masked pieces in an example, at most."] = (
        MAX_PREDICTIONS_PER_SEQ
    )
    dupe_factor: Annotated[Count, "Passes over the text, each with other pairs and masks."] = 40
    masked_lm_prob: Annotated[float, Interval("[0, 1]"), "Share of an example's tokens to mask."] = 0.15
    short_seq_prob: Annotated[
        float, Interval("[0, 1]"), "Share of document passes that are cut into shorter examples."
    ] = 0.1
    ngram: Annotated[Count, "Longest run of words masked at once."] = 3
    favor_shorter_ngram: Annotated[
        bool, "Mask runs of n words with p(n) ~ 1/n; false: the same shares, longest first."
    ] = True
    do_whole_word_mask: Annotated[bool, "Mask all pieces of a word or none."] = True
    word_boundaries: Annotated[
        str,
        OneOf(*WORD_BOUNDARIES),
        "What a whole word is in a sentencepiece vocabulary: as the official code has it, which makes a word of every "
        "piece with letters beyond a to z; or what spaces and punctuation part, in any alphabet.",
    ] = OFFICIAL
    sentence_task: Annotated[
        str, OneOf(*SENTENCE_TASKS), "In order or swapped (sop), of another document (nsp), one segment."
    ] = SOP
    random_seed: Annotated[int, "Decides every draw."] = 12345
    reference_quirks: Annotated[bool, "Do as the official code also where it is at fault; docs/data.md lists how."] = (
        False
    )
    masking: Annotated[
        str, OneOf(*MASKINGS), "Masks in the records (static), or drawn anew each epoch by the trainer."
    ] = STATIC

    def __post_init__(self):
        check(self)
        if self.masking == DYNAMIC and self.dupe_factor != 1:
            raise FlagError(
                f"--masking={DYNAMIC} stores every example once, its masks are drawn in training; received "
                f"--dupe_factor={self.dupe_factor}, leave it out"
            )

    @property
    def pair_rules(self) -> PairRules:
        """The part of the settings that segment_pairs takes."""
        return PairRules(self.max_seq_length, self.short_seq_prob, self.sentence_task, self.reference_quirks)

    @property
    def masking_rules(self) -> MaskingRules:
        """The part of the settings that masking takes."""
        return MaskingRules(
            self.masked_lm_prob,
            self.max_predictions_per_seq,
            self.ngram,
            self.favor_shorter_ngram,
            self.do_whole_word_mask,
            self.reference_quirks,
        )

    def describe_low_budget(self) -> str | None:
        """One line if max_predictions_per_seq keeps full examples from their share of masks, else None."""
        wanted = round(self.max_seq_length * self.masked_lm_prob)
        if self.max_predictions_per_seq >= wanted:
            return None
        rate = self.max_predictions_per_seq / self.max_seq_length
        return (
            f"--max_predictions_per_seq={self.max_predictions_per_seq} masks at most {rate:.1%} of "
            f"{self.max_seq_length} tokens, not --masked_lm_prob={self.masked_lm_prob:.1%}; "
            f"--max_predictions_per_seq={wanted} would reach it"
        )


def draw_instances(
    store: TokenStore, settings: InstanceSettings, pieces: Pieces, draws: Draws, counts: Counter
) -> tuple[InstanceBatch, np.ndarray]:
    """The examples of one pass over the documents of a part.

    Args:
        store: the documents of the part.
        settings: how.
        pieces: the vocabulary.
        draws: all that is drawn comes from it.
        counts: what happened out of the ordinary is added here.

    Returns:
        (the examples; how many masked windows have 0, 1, 2, ... words, none with --masking=dynamic)
    """
    pairs = build_pairs(store, settings.pair_rules, draws, counts)
    masker = Masker(settings.masking_rules, pieces)
    if settings.masking == DYNAMIC:
        return masker.leave_unmasked(store.ids, pairs), np.zeros(1, np.int64)
    return masker.mask(store.ids, pairs, draws)


def encode_instances(batch: InstanceBatch, settings: InstanceSettings) -> list[bytes]:
    """The examples as records of the kind that the settings ask for."""
    if settings.masking == DYNAMIC:
        return to_unmasked_examples(batch, settings.max_seq_length)
    return to_examples(batch, settings.max_seq_length, settings.max_predictions_per_seq)


def explain_no_examples(settings: InstanceSettings, counts: Counter) -> str:
    """Explains in one line why a corpus gave no example."""
    if settings.sentence_task != NONE and counts["one_sentence_documents_left_out"]:
        return (
            f"{_all_documents(counts['documents'])} one sentence, which leaves no sentence order to learn; write "
            "one sentence a line and a blank line between documents, or set --sentence_task=none"
        )
    return "holds no sentence; write one sentence a line and a blank line between documents"


def _all_documents(count: int) -> str:
    return "the only document has" if count == 1 else f"all {count} documents have"
