"""Killed runs and a full disk: nothing half written, nothing left behind, nobody left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults


def _command(corpus, vocabulary, output, *more):
    return [
        *(sys.executable, "-m", "data_prep.create_pretraining_data", f"--input_file={corpus}"),
        *(f"--output_file={output}", f"--spm_model_file={vocabulary}", "--max_seq_length=64", "--dupe_factor=2"),
        *("--num_workers=2", *more),
    ]


@pytest.fixture
def long_corpus(tmp_path, small_corpus) -> str:
    path = tmp_path / "long.txt"
    path.write_text(Path(small_corpus).read_text() * 400)
    return str(path)


def _descendants(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children] + [pid for child in children for pid in _descendants(int(child))]


def _wait_until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("spills", [0, 2])
def test_a_killed_run_leaves_no_record_and_no_process(long_corpus, small_vocabulary, tmp_path, number, spills):
    output = tmp_path / "out" / "train@4"
    partial = tmp_path / "out" / ".train.partial"
    run = subprocess.Popen(
        _command(long_corpus, small_vocabulary, output),
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and the tests may run in one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        _wait_until(lambda: partial.exists() and len(os.listdir(partial)) >= spills)
        workers = _descendants(run.pid)
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode != 0
    assert "Traceback" not in errors
    _wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    if number == signal.SIGKILL:
        # What no program can prevent is taken away by the next run.
        assert set(os.listdir(tmp_path / "out")) <= {".train.partial"}
        again = _command(long_corpus, small_vocabulary, output, "--dupe_factor=1")
        assert subprocess.run(again, capture_output=True, check=False).returncode == 0
        assert sorted(os.listdir(tmp_path / "out"))[0] == "train-00000-of-00004"
    else:
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("dupe_factor", [1, 3])
def test_a_full_disk_is_one_line_and_leaves_nothing(long_corpus, small_vocabulary, small_disk, dupe_factor):
    command = _command(long_corpus, small_vocabulary, small_disk / "new" / "train@4", f"--dupe_factor={dupe_factor}")
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    lines = [line for line in finished.stderr.splitlines() if line.startswith("create_pretraining_data: ")]
    assert len(lines) == 1
    assert "No space left on device" in lines[0]
    assert str(small_disk) in lines[0]
    assert "Traceback" not in finished.stderr
    assert os.listdir(small_disk) == []
