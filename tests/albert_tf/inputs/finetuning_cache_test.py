"""The cache of features: when it is read, when it is made again, what a killed process leaves."""

import errno
import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

from albert_tf.inputs import finetuning_cache
from albert_tf.inputs.finetuning_cache import FEATURES, MANIFEST, Converter, hash_files, load_features, why_unusable
from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError

KEY = {"task": {"task_name": "made up"}, "settings": {"max_seq_length": 16}, "data": {"files": 1, "sha256": "1"}}
EXAMPLES = ["one", "three", "seven"]


def by_length(index, example):
    """One feature, with as many pieces as the text has letters."""
    return [Feature(index, [2, *map(ord, example), 3], [0] * (len(example) + 2), len(example))]


def slowly(index, example):
    """The feature of `by_length`, after a delay."""
    time.sleep(0.05)
    return by_length(index, example)


@pytest.fixture
def folder(tmp_path) -> str:
    return str(tmp_path / "features" / "train")


def load(folder, key=KEY, examples=EXAMPLES, workers=1):
    """The labels of the features, and whether the examples were read for them."""
    calls = []

    def read():
        calls.append(1)
        return examples

    features = load_features(folder, key, read, Converter(by_length, "classification"), workers)
    return [feature.label for feature in features], bool(calls)


def test_the_second_run_reads_no_examples(folder):
    assert load(folder) == ([3, 5, 5], True)
    assert load(folder) == ([3, 5, 5], False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"settings": {"max_seq_length": 32}}, "max_seq_length was 16 and is 32"),
        ({"data": {"files": 1, "sha256": "2"}}, "data is not what it was"),
        ({"task": {"task_name": "another"}}, "task_name was 'made up' and is 'another'"),
        ({"vocabulary": "new"}, "vocabulary is not what it was"),
    ],
)
def test_a_stale_cache_is_made_again_and_says_why(folder, change, reason, caplog):
    load(folder)
    with caplog.at_level(logging.INFO):
        assert load(folder, KEY | change, ["a"]) == ([1], True)
    assert f"made again: {reason}" in caplog.text
    assert load(folder, KEY | change) == ([1], False)


def damage(name, edit):
    def do(folder):
        path = Path(folder, name)
        path.write_bytes(edit(path.read_bytes()))

    return do


@pytest.mark.parametrize(
    "harm",
    [
        damage(FEATURES, lambda bytes_: bytes_[:-1]),
        damage(FEATURES, lambda bytes_: bytes_[:20] + b"x" + bytes_[21:]),
        damage(FEATURES, lambda bytes_: b""),
        damage(MANIFEST, lambda bytes_: bytes_[:40]),
        damage(MANIFEST, lambda bytes_: b"[]"),
        damage(MANIFEST, lambda bytes_: bytes_.replace(b'"format_version": 3', b'"format_version": 0')),
        lambda folder: Path(folder, FEATURES).unlink(),
        lambda folder: Path(folder, MANIFEST).unlink(),
    ],
)
def test_a_damaged_cache_is_made_again(folder, harm, caplog):
    load(folder)
    harm(folder)
    with caplog.at_level(logging.INFO):
        assert load(folder) == ([3, 5, 5], True)
    assert caplog.text.count("made again") == 1
    assert load(folder) == ([3, 5, 5], False)


@pytest.mark.parametrize("name", ["notes.txt", "high", "1.json"])
def test_a_folder_with_something_else_is_left_as_it_is(folder, name):
    Path(folder).mkdir(parents=True)
    Path(folder, name).write_text("mine")
    with pytest.raises(InputError, match=rf"{folder} holds {name}, .* it stays as it is: give another --cache_dir"):
        load(folder)
    assert Path(folder, name).read_text() == "mine"
    assert os.listdir(Path(folder).parent) == ["train"]


def test_a_file_in_the_folder_s_place_is_left_as_it_is(folder):
    Path(folder).parent.mkdir()
    Path(folder).write_text("mine")
    with pytest.raises(InputError, match=rf"{folder} is a file"):
        load(folder)
    assert Path(folder).read_text() == "mine"


