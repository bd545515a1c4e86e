"""Weights of the Hugging Face hub in its own cache: only the needed files, once a host, and each what the hub says."""

import hashlib
import os
import re
from typing import Any

from absl import logging

from albert_tf.published.hub_client import explained, import_hub, is_network_error
from albert_tf.published.names import HubName
from albert_tf.published.needed_files import names_in, needed_files
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError

# Of a download that is cut: every further one goes on where the one before was cut.
_ATTEMPTS = 3
_FILES_SHOWN = 5
_SHA256, _GIT_SHA1 = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


def fetch_repository(name: HubName, weights: bool = True) -> str:
    """Brings what is needed of a repository into the cache of huggingface_hub, unless it is there.

    Several processes of a host fetch each file once: huggingface_hub locks it. Without a network, or with
    HF_HUB_OFFLINE, what the cache has is taken.

    Args:
        name: of the repository.
        weights: whether the weights are needed, or the vocabulary alone.

    Returns:
        the folder of the repository's commit in the cache.

    Raises:
        InputError: no such repository or revision, no right to it, no network and nothing in the cache, no weights in
            it that can be read here, or a file that is not what the hub says.
        OSError: no room, or no right to write.
    """
    hub = import_hub()
    with explained(name):
        if hub.constants.HF_HUB_OFFLINE:
            folder = _cached(hub, name)
        else:
            folder = _download(hub, name, weights)
    names = needed_files(names_in(folder), weights)
    if not names:
        raise InputError(f"{name}: the cache has no weights of it in {folder}; start once with a network")
    for file in names:
        _check(name, os.path.join(folder, file))
    logging.info("%s is commit %s, in %s", name, os.path.basename(folder), folder)
    return folder


def _cached(hub: Any, name: HubName) -> str:
    # With no pattern at all, no file is missing that nobody asked for.
    return hub.snapshot_download(name.repository, revision=name.revision, local_files_only=True, allow_patterns=[])


def _download(hub: Any, name: HubName, weights: bool) -> str:
    try:
        info = hub.HfApi().model_info(name.repository, revision=name.revision)
    except Exception as error:
        if not is_network_error(error) or getattr(error, "response", None) is not None:
            raise
        folder = _cached(hub, name)
        logging.warning("%s is not reached: %s is taken from the cache", hub.constants.ENDPOINT, name)
        return folder
    names = [file.rfilename for file in info.siblings or ()]
    wanted = needed_files(names, weights)
    if not wanted:
        shown = ", ".join(sorted(names)[:_FILES_SHOWN]) + (", …" if len(names) > _FILES_SHOWN else "")
        raise InputError(f"{name}: no weights in it that can be read here; it holds {shown or 'nothing'}")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return hub.snapshot_download(name.repository, revision=name.revision, allow_patterns=wanted)
        except Exception as error:
            if attempt == _ATTEMPTS or not is_network_error(error) or getattr(error, "response", None) is not None:
                raise
            logging.warning("%s: the download was cut (%s); going on with it", name, type(error).__name__)
    raise AssertionError("the last attempt returns or raises")


def _check(name: HubName, path: str) -> None:
    """Raises InputError unless a file of the cache has the digest by which the hub, and so the cache, names it."""
    if not os.path.islink(path):
        # Where the cache has no links, its files carry no digests.
        return
    blob = os.path.realpath(path)
    digest = os.path.basename(blob)
    if _SHA256.fullmatch(digest):
        found = describe_file(blob)["sha256"]
    elif _GIT_SHA1.fullmatch(digest):
        contents = files.read_small(blob)
        found = hashlib.sha1(b"blob %d\0" % len(contents) + contents, usedforsecurity=False).hexdigest()
    else:
        return
    if found != digest:
        raise InputError(
            f"{name}: {os.path.basename(path)} is not what the hub says: its digest is {found[:12]}…, not "
            f"{digest[:12]}…; remove {blob} and start again"
        )
