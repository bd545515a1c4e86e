"""Paths as users give them: text, or an object that stands for one, such as pathlib.Path."""

import dataclasses
import os
from typing import Any

StrPath = str | os.PathLike[str]


def paths_as_text(settings: Any) -> None:
    """Turns every path object among the fields of a frozen dataclass into text.

    Its `__post_init__` calls this first, so that all that reads the settings finds text: file names, flags written
    down, JSON.

    >>> from pathlib import Path
    >>> @dataclasses.dataclass(frozen=True)
    ... class Settings:
    ...     output_dir: StrPath
    ...     def __post_init__(self):
    ...         paths_as_text(self)
    >>> Settings(Path("work") / "model").output_dir
    'work/model'

    Args:
        settings: an object of a dataclass.
    """
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, os.PathLike):
            object.__setattr__(settings, field.name, os.fspath(value))