def test_a_parent_that_is_no_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="train: features cannot be kept there .* give another --cache_dir"):
        load(str(tmp_path / "file" / "train"))


def test_a_cache_is_read_where_nothing_may_be_written(folder, monkeypatch):
    load(folder)
    monkeypatch.setattr(finetuning_cache, "_wait_for_lock", mock.Mock(side_effect=OSError(errno.EROFS, "Read-only")))
    assert load(folder) == ([3, 5, 5], False)
    with pytest.raises(InputError, match="cannot be kept there .Read-only."):
        load(folder, KEY | {"data": "another"})


def test_the_cache_of_an_earlier_version_is_replaced(folder):
    Path(folder).mkdir(parents=True)
    for name in ("features.tfrecord", MANIFEST):
        Path(folder, name).write_text("{}")
    assert load(folder) == ([3, 5, 5], True)
    assert sorted(os.listdir(folder)) == [FEATURES, MANIFEST]


def test_an_error_in_an_example_leaves_the_old_cache(folder):
    load(folder)

    def fail():
        raise InputError("train.tsv, line 3: bad")

    with pytest.raises(InputError, match="line 3"):
        load_features(folder, KEY | {"data": []}, fail, Converter(by_length, "classification"))
    assert load(folder) == ([3, 5, 5], False)
    assert sorted(os.listdir(Path(folder).parent)) == ["train"]


def test_any_number_of_workers_writes_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(finetuning_cache, "_FEWEST_FOR_PROCESSES", 1)
    examples = [f"text {number}" * (number % 5 + 1) for number in range(950)]
    labels = [load(str(tmp_path / str(workers)), examples=examples, workers=workers)[0] for workers in (1, 2)]
    contents = [Path(tmp_path, str(workers), FEATURES).read_bytes() for workers in (1, 2)]
    assert labels[0] == labels[1] == [len(example) for example in examples]
    assert contents[0] == contents[1]


def test_another_content_name_or_order_of_the_files_is_another_hash(tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    for path, contents in zip(paths, ("one", "two")):
        Path(path).write_text(contents)
    hashes = [hash_files(paths), hash_files(paths[::-1]), hash_files(paths[:1])]
    Path(paths[1]).write_text("three")
    hashes.append(hash_files(paths))
    assert [made["files"] for made in hashes] == [2, 2, 1, 2]
    assert len({made["sha256"] for made in hashes}) == 4


def test_the_manifest_says_what_the_cache_was_made_of(folder):
    load(folder)
    manifest = json.loads(Path(folder, MANIFEST).read_text())
    assert manifest["key"] == KEY
    assert (manifest["examples"], manifest["features"]) == (3, 3)
    assert manifest["bytes"] == Path(folder, FEATURES).stat().st_size


_SCRIPT = """
import sys
sys.path.insert(0, {here!r})
from finetuning_cache_test import KEY, slowly
from albert_tf.inputs.finetuning_cache import Converter, write_features
if __name__ == "__main__":
    write_features({folder!r}, KEY, ["text"] * 4000, Converter(slowly, "classification"), {workers})
"""


def _is_free(path: Path) -> bool:
    """True where nobody holds the lock of a folder, which may be gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


@pytest.mark.faults
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_killed_half_way_leaves_no_cache_that_is_read(folder, tmp_path, workers, number):
    here = str(Path(__file__).parent)
    script = tmp_path / "make_cache.py"
    script.write_text(_SCRIPT.format(here=here, folder=folder, workers=workers))
    parent = Path(folder).parent
    with subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL) as run:
        try:
            end = time.monotonic() + 240
            # The folder that is to become the cache is there.
            while not any(parent.glob(".train.*.tmp")):
                assert run.poll() is None
                assert time.monotonic() < end
                time.sleep(0.02)
            run.send_signal(number)
            run.wait(60)
            # Workers of a process that was killed hold its folder until they notice that it is gone.
            while not all(map(_is_free, parent.glob(".train.*.tmp"))):
                assert time.monotonic() < end
                time.sleep(0.02)
        finally:
            run.kill()
    assert why_unusable(folder, KEY) == ""
    assert load(folder) == ([3, 5, 5], True)
    assert sorted(os.listdir(parent)) == ["train"]
