"""Output names, dealing out and gathering, and the temporary folder."""

import gzip
from collections import Counter

import pytest

from albert_tf.errors import InputError
from albert_tf.inputs.record_files import frame, split_frames
from data_prep.shards import OutputFiles, gather, scatter, shuffled_order


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
    ],
)
def test_wrong_names_are_one_line(flag, message):
    with pytest.raises(InputError, match=message):
        OutputFiles.from_flag(flag)


def _frames(count, offset=0):
    return [frame(f"record {offset + number}".encode() * (number % 5 + 1)) for number in range(count)]


def test_every_record_is_in_one_shard_and_shards_are_even(tmp_path):
    first, second = _frames(103), _frames(58, 1000)
    spills = [scatter(str(tmp_path / f"part-{n}"), part, 5, n) for n, part in enumerate((first, second))]
    found = Counter()
    for shard in range(5):
        path = tmp_path / f"shard-{shard}"
        described = gather(str(path), [spill.slice(shard) for spill in spills], shard, "none")
        records = split_frames(path.read_bytes())
        assert described["examples"] == len(records) in range(30, 35)
        assert described["bytes"] == path.stat().st_size
        found.update(records)
    assert found == Counter([*first, *second])


def test_gzip_holds_the_same_bytes_and_no_name_or_time(tmp_path):
    spill = scatter(str(tmp_path / "part"), _frames(5000), 1, 1)
    for name, compression in (("plain", "none"), ("zipped", "gzip"), ("again", "gzip")):
        gather(str(tmp_path / name), [spill.slice(0)], 9, compression)
    assert gzip.decompress((tmp_path / "zipped").read_bytes()) == (tmp_path / "plain").read_bytes()
    assert (tmp_path / "zipped").read_bytes() == (tmp_path / "again").read_bytes()
    assert (tmp_path / "zipped").stat().st_size < (tmp_path / "plain").stat().st_size


def test_the_order_is_a_permutation_that_the_seed_decides():
    order = shuffled_order(1000, 5)
    assert sorted(order) == [*range(1000)]
    assert order == shuffled_order(1000, 5) != shuffled_order(1000, 6)
    # A change here changes every record set ever written with the same flags.
    assert shuffled_order(8, 2**127 + 12345) == [4, 5, 0, 1, 3, 2, 7, 6]


def test_the_workspace_is_gone_after_success_and_failure(tmp_path):
    output = OutputFiles.from_flag(str(tmp_path / "new" / "deep" / "train@2"))
    with pytest.raises(RuntimeError), output.workspace() as folder:
        (tmp_path / "new" / "deep").joinpath(folder, "x").write_text("x")
        raise RuntimeError
    assert [*tmp_path.iterdir()] == []
    with output.workspace():
        pass
    assert [*(tmp_path / "new" / "deep").iterdir()] == []


def test_what_a_killed_run_left_is_removed_and_a_running_one_is_left_alone(tmp_path):
    output = OutputFiles.from_flag(str(tmp_path / "train@2"))
    leftover = tmp_path / ".train.partial" / "part-000000"
    leftover.parent.mkdir()
    leftover.write_text("old")
    with output.workspace():
        assert not leftover.exists()
        with pytest.raises(InputError, match="another run is writing"), output.workspace():
            pass
        assert leftover.parent.exists()
    assert [*tmp_path.iterdir()] == []
