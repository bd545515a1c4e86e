"""A job of data creation, and its outputs read back, for the tests of whole jobs."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from albert_tf.records.pretraining_records import PretrainingInstance, from_example
from albert_tf.records.record_files import read_records
from data_prep.examples.instances import InstanceSettings
from data_prep.job.settings import RecordJob

SETTINGS = {"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 2}


@pytest.fixture
def make_job():
    """A function of (corpus, vocabulary, output, changes), to a job of short examples in one process."""

    def make(corpus, vocabulary, output, *, settings=None, **changes) -> RecordJob:
        options = {"num_workers": 1, "part_characters": 2000, **changes}
        settings = InstanceSettings(**{**SETTINGS, **(settings or {})})
        return RecordJob(str(corpus), str(output), str(vocabulary), settings, **options)

    return make


@pytest.fixture
def checksums():
    """A function of a folder, to the SHA-256 of each of its files by name."""

    def read(folder: Path) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}

    return read


@pytest.fixture
def read_instances():
    """A function of record files, to the examples in them."""

    def read(paths: Iterable) -> list[PretrainingInstance]:
        return [from_example(message) for path in paths for _, message in read_records(str(path))]

    return read
