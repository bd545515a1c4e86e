"""The archives of google-research/ALBERT by name: fetched once, kept with size and SHA-256, unpacked, checked.

CACHE/albert_base_v2.tar.gz     the archive as it was fetched
CACHE/albert_base_v2.json       where it is from, its size and SHA-256, and those of every file in it
CACHE/albert_base_v2/           the same unpacked
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from absl import logging

from albert_tf.published.archives import unpack
from albert_tf.published.http_download import download
from albert_tf.published.names import OFFICIAL
from albert_tf.published.needed_files import names_in
from albert_tf.runtime import files, temporaries
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import InputError

# Where the README of google-research/ALBERT has them; the English models that it lists.
ADDRESS = "https://storage.googleapis.com/albert_models"
NAMES = [f"albert_{size}_v{version}" for version in (1, 2) for size in ("base", "large", "xlarge", "xxlarge")]
# Of the environment: another server with the same archives, and where they are kept.
ADDRESS_VARIABLE, CACHE_VARIABLE = "ALBERT_TF_ARCHIVES", "ALBERT_TF_CACHE"
_FORMAT = "albert_tf official archive"
_ENDING = ".tar.gz"


def fetch_archive(text: str) -> str:
    """Brings an archive into the cache, unless it is there, and unpacks it.

    Several processes of a host fetch it once: the first locks it, the others wait.

    Args:
        text: "official://" and one of NAMES; a slash at its end does not count.

    Returns:
        the folder of the checkpoint, with its config and vocabulary.

    Raises:
        InputError: no such name; it cannot be fetched; an archive with links, or paths that lead out of it; or files
            of the cache that are not what was fetched.
        OSError: no room, or no right to write.
    """
    name = text.removeprefix(OFFICIAL).rstrip("/")
    if name not in NAMES:
        raise InputError(f"{text}: no published model of this name; there are {', '.join(OFFICIAL + n for n in NAMES)}")
    cache = cache_folder()
    if files.is_remote(cache):
        raise InputError(f"{CACHE_VARIABLE}={cache}: archives are kept in a local folder; name one")
    files.make_folder(cache)
    with _locked(os.path.join(cache, f".{name}.lock")):
        folder = _fetch_and_unpack(cache, name)
    logging.info("%s is in %s", text, folder)
    return folder


def cache_folder() -> str:
    """The folder where archives are kept."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return os.path.join(os.path.expanduser(given), "official")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "albert_tf", "official")


def _fetch_and_unpack(cache: str, name: str) -> str:
    archive, note, folder = (os.path.join(cache, name + ending) for ending in (_ENDING, ".json", ""))
    if not os.path.isfile(note):
        if not os.path.isfile(archive):
            _fetch(archive, name)
        with _removed_if_bad(archive), files.replace_folder(folder) as temporary:
            unpack(archive, temporary)
            _checkpoint_in(temporary, archive)
            inside = {path: describe_file(os.path.join(temporary, path)) for path in names_in(temporary)}
        about = {"format": _FORMAT, "address": _address_of(name), "archive": describe_file(archive), "files": inside}
        files.write_json(note, about)
    known = _read_note(note)
    if not os.path.isdir(folder):
        _unpack_again(archive, folder, known)
    _check_files(folder, known)
    return _checkpoint_in(folder, archive)


def _address_of(name: str) -> str:
    return (os.environ.get(ADDRESS_VARIABLE) or ADDRESS).rstrip("/") + f"/{name}{_ENDING}"


def _fetch(archive: str, name: str) -> None:
    address = _address_of(name)
    logging.info("fetching %s", address)
    download(address, archive)


def _unpack_again(archive: str, folder: str, known: dict[str, Any]) -> None:
    """Unpacks a kept archive once more, after its size and SHA-256 were compared."""
    if not os.path.isfile(archive):
        raise InputError(f"{folder} and {archive} are gone; remove {folder}.json too, and start again")
    if describe_file(archive) != known["archive"]:
        raise InputError(
            f"{archive} is damaged: it is not what was fetched; remove it and {folder}.json, and start again"
        )
    with files.replace_folder(folder) as temporary:
        unpack(archive, temporary)


def _read_note(path: str) -> dict[str, Any]:
    known = files.read_json(path)
    if known.get("format") != _FORMAT or not all(isinstance(known.get(key), dict) for key in ("archive", "files")):
        raise InputError(f"{path}: damaged, or not written here; remove it and start again")
    return known


def _check_files(folder: str, known: dict[str, Any]) -> None:
    """Raises InputError unless the unpacked files are those of the archive."""
    for path, described in known["files"].items():
        whole = os.path.join(folder, path)
        if not os.path.isfile(whole) or describe_file(whole) != described:
            raise InputError(f"{whole} is missing or damaged; remove {folder} and start again")


def _checkpoint_in(folder: str, archive: str) -> str:
    """The folder with the checkpoint: that of the archive, or one in it, as albert_base/."""
    found = [root for root, _, names in os.walk(folder) if any(name.endswith(".index") for name in names)]
    if len(found) != 1:
        raise InputError(f"{archive}: {len(found)} folders with a checkpoint in it, one was expected")
    return found[0]


@contextlib.contextmanager
def _removed_if_bad(archive: str) -> Iterator[None]:
    """Removes a new archive that turns out to be none of a model, so that the next start fetches it anew."""
    try:
        yield
    except InputError:
        os.unlink(archive)
        raise


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Keeps other processes out while the block lasts; where a file system has no locks, it keeps nobody out."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        temporaries.hold(descriptor, path)
        yield
    finally:
        os.close(descriptor)
