"""Settings of instances: those out of range, and those that leave much of a budget unused."""

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.examples.instances import InstanceSettings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_seq_length": 4}, "--max_seq_length must be at least 5. Received 4."),
        ({"max_seq_length": 5_000_000_000}, "--max_seq_length must be at most 1,000,000. Received 5000000000."),
        ({"max_predictions_per_seq": 1_000_001}, "--max_predictions_per_seq must be at most 1,000,000"),
        ({"max_predictions_per_seq": 0}, "--max_predictions_per_seq must be at least 1"),
        ({"dupe_factor": 0}, "--dupe_factor"),
        ({"ngram": 0}, "--ngram"),
        ({"masked_lm_prob": 1.5}, r"--masked_lm_prob must lie in \[0, 1\]. Received 1.5."),
        ({"short_seq_prob": float("nan")}, "--short_seq_prob"),
        ({"sentence_task": "x"}, "--sentence_task must be one of sop, nsp, none. Received 'x'"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        InstanceSettings(**settings)


def test_too_few_predictions_are_warned_of():
    assert "masks at most 3.9% of 512 tokens" in InstanceSettings().describe_low_budget()
    assert "--max_predictions_per_seq=77" in InstanceSettings().describe_low_budget()
    assert InstanceSettings(max_seq_length=128).describe_low_budget() is None
