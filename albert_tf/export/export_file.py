"""assets.extra/export.json of a SavedModel: what was exported. It is read without TensorFlow."""

import os
from typing import Any

from albert_tf import files
from albert_tf.errors import InputError

EXTRA_FOLDER, EXPORT_NAME = "assets.extra", "export.json"
FORMAT = "albert_tf export"


def read_export(folder: str) -> dict[str, Any]:
    """What the export in a folder says of itself.

    Raises:
        InputError: it is damaged, or another program's.
        OSError: there is none.
    """
    path = os.path.join(folder, EXTRA_FOLDER, EXPORT_NAME)
    about = files.read_json(path)
    if about.get("format") != FORMAT:
        raise InputError(f"{path}: not written by export_saved_model; export the model again")
    return about


def is_export(folder: str) -> bool:
    """Whether a folder holds an export that says so."""
    try:
        return bool(read_export(folder))
    except (InputError, OSError):
        return False


def gains_by_frozen_weights(folder: str) -> bool:
    """Whether the products of an exported model are faster with command.import_tensorflow(frozen_weights=True).

    Those of bfloat16 are, up to 1.5 times at one sequence, those of float32 are not (docs/benchmarks).
    """
    try:
        return read_export(folder).get("precision") == "bfloat16"
    except (InputError, OSError):
        return False
