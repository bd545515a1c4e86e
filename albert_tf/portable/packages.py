"""Packages of the extras that these formats need, imported where they are used."""

import importlib
from types import ModuleType

from albert_tf.runtime.errors import InputError


def import_extra(name: str, extra: str) -> ModuleType:
    """The module of an optional package.

    Args:
        name: of the module.
        extra: of setup.py, which brings it.

    Raises:
        InputError: it is not installed; the pip line is named.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"--format={extra} needs {name.partition('.')[0]}: pip install 'albert_tf[{extra}]' ({error})"
        ) from None
