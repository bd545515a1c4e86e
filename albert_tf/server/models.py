"""Models to serve: their names, versions and folders, from a command line; opening them."""

import dataclasses
import os
import re
from collections.abc import Sequence

from albert_tf.exports.export_file import holds_saved_model, is_export
from albert_tf.published.names import is_published
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError
from albert_tf.server.served_model import ServedModel
from albert_tf.serving.model_kind import PORTABLE, kind_of

# What can stand in an address between slashes, and is no word of the interface.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_GIVEN = re.compile(rf"({_NAME.pattern})=(.+)", re.DOTALL)
_VERSION = re.compile(r"[0-9]{1,18}")
_FIRST_VERSION = 1


@dataclasses.dataclass(frozen=True)
class ModelSource:
    """A model to serve.

    Attributes:
        name: in addresses.
        path: an export, a run, a checkpoint, or a name of published weights.
        version: the number of the folder, where it has one; else 1.
    """

    name: str
    path: str
    version: int

    @property
    def is_portable(self) -> bool:
        """Tells whether it runs without TensorFlow."""
        return kind_of(self.path) == PORTABLE


def parse_sources(given: Sequence[str]) -> list[ModelSource]:
    """The models that a command line names.

    Args:
        given: NAME=PATH, or a path alone, whose last part is the name. A path that holds no model but folders that are
            numbers, as TensorFlow Serving wants them, stands for the one of the highest number.

    Raises:
        InputError: nothing there, no name that an address can hold, or the same name twice.
    """
    sources: list[ModelSource] = []
    for text in given:
        named = _GIVEN.fullmatch(text)
        # A path may hold an equals sign: what stands there is a path.
        is_named = named is not None and (is_published(named[2]) or not files.exists(text))
        name, path = (named[1], named[2]) if named is not None and is_named else (None, text)
        path = path if is_published(path) else path.rstrip("/") or path
        path, version = _newest_version(path)
        name = name or _name_of(path, version)
        if not _NAME.fullmatch(name):
            raise FlagError(f"--model={text}: {name!r} cannot stand in an address; give --model=NAME={path}")
        if any(source.name == name for source in sources):
            raise FlagError(f"--model={text}: there are two models named {name!r}; give --model=OTHER={path}")
        sources.append(ModelSource(name, path, version or _FIRST_VERSION))
    return sources


def open_model(source: ModelSource) -> ServedModel:
    """Loads a model.

    Raises:
        InputError: what lies there is no model, or a damaged one, or it needs a package that is not installed.
    """
    if source.is_portable:
        from albert_tf.server.portable_model import PortableServedModel

        return PortableServedModel(source.path)
    from albert_tf.server.tensorflow_model import TensorflowModel

    return TensorflowModel(source.path)


def _newest_version(path: str) -> tuple[str, int | None]:
    """The folder that holds the model, and its number if it has one."""
    if is_published(path):
        return path, None
    if _holds_export(path):
        name = os.path.basename(path)
        return path, int(name) if _VERSION.fullmatch(name) else None
    numbers = [name for name in files.list_folder(path) if _VERSION.fullmatch(name)]
    versions = [name for name in numbers if _holds_export(os.path.join(path, name))]
    if versions:
        newest = max(versions, key=int)
        return os.path.join(path, newest), int(newest)
    # Says so where there is nothing at all.
    kind_of(path)
    return path, None


def _holds_export(path: str) -> bool:
    return holds_saved_model(path) or is_export(path)


def _name_of(path: str, version: int | None) -> str:
    """The last part of a path that is no version."""
    if is_published(path):
        path = path.partition("@")[0]
    parts = [part for part in path.split("/") if part]
    if version is not None and len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    return parts[-1] if parts else ""
