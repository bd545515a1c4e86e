"""Killed runs and full disks: nothing half written, nobody left running, and the same command completes the work."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from worker_processes import kill_process, worker_processes

from albert_tf.benchmarks.measure import descendants

pytestmark = pytest.mark.faults

KILLS = 30
# Files in a run's folder when only the last note is missing: of the job, two parts, their examples, four files.
FINISHED_FILES = 13


def _command(corpus, vocabulary, output, *more):
    return [
        *(sys.executable, "-m", "data_prep.create_pretraining_data", f"--input_file={corpus}"),
        *(f"--output_file={output}", f"--spm_model_file={vocabulary}", "--max_seq_length=64", "--dupe_factor=6"),
        *("--num_workers=2", *more),
    ]


@pytest.fixture
def long_corpus(tmp_path, small_corpus) -> str:
    path = tmp_path / "long.txt"
    path.write_text(Path(small_corpus).read_text() * 100)
    return str(path)


def _list(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _wait_until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _processes(run: subprocess.Popen, victim: str) -> list[int]:
    """The processes of a run that can be killed as `victim`: none after its end, no worker before one has started."""
    if run.poll() is not None:
        return []
    return [run.pid] if victim == "parent" else worker_processes(run.pid)


def _wait_for_files_and_a_victim(run: subprocess.Popen, folder: Path, files: int, victim: str):
    _wait_until(lambda: run.poll() is not None or (len(_list(folder)) >= files and _processes(run, victim)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_record_and_no_process(long_corpus, small_vocabulary, tmp_path, number):
    run = subprocess.Popen(
        _command(long_corpus, small_vocabulary, tmp_path / "out" / "train@4"),
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and the tests may run in one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    partial = tmp_path / "out" / ".train.partial"
    try:
        _wait_until(lambda: (partial / "tokens-000000").exists())
        workers = descendants(run.pid)
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode != 0
    assert "Traceback" not in errors
    assert os.listdir(tmp_path / "out") == [".train.partial"]
    _wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


def test_however_the_work_is_shared_there_is_one_list_of_checksums(long_corpus, small_vocabulary, tmp_path, checksums):
    """The same list as in the test of kills, whose command is the first of these."""
    distributed = pytest.importorskip("distributed")
    lists = []

    def run(name, *commands_flags):
        output = tmp_path / name / "train@4"
        commands = [_command(long_corpus, small_vocabulary, output, *flags) for flags in commands_flags]
        runs = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
        for one in runs:
            _, errors = one.communicate(timeout=120)
            assert one.returncode == 0, errors
        lists.append(checksums(output.parent))

    for workers in (2, 1, 5):
        run(f"workers-{workers}", [f"--num_workers={workers}"])
    run("tasks", *([f"--task_index={index}", "--num_tasks=2", "--num_workers=1"] for index in range(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster:
            run("dask", [f"--dask_scheduler={cluster.scheduler_address}"])
    assert len(lists[0]) == 5
    assert all(checksums == lists[0] for checksums in lists[1:])


def test_killed_at_any_moment_the_same_command_completes_the_same_bytes(
    long_corpus, small_vocabulary, tmp_path, monkeypatch, checksums
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    output = tmp_path / "out" / "train@4"
    command = _command(long_corpus, small_vocabulary, output)
    subprocess.run(command, capture_output=True, check=True)
    expected = checksums(output.parent)
    assert len(expected) == 5
    shutil.rmtree(output.parent)
    rng, completed, stages = random.Random(1), 0, set()
    victims = ["parent", "worker"] * (KILLS // 2)
    partial = output.parent / ".train.partial"
    while victims or not completed:
        run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        # Two kills in a run at most: a third could be over the same task, which is then given up.
        for victim in rng.sample(victims, k=min(2, len(victims))):
            # A moment of some stage, however fast the machine is just now.
            _wait_for_files_and_a_victim(run, partial, rng.randint(0, FINISHED_FILES), victim)
            time.sleep(rng.uniform(0, 0.3))
            processes = _processes(run, victim)
            seen = {name.split("-")[0] for name in _list(partial)}
            if processes and kill_process(rng.choice(processes)):
                stages |= seen
                victims.remove(victim)
                if victim == "parent":
                    break
        _, errors = run.communicate(timeout=120)
        if run.returncode == 0:
            assert "Traceback" not in errors
            assert checksums(output.parent) == expected
            shutil.rmtree(output.parent)
            completed += 1
        else:
            # A worker that is just starting when its parent is killed says so; nobody is left to keep it from that.
            assert run.returncode == -signal.SIGKILL, errors
            # Files under their names are whole, whenever the run ended.
            for path in output.parent.glob("train-0*"):
                assert hashlib.sha256(path.read_bytes()).hexdigest() == expected[path.name]
    assert not os.listdir(elsewhere)
    assert {"tokens", "examples", "shard"} <= stages


def test_a_disk_full_in_any_stage_is_one_line_and_with_room_the_run_completes(
    small_corpus, small_vocabulary, small_disk, tmp_path, checksums
):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(Path(small_corpus).read_text() * 25)
    flags = ("--dupe_factor=2", "--max_predictions_per_seq=10", "--num_workers=1")
    subprocess.run(_command(corpus, small_vocabulary, tmp_path / "out" / "train@2", *flags), check=True)
    expected, stages = checksums(tmp_path / "out"), set()
    size = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    command = _command(corpus, small_vocabulary, small_disk / "new" / "train@2", *flags)
    room = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    for share in (0.0, 0.01, 0.05, 0.5, 1.1, 1.3, 1.6, 1.9, 2.02):
        filler = small_disk / "filler"
        filler.write_bytes(bytes(max(0, room - int(share * size) - 8192)))
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode == 0:
            break
        lines = [line for line in finished.stderr.splitlines() if line.startswith("create_pretraining_data: ")]
        assert len(lines) == 1
        assert "No space left on device" in lines[0]
        assert str(small_disk) in lines[0]
        assert "Traceback" not in finished.stderr
        assert not [*(small_disk / "new").glob("train*")]
        stages.add(Path(lines[0].split(": ")[1]).name.split("-")[0].lstrip("."))
        filler.unlink()
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "going on with what an earlier run finished" in again.stderr
        assert checksums(small_disk / "new") == expected
        shutil.rmtree(small_disk / "new")
    assert {"tokens", "examples", "shard"} <= stages
