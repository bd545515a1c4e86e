"""The exceptions that a command shows as a single line instead of a traceback."""

import re

# What TensorFlow writes around a message: {{function_node ...}}, {{node ...}}, [Op:...], "Graph execution error:".
_AROUND = re.compile(
    r"\{\{.*?\}\}\s*|\s*\[Op:[^\]]*\]|^Graph execution error:\s*|^Detected at node .*$|^<stack traces .*>$",
    re.MULTILINE,
)


# The dashes of a flag in a message, which in Python are no part of a setting's name. A value in quotes keeps its own.
_DASHES = re.compile(r"(?<![\w'\"-])--(?=[a-z])")


class InputError(ValueError):
    """A mistake in what the user gave: a flag, a file, a config, a record.

    The message is one line that says what was wrong, where, and what to do. Commands print it and exit with
    code 1. Anything else that escapes a command is a fault of this project and keeps its traceback.

    Messages are written for commands. In a program that is none, settings are named as Python has them:

    >>> str(InputError("--log_steps must be at least 1. Received 0."))
    'log_steps must be at least 1. Received 0.'

    Attributes:
        in_command: whether the process is one of the commands; they say so when they start.
    """

    in_command = False

    def __str__(self) -> str:
        text = super().__str__()
        return text if InputError.in_command else _DASHES.sub("", text)


class FlagError(InputError):
    """A flag whose value means nothing, by itself or beside those of others; a command exits with code 2."""


class WorkersKilledError(InputError):
    """Processes were killed again and again, for want of memory most likely; what is finished stays."""


class InUseError(InputError):
    """Something that another process holds; a command exits with code 75, as it may go on once that is free."""


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
