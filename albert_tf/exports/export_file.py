"""export.json of an export: what was exported, and a checksum of everything. Needs no TensorFlow.

A SavedModel has it in assets.extra/, an export of another format beside the model.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from albert_tf.published.names import is_published
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes

SAVED_MODEL_NAME = "saved_model.pb"
EXTRA_FOLDER, EXPORT_NAME = "assets.extra", "export.json"
FORMAT = "albert_tf export"
_AGAIN = "export the model again"
# The last line but one holds the checksum of all that stands before it.
_CHECKSUM = ',\n  "sha256": "{}"\n}}\n'
_SEALED = re.compile(rb'(.*),\n  "sha256": "([0-9a-f]{64})"\n\}\n', re.DOTALL)


def write_export(folder: str, about: Mapping[str, Any], place: str = EXTRA_FOLDER) -> None:
    """Writes export.json into a finished export, with the size and the SHA-256 of every file of it.

    Args:
        folder: of the export.
        about: what to say of it.
        place: the folder in it where export.json goes; "" for the export's own.
    """
    own = os.path.join(place, EXPORT_NAME)
    described = {name: describe_file(os.path.join(folder, name)) for name in _files_of(folder) if name != own}
    values = {"format": FORMAT, **about, "files": described}
    text = to_json_bytes(values, indent=2).removesuffix(b"\n}")
    with files.replace_file(os.path.join(folder, own)) as file:
        file.write(text + _CHECKSUM.format(hashlib.sha256(text).hexdigest()).encode())


def read_export(folder: str, place: str = EXTRA_FOLDER) -> dict[str, Any]:
    """Reads what the export in a folder says of itself.

    Args:
        folder: of the export.
        place: as in write_export.

    Raises:
        InputError: there is none, or it is damaged, another program's, or of a version that wrote no checksums.
        OSError: it cannot be read.
    """
    path = os.path.join(folder, place, EXPORT_NAME)
    if not files.exists(path):
        raise InputError(
            f"{folder} is no export of albert_tf ({os.path.join(place, EXPORT_NAME)} is missing); make one with "
            f"{'export_saved_model' if place else 'export_model'}"
        )
    contents = files.read_small(path)
    values = files.parse_json(contents, path)
    if values.get("format") != FORMAT:
        raise InputError(f"{path}: not written by export_saved_model or export_model; {_AGAIN}")
    sealed = _SEALED.fullmatch(contents)
    if sealed is None:
        raise InputError(f"{path}: without its checksum: it is damaged, or of an earlier version; {_AGAIN}")
    if hashlib.sha256(sealed[1]).hexdigest().encode() != sealed[2]:
        raise InputError(f"{path}: damaged, or changed after it was written (its checksum differs); {_AGAIN}")
    for name, is_right in (_CHECKS if place else _PORTABLE_CHECKS).items():
        if not is_right(values.get(name)):
            raise InputError(f"{path}: {name!r} is not what this version of albert_tf expects; {_AGAIN}")
    return values


def check_files(folder: str, about: Mapping[str, Any]) -> None:
    """Raises InputError if a file of an export is not the one that was written."""
    for name, wanted in about["files"].items():
        path = os.path.join(folder, name)
        if not files.exists(path):
            raise InputError(f"{path} is missing; copy the export as a whole, or {_AGAIN}")
        if not files.is_remote(path) and not os.path.isfile(path):
            raise InputError(f"{path} is no file; {_AGAIN}")
        if describe_file(path, wanted["bytes"]) != wanted:
            raise InputError(f"{path} is damaged: its size or checksum is not the one in {EXPORT_NAME}; {_AGAIN}")


def holds_saved_model(folder: str) -> bool:
    """Tells whether a folder holds a SavedModel, of ours or not."""
    return files.exists(os.path.join(folder, SAVED_MODEL_NAME))


def is_export(folder: str) -> bool:
    """Tells whether a folder holds an export, whole or damaged, of this version or a different one."""
    return FORMAT in (_peek(folder).get("format"), _peek(folder, place="").get("format"))


def portable_format(folder: str) -> str | None:
    """The format of an export that is no SavedModel: "onnx" or "litert"; None where there is none."""
    about = _peek(folder, place="")
    return about.get("model_format") if about.get("format") == FORMAT else None


def gains_by_frozen_weights(folder: str) -> bool:
    """Tells whether an exported model's products are faster with import_tensorflow(frozen_weights=True).

    Those of bfloat16 are, up to 1.5 times at one sequence, those of float32 are not (docs/benchmarks).
    """
    return _peek(folder).get("precision") == "bfloat16"


def _is_description(name: str, value: Any) -> bool:
    """Tells whether a file of the export is named, and described by its size and checksum."""
    inside = not os.path.isabs(name) and ".." not in name.split("/")
    return inside and isinstance(value, dict) and list(map(type, map(value.get, ("bytes", "sha256")))) == [int, str]


def _describe_files(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_description(*item) for item in value.items())


def _are_forms(value: Any) -> bool:
    """Tells whether inputs or outputs of a portable model are named, with their types and axes."""
    if not isinstance(value, list) or not value:
        return False
    kinds = {"name": str, "dtype": str, "shape": list}
    return all(isinstance(form, dict) and {k: type(form.get(k)) for k in kinds} == kinds for form in value)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


# What readers rely on, beside the format and the task; first of a SavedModel, then of other formats.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "signatures": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "files": lambda value: _describe_files(value) and SAVED_MODEL_NAME in value,
    "precision": lambda value: isinstance(value, str),
}
_PORTABLE_CHECKS: dict[str, Callable[[Any], bool]] = {
    "files": _describe_files,
    **dict.fromkeys(("model_format", "model_file", "precision", "head"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("inputs", "outputs"), _are_forms),
    "max_seq_length": _is_size,
    "batch_size": lambda value: value is None or _is_size(value),
    "fixed_length": lambda value: isinstance(value, bool),
    "vocabulary": lambda value: isinstance(value, dict) and isinstance(value.get("file"), str),
    **dict.fromkeys(("cleaning", "config"), lambda value: isinstance(value, dict)),
}


def _peek(folder: str, place: str = EXTRA_FOLDER) -> dict[str, Any]:
    if is_published(folder):
        # What is published by name is a checkpoint, no export.
        return {}
    try:
        return files.read_json(os.path.join(folder, place, EXPORT_NAME))
    except (InputError, OSError, ValueError):
        return {}


def _files_of(folder: str) -> list[str]:
    """The files of a folder and those below it; with / between, whatever the system has."""
    found, waiting = [], [""]
    while waiting:
        inner = waiting.pop()
        for name in files.list_folder(os.path.join(folder, inner)):
            path = f"{inner}/{name}" if inner else name
            (waiting if _is_folder(os.path.join(folder, path)) else found).append(path)
    return sorted(found)


def _is_folder(path: str) -> bool:
    return bool(files.list_folder(path)) if files.is_remote(path) else os.path.isdir(path)
