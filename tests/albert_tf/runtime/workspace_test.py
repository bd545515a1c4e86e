"""The folder of an unfinished job: what removes it, what keeps it, and whose it is."""

import os
import shutil
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError, WorkersKilledError
from albert_tf.runtime.workspace import (
    describe_differences,
    enter_job,
    open_workspace,
    read_note,
    remove_finished,
    write_note,
)

JOB = {"flags": {"dupe_factor": 2, "ngram": 3}, "vocabulary": {"sha256": "a"}, "input": [{"name": "x"}], "output": []}


def test_it_is_gone_after_success_and_after_a_mistake_of_the_users(tmp_path):
    output = str(tmp_path / "new" / "deep" / "train")
    with pytest.raises(InputError), open_workspace(output) as folder:
        enter_job(folder, JOB, overwrite=False)
        raise InputError("bad text")
    assert [*tmp_path.iterdir()] == []
    with open_workspace(output) as folder:
        enter_job(folder, JOB, overwrite=False)
    assert [*(tmp_path / "new" / "deep").iterdir()] == []


def test_it_stays_after_anything_else_and_the_same_job_goes_on(tmp_path):
    output = str(tmp_path / "train")
    for error in (OSError, KeyboardInterrupt, SystemExit, WorkersKilledError):
        with pytest.raises(error), open_workspace(output) as folder:
            enter_job(folder, JOB, overwrite=False)
            (tmp_path / folder / "tokens-000000").touch()
            (tmp_path / folder / "tokens-000001.77.tmp").touch()
            raise error
    with open_workspace(output, remove=False) as folder:
        assert enter_job(folder, JOB, overwrite=False)
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == ["job.json", "tokens-000000"]


def test_another_job_is_refused_and_changes_nothing_unless_it_may_overwrite(tmp_path):
    output = str(tmp_path / "train")
    with open_workspace(output, remove=False) as folder:
        enter_job(folder, JOB, overwrite=False)
        (tmp_path / folder / "tokens-000000").touch()
    other = {**JOB, "flags": {"dupe_factor": 1, "ngram": 3}}
    with pytest.raises(InputError, match=r"other flags \(dupe_factor 2, now 1\)"), open_workspace(output) as folder:
        enter_job(folder, other, overwrite=False)
    assert (tmp_path / folder / "tokens-000000").exists()
    with open_workspace(output, remove=False) as folder:
        assert not enter_job(folder, other, overwrite=True)
    assert [path.name for path in (tmp_path / folder).iterdir()] == ["job.json"]


def test_two_runs_do_not_share_it_but_tasks_of_one_job_do(tmp_path):
    output = str(tmp_path / "train")
    with open_workspace(output):
        with pytest.raises(InputError, match="another run is writing"), open_workspace(output):
            pass
        assert (tmp_path / ".train.partial").exists()
    with open_workspace(output, shared=True), open_workspace(output, shared=True, remove=False):
        pass


def test_what_a_run_left_that_was_killed_after_its_last_file_is_removed(tmp_path):
    output = str(tmp_path / "train")
    with open_workspace(output, remove=False) as folder:
        enter_job(folder, JOB, overwrite=False)
    (tmp_path / ".train.partial.77.tmp").mkdir()
    (tmp_path / ".train.partial.77.tmp" / "tokens-000000").touch()
    others = {".train.partial.copy", ".train2.partial", ".train2.partial.77.tmp"}
    for name in others:
        (tmp_path / name).mkdir()
    with open_workspace(output, shared=True, remove=False):
        assert not (tmp_path / ".train.partial.77.tmp").exists()
        remove_finished(output, JOB)
        assert {path.name for path in tmp_path.iterdir()} == {*others, ".train.partial"}
    (tmp_path / ".train.partial.77.tmp").mkdir()
    remove_finished(output, {**JOB, "flags": {}})
    assert {path.name for path in tmp_path.iterdir()} == {*others, ".train.partial"}
    remove_finished(output, JOB)
    assert {path.name for path in tmp_path.iterdir()} == others
    remove_finished(output, JOB)


def test_a_removal_cut_off_leaves_no_work_without_its_job(tmp_path, monkeypatch):
    output, unlink = str(tmp_path / "train"), os.unlink
    with open_workspace(output, remove=False) as folder:
        enter_job(folder, JOB, overwrite=False)
        for name in ("alpha", "zebra"):
            Path(folder, name).touch()

    def unlink_the_first(path):
        unlink(path)
        raise SystemExit

    def remove_nothing(path, **_):
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit), open_workspace(output) as folder:
        patch.setattr(os, "unlink", unlink_the_first)
        enter_job(folder, {**JOB, "flags": {}}, overwrite=True)
    assert Path(folder, "job.json").exists()
    with monkeypatch.context() as patch, pytest.raises(SystemExit), open_workspace(output):
        patch.setattr(shutil, "rmtree", remove_nothing)
        raise InputError("bad text")
    assert not Path(folder).exists()
    with open_workspace(output, remove=False):
        assert [path.name for path in tmp_path.iterdir()] == [".train.partial"]


def test_work_of_a_job_that_nobody_can_tell_is_not_taken_for_ones_own(tmp_path):
    with open_workspace(str(tmp_path / "train"), remove=False) as folder:
        enter_job(folder, JOB, overwrite=False)
        Path(folder, "tokens-000000").touch()
        Path(folder, "job.json").write_bytes(b"")
        assert not enter_job(folder, JOB, overwrite=False)
        assert os.listdir(folder) == ["job.json"]


def test_a_folder_goes_though_something_comes_into_it_meanwhile(tmp_path, monkeypatch):
    remove, seen = shutil.rmtree, []

    def once_in_vain(path, **kwargs):
        seen.append(path)
        if len(seen) > 1:
            remove(path, **kwargs)

    with pytest.raises(InputError), open_workspace(str(tmp_path / "train")):
        monkeypatch.setattr(shutil, "rmtree", once_in_vain)
        raise InputError("bad text")
    assert os.listdir(tmp_path) == []


def test_what_jobs_differ_in_is_said_in_a_few_words():
    assert describe_differences(JOB, {**JOB, "vocabulary": {}}) == "another vocabulary"
    assert describe_differences(JOB, {**JOB, "input": [{"name": "x", "bytes": 1}]}) == "other input (x)"
    assert describe_differences(JOB, {**JOB, "input": [*JOB["input"], {"name": "y"}]}) == "other input (more files now)"
    assert describe_differences(JOB, {**JOB, "output": ["a"]}) == "other output files"


def test_a_note_that_cannot_be_read_is_none(tmp_path):
    path = tmp_path / "note"
    assert read_note(str(path)) is None
    write_note(str(path), {"parts": [1]})
    assert read_note(str(path)) == {"parts": [1]}
    for damage in (b"", path.read_bytes()[:5], b"\xff" + path.read_bytes()):
        path.write_bytes(damage)
        assert read_note(str(path)) is None
