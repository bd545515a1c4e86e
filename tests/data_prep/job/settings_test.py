"""Decisions that a job makes by itself: passes of a unit, buckets of a file; and flags that cannot be."""

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.examples.instances import InstanceSettings
from data_prep.job.settings import UNIT_BYTES, RecordJob
from data_prep.text.text_reading import TextReading


def _job(**changes) -> RecordJob:
    return RecordJob("x", "y", "z", **changes)


def test_a_unit_makes_some_megabytes_of_records_whatever_their_length():
    for length in (16, 128, 512, 4096):
        job = _job(settings=InstanceSettings(max_seq_length=length, dupe_factor=1000))
        examples = job.part_characters / 4 / length
        made = job.duplicates_of_a_unit() * examples * job.record_bytes
        assert UNIT_BYTES / 3 < made < UNIT_BYTES
    assert _job(settings=InstanceSettings(dupe_factor=3)).duplicates_of_a_unit() == 3


def test_a_bucket_fits_the_memory_however_large_the_corpus_is():
    job = _job(shuffle_megabytes=50)
    for pieces in (10**6, 10**9, 10**12):
        buckets = job.buckets_of_a_file(documents=pieces // 1000, pieces=pieces, num_files=8)
        held = 2 * job.estimate_examples(pieces // 1000, pieces) * job.record_bytes / 8 / buckets
        assert held <= 50e6
        assert buckets == 1 or held > 25e6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compression": "zip"}, "--compression must be one of none, gzip. Received 'zip'"),
        ({"num_workers": -1}, "--num_workers must be at least 0"),
        ({"shuffle_megabytes": 0}, "--shuffle_megabytes must be at least 1"),
        ({"task_index": 2, "num_tasks": 2}, "--task_index must be from 0 to --num_tasks - 1; received 2 and 2"),
    ],
)
def test_flags_that_cannot_be_are_one_line(changes, message):
    with pytest.raises(InputError, match=message):
        _job(**changes)


def test_several_tasks_cannot_read_one_standard_input():
    with pytest.raises(InputError, match="several tasks cannot read one standard input"):
        RecordJob("-", "y", "z", num_tasks=2)


@pytest.mark.parametrize("changes", [{"input_format": "csv"}, {"language": "English"}])
def test_text_that_cannot_be_read_is_one_line(changes):
    with pytest.raises(InputError, match=rf"--{next(iter(changes))} must be .*[Rr]eceived"):
        TextReading(**changes)
