"""The local folder of published weights, for whatever takes a checkpoint's path."""

import os

from albert_tf.published.hub_download import fetch_repository
from albert_tf.published.names import HUB, is_published, parse_hub_name
from albert_tf.published.official_archives import fetch_archive

# What this process has found: all that it does is of one commit, even if the branch moves on meanwhile.
_FOUND: dict[tuple[str, bool], str] = {}


def local_copy(path: str, weights: bool = True) -> str:
    """The path itself; or, for a name of published weights, the folder where they lie on this machine.

    What is not there yet is fetched, once for all processes of the host; docs/published.md says where it is kept.

    Args:
        path: of a checkpoint, or hf://owner/name, hf://owner/name@revision or official://name.
        weights: whether the weights are needed; the vocabulary alone may come without them.

    Raises:
        InputError: no such name, or it cannot be fetched.
        OSError: no room, or no right to write.
    """
    if not is_published(path):
        return path
    key = (path, weights)
    if not os.path.isdir(_FOUND.get(key, "")):
        is_of_hub = path.startswith(HUB)
        _FOUND[key] = fetch_repository(parse_hub_name(path), weights) if is_of_hub else fetch_archive(path)
    return _FOUND[key]
