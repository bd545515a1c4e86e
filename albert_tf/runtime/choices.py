"""Settings that allow a few words: which, said once, for their check and for the flags of a command."""

from typing import Any

from albert_tf.runtime.errors import InputError


def check_choices(settings: Any) -> None:
    """Checks that the attributes named in the CHOICES of a settings dataclass have one of their words.

    Args:
        settings: an instance; its class has CHOICES, name -> words. None is allowed where it is the default.

    Raises:
        InputError: another word.
    """
    for name, words in settings.CHOICES.items():
        value = getattr(settings, name)
        if value not in words and not (value is None and getattr(type(settings), name, "") is None):
            raise InputError(f"--{name} must be one of {', '.join(words)}. Received {value!r}.")
