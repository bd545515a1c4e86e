"""Processes that fetch from a hub on 127.0.0.1."""

import subprocess
import sys
from pathlib import Path

import pytest

_FETCH = """
import sys
from absl import logging
from albert_tf.published.local_copy import local_copy
from albert_tf.runtime.errors import InputError
# As commands do, by which other libraries' lines would show too.
logging.use_absl_handler()
logging.set_verbosity(logging.INFO)
try:
    print(local_copy(sys.argv[1]))
except InputError as error:
    sys.exit(f"fetch: {error}")
"""


@pytest.fixture
def start(hub_environment):
    """A function that starts a process which fetches a name, with changes of its environment."""

    def begin(name, script=_FETCH, *more, **changes):
        command = [sys.executable, "-c", script, name, *more]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env={**hub_environment, **changes}, **pipes)

    return begin


@pytest.fixture
def fetch(start):
    """A function that fetches a name in a process: (folder or None, the lines on stderr)."""

    def run(name, **changes):
        process = start(name, **changes)
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 1), err
        assert "Traceback" not in err
        return (Path(out.strip()) if process.returncode == 0 else None), err.splitlines()

    return run
