"""A model's identity, in a few words of JSON: whether two runs of predict ask the same one."""

import contextlib
import os
from typing import Any

from albert_tf.exports.export_file import EXPORT_NAME, EXTRA_FOLDER
from albert_tf.published.local_copy import local_copy
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError
from albert_tf.serving.model_kind import CHECKPOINT, kind_of

# Of a folder of sentence-transformers: the list of its modules, some of which have folders of their own.
_MODULES = "modules.json"
# What a folder says of a model to people decides nothing.
_CARD = "README.md"


def identify_model(path: str) -> dict[str, Any]:
    """Describes the model at a path by the checksums of its files.

    Args:
        path: whatever Predictor or FillMask has opened; a checkpoint is the one that they choose of a run now.

    Returns:
        {file: {"bytes", "sha256"}}. Of an export and of a checkpoint of ours it is the file that has the checksums of
        all others.
    """
    folder = local_copy(path)
    if kind_of(path) != CHECKPOINT:
        places = (os.path.join(folder, EXTRA_FOLDER, EXPORT_NAME), os.path.join(folder, EXPORT_NAME))
        return {EXPORT_NAME: describe_file(next(place for place in places if files.exists(place)))}
    from albert_tf.checkpoints.checkpoint_state import STATE_NAME
    from albert_tf.checkpoints.readable_checkpoint import find_readable_checkpoint

    checkpoint = find_readable_checkpoint(folder)
    if checkpoint is not None:
        return {STATE_NAME: describe_file(os.path.join(checkpoint, STATE_NAME))}
    inside = files.exists(folder) and bool(files.list_folder(folder))
    place, prefix = (folder, "") if inside else os.path.split(folder)
    names = [name for name in files.list_folder(place) if name.startswith(prefix) and name != _CARD]
    names += _names_in_modules(place) if _MODULES in names else []
    return {name: describe_file(os.path.join(place, name)) for name in names if _is_file(os.path.join(place, name))}


def _names_in_modules(folder: str) -> list[str]:
    """The files in the folders of the modules that a modules.json lists; none of one that others complain of."""
    names: list[str] = []
    with contextlib.suppress(InputError, OSError, AttributeError, TypeError):
        modules = files.parse_json(b'{"modules": %b}' % files.read_small(os.path.join(folder, _MODULES)), _MODULES)
        for module in (str(one.get("path") or "") for one in modules["modules"]):
            if module and ".." not in module.split("/") and not os.path.isabs(module):
                names += [f"{module}/{name}" for name in files.list_folder(os.path.join(folder, module))]
    return sorted(names)


def depth_scores_of(path: str) -> dict[str, Any]:
    """The scores of a checkpoint by the layers that are computed; {} where none are known."""
    from albert_tf.checkpoints.depth_scores import read_depth_scores
    from albert_tf.checkpoints.readable_checkpoint import find_readable_checkpoint

    checkpoint = find_readable_checkpoint(local_copy(path))
    return {} if checkpoint is None else read_depth_scores(checkpoint)


def _is_file(path: str) -> bool:
    return not files.list_folder(path) if files.is_remote(path) else os.path.isfile(path)
