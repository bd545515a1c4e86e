"""The end of a command: one line on stderr and an exit code for every way to end."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError, InputError, RunStopped

def main():
    {body}

command.run(main)
"""


@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("pass", 0, ""),
        ("raise InputError('no such file')", 1, "no such file"),
        ("raise InputError('a\\nb\\x1b[2J: no such file')", 1, "a\\nb\\x1b[2J: no such file"),
        ("raise FlagError('--a goes without --b')", 2, "--a goes without --b"),
        ("raise OSError(28, 'No space left on device', 'a')", 1, "a: No space left on device; free some room"),
        ("raise RunStopped('stopped by SIGTERM', command.EXIT_STOPPED)", 75, "stopped by SIGTERM"),
        ("raise RunStopped('a worker was lost', command.EXIT_WORKER_LOST)", 69, "a worker was lost"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
    ],
)
def test_every_way_to_end_has_a_code_and_a_line(body, code, line):
    program = PROGRAM.format(body=body)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == bool(line)


def test_a_command_whose_reader_goes_away_says_nothing():
    body = "[print('line', number) for number in range(100_000)]"
    program = PROGRAM.format(body=body)
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout.readline() == b"line 0\n"
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait() == 141
    run.stderr.close()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_what_cannot_be_encoded_is_printed_all_the_same(encoding):
    program = PROGRAM.format(body="print('caf\\udce9 \u4e2d')")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert done.stdout.decode(encoding).strip() in ("caf\\udce9 \u4e2d", "caf\\udce9 \\u4e2d")


def test_a_switch_that_is_neither_true_nor_false_is_told_as_other_wrong_values_are():
    program = f"from absl import flags\nflags.DEFINE_bool('do_train', True, 'Train.')\n{PROGRAM.format(body='pass')}"
    words = [sys.executable, "-c", program, "--do_train=maybe"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("flag --do_train=maybe: value should be true or false")
