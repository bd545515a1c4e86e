"""Output names, dealing out and gathering, and the temporary folder."""

import gzip
import hashlib
import os
from collections import Counter

import numpy as np
import pytest
from record_frames import split_frames

from albert_tf.records.record_files import frame
from albert_tf.runtime.errors import InputError
from data_prep.examples.draws import derive_seed, shuffled_order
from data_prep.job.shards import OutputFiles, gather, scatter


def test_names_of_shards():
    output = OutputFiles.from_flag("out/train@3")
    assert output.paths == ["out/train-00000-of-00003", "out/train-00001-of-00003", "out/train-00002-of-00003"]
    assert output.manifest == "out/train.manifest.json"
    output = OutputFiles.from_flag("out/a.tfrecord, out/b.tfrecord")
    assert output.paths == ["out/a.tfrecord", "out/b.tfrecord"]
    assert output.manifest == "out/a.tfrecord.manifest.json"
    assert OutputFiles.from_flag("x").manifest == "x.manifest.json"
    assert OutputFiles.from_flag("me@host/x").paths == ["me@host/x"]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        (" , ", "names no file"),
        ("a@0", "from 1 to 99999"),
        ("a@100000", "from 1 to 99999"),
        ("a@2,b", "stands alone"),
        ("a,b@2", "stands alone"),
        ("a@x", "stands alone"),
        ("a,b,a", "twice"),
        ("x/a,y/b", "one folder"),
        ("x/", "x/ is a folder; give a file name, as in x/train@8"),
        ("x/a,x/", "x/ is a folder"),
    ],
)
def test_wrong_names_are_one_line(flag, message):
    with pytest.raises(InputError, match=message):
        OutputFiles.from_flag(flag)


def _frames(count, offset=0):
    return [frame(f"record {offset + number}".encode() * (number % 5 + 1)) for number in range(count)]


def _scatter(folder, *parts, buckets) -> list[str]:
    paths = [str(folder / f"part-{number}") for number in range(len(parts))]
    for number, (path, framed) in enumerate(zip(paths, parts)):
        scatter(path, framed, buckets, number, {})
    return paths


@pytest.mark.parametrize("buckets", [1, 3])
def test_every_record_is_in_one_file_and_files_are_even(tmp_path, buckets):
    first, second = _frames(103), _frames(58, 1000)
    spills = _scatter(tmp_path, first, second, buckets=5 * buckets)
    found = Counter()
    for shard in range(5):
        path = tmp_path / f"shard-{shard}"
        described = gather(str(path), spills, range(shard * buckets, (shard + 1) * buckets), shard, "none")
        records = split_frames(path.read_bytes())
        assert described["examples"] == len(records) in range(32 - 2 * buckets, 33 + 2 * buckets)
        assert described["bytes"] == path.stat().st_size
        assert described["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(records)
    assert found == Counter([*first, *second])


def test_every_place_of_a_file_is_as_likely_for_a_record(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    # 12 records, 2 files of 3 buckets, 300 seeds: each record comes to lie at each of the 12 places alike.
    part, records = str(tmp_path / "part"), _frames(12)
    places = np.zeros((12, 12))
    for seed in range(300):
        scatter(part, records, 6, derive_seed(seed, "scatter"), {})
        for shard in range(2):
            buckets = range(3 * shard, 3 * shard + 3)
            gather(str(tmp_path / "shard"), [part], buckets, derive_seed(seed, "shard", shard), "none")
            for place, record in enumerate(split_frames((tmp_path / "shard").read_bytes())):
                places[records.index(record), 6 * shard + place] += 1
    assert (places.sum(axis=1) == 300).all()
    assert (((places - 25) ** 2 / 25).sum(axis=1) < 11 + 6 * 22**0.5).all()


def test_gzip_holds_the_same_bytes_and_no_name_or_time(tmp_path):
    spills = _scatter(tmp_path, _frames(5000), buckets=1)
    for name, compression in (("plain", "none"), ("zipped", "gzip"), ("again", "gzip")):
        gather(str(tmp_path / name), spills, range(1), 9, compression)
    assert gzip.decompress((tmp_path / "zipped").read_bytes()) == (tmp_path / "plain").read_bytes()
    assert (tmp_path / "zipped").read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "zipped").stat().st_size < (tmp_path / "plain").stat().st_size


def test_the_order_is_a_permutation_that_the_seed_decides():
    order = shuffled_order(1000, 5).tolist()
    assert sorted(order) == [*range(1000)]
    assert order == shuffled_order(1000, 5).tolist() != shuffled_order(1000, 6).tolist()
    # A change here changes every record set ever written with the same flags.
    assert shuffled_order(8, 2**127 + 12345).tolist() == [4, 5, 0, 1, 3, 2, 7, 6]
