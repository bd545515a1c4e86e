"""Records made by a Dask cluster of three worker processes against those made here."""

import os
import warnings
from pathlib import Path

import pytest

from albert_tf.runtime import worker_pool
from albert_tf.runtime.errors import InputError
from data_prep.examples.instances import InstanceSettings
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob

distributed = pytest.importorskip("distributed")


def _job(corpus, vocabulary, output, **changes) -> RecordJob:
    settings = InstanceSettings(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=2)
    return RecordJob(corpus, str(output), vocabulary, settings, part_characters=2000, **changes)


@pytest.fixture
def scheduler():
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
    ):
        warnings.simplefilter("ignore")
        yield cluster.scheduler_address


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_writes_the_same_bytes(scheduler, small_corpus, small_vocabulary, tmp_path, monkeypatch):
    # A relative output: the cluster's workers have working folders of their own.
    monkeypatch.chdir(tmp_path)
    create_records(_job(small_corpus, small_vocabulary, Path("here/train@3"), num_workers=1))
    create_records(_job(small_corpus, small_vocabulary, Path("there/train@3"), dask_scheduler=scheduler))
    assert len(os.listdir("here")) == 4
    assert sorted(os.listdir("here")) == sorted(os.listdir("there"))
    for name in os.listdir("here"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_does_not_answer_is_one_line(small_corpus, small_vocabulary, tmp_path, monkeypatch):
    monkeypatch.setattr(worker_pool, "_SECONDS_TO_CONNECT", 1)
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp://127.0.0.1:9") as error:
        create_records(
            _job(small_corpus, small_vocabulary, tmp_path / "out" / "train", dask_scheduler="tcp://127.0.0.1:9")
        )
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()
