"""The command killed, stopped, and out of room: the same command goes on, and its file is that of a quiet run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COUNT = 3000
pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("rows") / "rows.jsonl", random.Random(0)
    words = ["bada", "gimo", "rasu", "lefi", "1995"]
    rows = [{"id": number, "text": " ".join(rng.choices(words, k=rng.randint(0, 20)))} for number in range(COUNT)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "no JSON\n")
    return path


def start(exports, table, output, *more):
    command = [
        *(sys.executable, "-m", "albert_tf.predict", f"--saved_model={exports['finetuned']}", "--batch_size=4"),
        *(f"--input_file={table}", f"--output_file={output}", *more),
    ]
    return subprocess.Popen(
        *(command,),
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        # A shell starts background jobs with SIGINT ignored, and the tests may run in one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def run_to_its_end(*arguments):
    run = start(*arguments)
    _, said = run.communicate(timeout=300)
    return run.returncode, said


def finished_rows(output):
    try:
        return json.loads((output.parent / f".{output.name}.partial" / "progress.json").read_text())["rows"]
    except FileNotFoundError:
        return 0


def end_after(run, output, rows, number):
    """Sends a signal once so many rows are finished; returns the exit code and what was said."""
    deadline = time.monotonic() + 120
    while run.poll() is None and finished_rows(output) < rows:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    run.send_signal(number)
    _, said = run.communicate(timeout=120)
    return run.returncode, said


@pytest.mark.parametrize("ending, more", [("jsonl", ()), ("tsv", ()), ("parquet", ()), ("jsonl", ("--num_workers=2",))])
def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(exports, table, tmp_path, ending, more):
    whole, cut = tmp_path / f"whole.{ending}", tmp_path / f"cut.{ending}"
    assert run_to_its_end(exports, table, whole)[0] == 1
    for rows in (256, 1024, 2048):
        code, _ = end_after(start(exports, table, cut, *more), cut, rows, signal.SIGKILL)
        assert code == -signal.SIGKILL and not cut.exists()
        assert finished_rows(cut) >= rows
    assert run_to_its_end(exports, table, cut, *more)[0] == 1
    assert cut.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([whole.name, cut.name])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_says_so_in_one_line_and_keeps_what_is_finished(exports, table, tmp_path, number):
    output = tmp_path / "b.jsonl"
    code, said = end_after(start(exports, table, output), output, 512, number)
    assert code == 75, said
    assert f"predict: stopped by {signal.Signals(number).name}; " in said.splitlines()[-1]
    assert "Traceback" not in said
    rows = finished_rows(output)
    assert rows >= 512
    _, said = run_to_its_end(exports, table, output)
    assert f"going on after the {rows} rows" in said
    assert len(output.read_text().splitlines()) == COUNT + 1


def test_a_full_disk_is_one_line_and_loses_nothing(exports, table, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no right to mount a small disk")
    try:
        output = disk / "b.jsonl"
        code, said = run_to_its_end(exports, table, output)
        assert code == 1
        assert "No space left on device; free some room" in said.splitlines()[-1]
        rows = finished_rows(output)
        assert rows >= 256
        subprocess.run(["mount", "-o", "remount,size=9m", disk], check=True)
        assert run_to_its_end(exports, table, output)[0] == 1
        whole = tmp_path / "whole.jsonl"
        run_to_its_end(exports, table, whole)
        assert output.read_bytes() == whole.read_bytes()
    finally:
        subprocess.run(["umount", disk], check=True)
