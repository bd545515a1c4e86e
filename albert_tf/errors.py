"""The exceptions that a command shows as a single line instead of a traceback."""


class InputError(ValueError):
    """A mistake in what the user gave: a flag, a file, a config, a record.

    The message is one line that says what was wrong, where, and what to do. Commands print it and exit with
    code 1. Anything else that escapes a command is a fault of this project and keeps its traceback.
    """


class RunStopped(Exception):
    """A run ended before its work was done through no fault of its input; the same command goes on with it.

    Args:
        message: one line that says what happened and what to do.
        exit_code: of the command, one of albert_tf.command's.
    """

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code
