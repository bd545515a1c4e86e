"""The local folder of published weights, for whatever takes a checkpoint's path."""

import dataclasses
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
    # With the weights comes all that comes without them.
    for key in {(path, True), (path, weights)}:
        if os.path.isdir(_FOUND.get(key, "")):
            return _FOUND[key]
    _FOUND[path, weights] = _fetch(path, weights) if path.startswith(HUB) else fetch_archive(path)
    return _FOUND[path, weights]


def _fetch(path: str, weights: bool) -> str:
    """Fetches a repository, at the commit that its vocabulary alone was found at before."""
    name, found = parse_hub_name(path), _FOUND.get((path, False))
    if found is not None:
        name = dataclasses.replace(name, revision=os.path.basename(found))
    return fetch_repository(name, weights)
