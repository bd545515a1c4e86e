"""Steps that run as processes, here small programs: once each, after those that they need, never by two at a time."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from albert_tf.experiments import runner as runner_module
from albert_tf.experiments.runner import Runner
from albert_tf.experiments.steps import DONE_NAME, LOCK_NAME, Made, Own, Step, Written, finished_notes
from albert_tf.runtime.errors import RunStopped
from albert_tf.training.stop_signals import StopSignals

# Says that it ran, and writes its output.
_WRITE = "echo ran >> {log}; echo '{{}}' > {result}"

_UNTIL_TERMINATED = "trap 'echo ended >> {log}; exit 75' TERM; echo begun >> {log}; while :; do sleep 0.05; done"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(runner_module, "_SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(runner_module, "_SECONDS_TO_WAIT", 0.01)


@pytest.fixture
def shell(monkeypatch):
    """Has steps run what stands in their flag "shell", in their own folder."""

    def program(step, output_dir):
        folder = step.folder(output_dir)
        text = step.flags["shell"].format(log=f"{output_dir}/ran.txt", result=f"{folder}/{step.result}", folder=folder)
        return ["sh", "-c", text]

    monkeypatch.setattr(Step, "program", program)


def _step(shell=_WRITE, **flags):
    return Step("evaluation", {"shell": shell, **flags}, "result.json")


def _run(tmp_path, *steps, signals=None):
    names = {step.key: step.flags.get("name", "a step") for step in steps}
    return Runner(str(tmp_path), signals or StopSignals(), names).run(steps)


def _runs(tmp_path):
    path = tmp_path / "ran.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_step_runs_once_and_leaves_a_note_and_a_log(tmp_path, shell):
    step = _step(config=Written("config.json", {"a": 1}))
    assert step.done(str(tmp_path)) is None
    assert _run(tmp_path, step) == {}
    note = step.done(str(tmp_path))
    assert (note["kind"], note["work"]) == ("evaluation", 1.0)
    assert note["seconds"] >= 0
    folder = Path(step.folder(str(tmp_path)))
    assert json.loads((folder / "config.json").read_text()) == {"a": 1}
    assert (folder / "log.txt").read_text().startswith("$ python -m albert_tf.run_evaluation ")
    assert _run(tmp_path, step) == {}
    assert _runs(tmp_path) == 1
    assert finished_notes(str(tmp_path)) == [note]


@pytest.mark.parametrize("lost", [DONE_NAME, "result.json", "out"])
def test_a_step_without_its_note_or_its_output_runs_again(tmp_path, shell, lost):
    step = _step(f"{_WRITE}; touch {{folder}}/out", output=Own("out"))
    _run(tmp_path, step)
    Path(step.folder(str(tmp_path)), lost).unlink()
    _run(tmp_path, step)
    assert _runs(tmp_path) == 2
    # It had been begun before, so its time is not known.
    assert step.done(str(tmp_path))["seconds"] is None


def test_a_step_without_its_further_output_runs_again(tmp_path, shell):
    step = Step("evaluation", {"shell": f"{_WRITE}; touch {{folder}}/checkpoint-1"}, "result.json", also="checkpoint-*")
    _run(tmp_path, step)
    _run(tmp_path, step)
    assert _runs(tmp_path) == 1
    Path(step.folder(str(tmp_path)), "checkpoint-1").unlink()
    assert step.done(str(tmp_path)) is None
    _run(tmp_path, step)
    assert _runs(tmp_path) == 2


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("KILL", "ended by SIGKILL, as the system does where memory runs out; the same run_exp"),
        ("SEGV", "by SIGSEGV; "),
        ("40", "by signal 40; "),
    ],
)
def test_a_step_that_a_signal_ended_says_which(tmp_path, shell, name, line):
    step = _step(f"echo 'step 100 of 800'; kill -{name} $$")
    (reason,) = _run(tmp_path, step).values()
    assert line in reason
    assert "step 100" not in reason


def test_a_step_that_fails_takes_with_it_what_needs_it_and_nothing_else(tmp_path, shell, caplog):
    bad = _step("echo one; echo 'create: no such file' >&2; exit 3", name="row x: records")
    needs = _step(name="row x: pretraining", input_file=Made(bad, "out"))
    good = _step(f"{_WRITE}; touch {{folder}}/out", name="row y", output=Own("out"))
    failed = _run(tmp_path, bad, needs, good)
    assert set(failed) == {bad.key, needs.key}
    log = os.path.join(bad.folder(str(tmp_path)), "log.txt")
    assert failed[needs.key] == failed[bad.key] == f"create: no such file (exit code 3; {log})"
    assert f"row x: records: {failed[bad.key]}" in caplog.text
    assert not Path(needs.folder(str(tmp_path))).exists()
    assert good.done(str(tmp_path)) is not None


def test_a_command_that_ends_well_without_its_output_has_failed(tmp_path, shell):
    step = _step("true")
    assert "no message" not in _run(tmp_path, step)[step.key]
    assert step.done(str(tmp_path)) is None


def test_two_processes_share_steps_and_do_none_twice(tmp_path, shell):
    first = _step("sleep 0.2; " + _WRITE, number=0)
    steps = [first, *(_step("sleep 0.02; " + _WRITE, number=number, needs=Made(first, "")) for number in range(1, 6))]
    others = [steps[0], *reversed(steps[1:])]
    threads = [threading.Thread(target=_run, args=(tmp_path, *order)) for order in (steps, others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(step.done(str(tmp_path)) is not None for step in steps)
    assert _runs(tmp_path) == len(steps)


def test_a_command_that_outlived_its_runner_holds_its_step(tmp_path, shell):
    step = _step()
    folder = Path(step.folder(str(tmp_path)))
    folder.mkdir(parents=True)
    program = f"exec 9>{folder}/{LOCK_NAME}; flock 9; echo held; sleep 0.5; echo '{{}}' > {folder}/result.json"
    with subprocess.Popen(["bash", "-c", program], stdout=subprocess.PIPE) as outlived:
        assert outlived.stdout.readline() == b"held\n"
        begin = time.monotonic()
        _run(tmp_path, step)
        assert time.monotonic() - begin > 0.3
    assert step.done(str(tmp_path)) is not None


def test_a_signal_goes_to_the_command_once_and_ends_the_run(tmp_path, shell):
    step = _step(_UNTIL_TERMINATED)
    after = _step(name="after")
    with StopSignals() as signals:

        def send():
            while not _runs(tmp_path):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=send)
        thread.start()
        with pytest.raises(RunStopped, match="stopped by SIGTERM; what is finished is kept; the same command goes on"):
            _run(tmp_path, step, after, signals=signals)
        thread.join()
    assert (tmp_path / "ran.txt").read_text() == "begun\nended\n"
    assert step.done(str(tmp_path)) is None
    assert not Path(after.folder(str(tmp_path))).exists()


def test_a_command_ends_when_its_runner_is_killed(tmp_path):
    program = (
        "import sys\n"
        "from albert_tf.experiments.runner import Runner\n"
        "from albert_tf.experiments.steps import Step\n"
        "from albert_tf.training.stop_signals import StopSignals\n"
        "Step.program = lambda step, folder: ['sh', '-c', sys.argv[2]]\n"
        "step = Step('evaluation', {}, 'result.json')\n"
        "Runner(sys.argv[1], StopSignals(), {step.key: 'x'}).run([step])\n"
    )
    text = _UNTIL_TERMINATED.format(log=tmp_path / "ran.txt")
    runner = subprocess.Popen([sys.executable, "-c", program, str(tmp_path), text], stderr=subprocess.DEVNULL)
    while not _runs(tmp_path):
        time.sleep(0.02)
    runner.kill()
    runner.wait()
    end = time.monotonic() + 10
    while _runs(tmp_path) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert (tmp_path / "ran.txt").read_text() == "begun\nended\n"
