"""The exceptions that a command shows as a single line instead of a traceback."""

import re

# What TensorFlow writes around a message: {{function_node ...}}, {{node ...}}, [Op:...], "Graph execution error:".
_AROUND = re.compile(r"\{\{.*?\}\}\s*|\s*\[Op:[^\]]*\]|^Graph execution error:\s*|^Detected at node .*$", re.MULTILINE)


class InputError(ValueError):
    """A mistake in what the user gave: a flag, a file, a config, a record.

    The message is one line that says what was wrong, where, and what to do. Commands print it and exit with
    code 1. Anything else that escapes a command is a fault of this project and keeps its traceback.
    """


class DamagedError(InputError):
    """A file is not what was once written; what lies beside it, an earlier checkpoint for example, may still serve."""


class RunStopped(Exception):
    """A run ended before its work was done through no fault of its input; the same command goes on with it.

    Args:
        message: one line that says what happened and what to do.
        exit_code: of the command, one of albert_tf.runtime.command's.
    """

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


def reason_of(error: Exception) -> str:
    """The first line of an exception's message, without the names of functions and operations that TensorFlow adds."""
    lines = [line.strip() for line in _AROUND.sub("", str(error)).splitlines()]
    return next((line for line in lines if line and not line.startswith('File "')), type(error).__name__)
