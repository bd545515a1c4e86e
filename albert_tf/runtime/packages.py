"""Packages of the extras of setup.py, imported where they are used."""

import importlib
import logging
from types import ModuleType

from albert_tf.runtime.errors import InputError


def is_installed(name: str) -> bool:
    """Tells whether an optional package is there and can be imported, which is done."""
    try:
        _import(name)
    except ImportError:
        return False
    return True


def import_extra(name: str, extra: str, needed_by: str | None = None) -> ModuleType:
    """The module of an optional package.

    Args:
        name: of the module.
        extra: of setup.py, which brings it.
        needed_by: what needs it, for the error; None: the flag --format of that value.

    Raises:
        InputError: it is not installed; the pip line is named.
    """
    try:
        return _import(name)
    except ImportError as error:
        raise InputError(
            f"{needed_by or f'--format={extra}'} needs {name.partition('.')[0]}: pip install 'albert_tf[{extra}]' "
            f"({error})"
        ) from None


def _import(name: str) -> ModuleType:
    """A module, with what is logged going where it went before: OpenVINO takes the handler of absl away."""
    handlers = list(logging.root.handlers)
    try:
        return importlib.import_module(name)
    finally:
        logging.root.handlers[:] = handlers
