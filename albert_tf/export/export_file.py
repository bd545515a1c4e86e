"""assets.extra/export.json of a SavedModel: what was exported. It is read without TensorFlow."""

import os
from typing import Any

from albert_tf import files
from albert_tf.errors import InputError

EXTRA_FOLDER, EXPORT_NAME = "assets.extra", "export.json"
FORMAT = "albert_tf export"


def read_export(folder: str) -> dict[str, Any]:
    """What the export in a folder says of itself; empty if there is none."""
    path = os.path.join(folder, EXTRA_FOLDER, EXPORT_NAME)
    if not files.exists(path):
        return {}
    try:
        about = files.read_json(path)
    except InputError:
        return {}
    return about if about.get("format") == FORMAT else {}


def gains_by_frozen_weights(folder: str) -> bool:
    """Whether the products of an exported model are faster with command.import_tensorflow(frozen_weights=True).

    Those of bfloat16 are, up to 1.5 times at one sequence, those of float32 are not (docs/benchmarks).
    """
    return read_export(folder).get("precision") == "bfloat16"
