"""The one exception that a command shows as a single line instead of a traceback."""


class InputError(ValueError):
    """A mistake in what the user gave: a flag, a file, a config, a record.

    The message is one line that says what was wrong, where, and what to do. Commands print it and exit with
    code 1. Anything else that escapes a command is a fault of this project and keeps its traceback.
    """
