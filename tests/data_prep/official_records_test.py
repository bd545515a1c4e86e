"""Our masker on the text of official records: word boundaries and budgets equal, masks distributed alike.

The official records hold 400 examples of 128 tokens and 100 of 512. Their text is put back from the labels and
masked again many times with reference_quirks; the official masks are then one more draw from the same
distribution.
"""

from collections import Counter

import numpy as np
import pytest
from segment_lists import from_lists

from albert_tf.records.pretraining_records import from_example
from albert_tf.records.record_files import read_records
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.draws import Draws
from data_prep.examples.masking import Masker, MaskingRules, Pieces
from data_prep.inspection.statistics import RecordStatistics

DRAWS = 12
RULES = MaskingRules(0.15, 20, reference_quirks=True)


@pytest.fixture(scope="module")
def pieces(shared) -> Pieces:
    return Pieces.of_tokenizer(AlbertTokenizer(str(shared / "reference" / "official_records.spm.model")))


@pytest.fixture(scope="module", params=[128, 512])
def official(request, shared):
    path = str(shared / "reference" / f"official_records_s{request.param}.tfrecord")
    return [from_example(message) for _, message in read_records(path)]


def _text(instance) -> tuple[list, list, int]:
    ids = [*instance.input_ids]
    for position, original in zip(instance.masked_lm_positions, instance.masked_lm_ids):
        ids[position] = original
    separator = instance.segment_ids.index(1) - 1
    return ids[1:separator], ids[separator + 1 : -1], instance.label


def _mask_again(official, pieces, seed, times=DRAWS) -> list:
    """Our masks on their texts, `times` of each, one after the other."""
    ids, pairs = from_lists([_text(theirs) for theirs in official for _ in range(times)])
    batch, _ = Masker(RULES, pieces).mask(ids, pairs, Draws(seed))
    return [batch.instance(number) for number in range(len(batch))]


def _statistics(pieces, instances) -> RecordStatistics:
    statistics = RecordStatistics(pieces.ids.mask_id, pieces.ids.unk_id)
    for instance in instances:
        statistics.add(instance)
    return statistics


def test_boundaries_segments_and_budgets_are_the_same(official, pieces):
    unfilled = 0
    for theirs, ours in zip(official, _mask_again(official, pieces, seed=0, times=1)):
        assert ours.token_boundary == theirs.token_boundary
        assert ours.segment_ids == theirs.segment_ids
        budget = RULES.budgets(np.array([len(theirs.input_ids)]))
        assert len(theirs.masked_lm_ids) <= budget
        unfilled += len(theirs.masked_lm_ids) < budget
    assert unfilled <= 0.01 * len(official)


def test_masks_are_distributed_alike(official, pieces):
    ours = _statistics(pieces, _mask_again(official, pieces, seed=1))
    theirs = _statistics(pieces, official)
    # Runs of masked words: each share within four standard errors of its two samples.
    for words in (1, 2, 3, 4):
        shares = [statistics.windows[words] / statistics.windows.total() for statistics in (ours, theirs)]
        error = (shares[0] * (1 - shares[0]) / theirs.windows.total() * (1 + 1 / DRAWS)) ** 0.5
        assert abs(shares[0] - shares[1]) < 4 * error
    for kind in ("masked", "kept"):
        shares = [s.counts[kind] / s.counts["predictions"] for s in (ours, theirs)]
        assert abs(shares[0] - shares[1]) < 4 * (0.16 / theirs.counts["predictions"]) ** 0.5
    assert ours.counts["predictions"] / DRAWS == pytest.approx(theirs.counts["predictions"], rel=0.005)


def test_masks_lie_as_evenly_over_the_example(official, pieces):
    tenths = Counter(), Counter()
    for counts, instances in zip(tenths, (_mask_again(official, pieces, seed=2), official)):
        for instance in instances:
            counts.update(10 * p // len(instance.input_ids) for p in instance.masked_lm_positions)
    shares = [np.array([counts[tenth] for tenth in range(10)]) / counts.total() for counts in tenths]
    # Masked pieces come in clumps of about 1.6, so a share varies a little more than a binomial one.
    error = (0.1 * 0.9 * 1.6 * (1 + 1 / DRAWS) / tenths[1].total()) ** 0.5
    assert np.abs(shares[0] - shares[1]).max() < 4.5 * error


def test_their_random_pieces_cover_the_vocabulary_as_ours(official, pieces):
    def replacements(instances):
        for instance in instances:
            for position, original in zip(instance.masked_lm_positions, instance.masked_lm_ids):
                piece = instance.input_ids[position]
                if piece not in (pieces.ids.mask_id, original):
                    yield piece / pieces.ids.vocab_size

    drawn = [*replacements(official)]
    assert np.mean(drawn) == pytest.approx(0.5, abs=4 * (1 / 12 / len(drawn)) ** 0.5)
