"""Paths and files, local or remote: globs, reading, and writing that never leaves half a file.

A local path is handled by Python alone. A path with a scheme (gs://, s3://, hdfs://) goes through
tf.io.gfile, which is imported only then.
"""

import contextlib
import errno
import glob
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from albert_tf.runtime import temporaries
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.folder_exchange import put_in_place
from albert_tf.runtime.json_text import to_json_bytes

# What read_small reads at most, in bytes.
LARGEST_SMALL_FILE = 64 << 20


def is_remote(path: str) -> bool:
    """Tells whether the path names a different file system, as in "gs://bucket/file"."""
    return "://" in path


def _gfile():
    from albert_tf.runtime.tensorflow_import import remote_files

    return remote_files()


def list_files(patterns: str, flag: str = "input_file") -> list[str]:
    """The files that a comma-separated list of paths and globs names, each pattern's sorted by name.

    Args:
        patterns: for example "a.txt,corpus/*.txt".
        flag: the flag the patterns came from, for the error.

    Returns:
        Paths in the order of the patterns; a file of several names, as a.txt and ./a.txt or a link to it, by the first.

    Raises:
        InputError: a pattern matches no file, or names a folder.
    """
    found: dict[str, str] = {}
    for pattern in (part.strip() for part in patterns.split(",")):
        if not pattern:
            continue
        if is_remote(pattern):
            matches = sorted(_gfile().glob(pattern))
        else:
            matches = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
            folders = [match for match in matches if Path(match).is_dir()]
            if folders:
                raise InputError(f"--{flag}: {folders[0]} is a folder; name the files in it, as in {folders[0]}/*")
        if not matches:
            raise InputError(f"--{flag}: no file matches {pattern!r}")
        for match in matches:
            found.setdefault(match if is_remote(match) else os.path.realpath(match), match)
    if not found:
        raise InputError(f"--{flag} names no file; received {patterns!r}")
    return list(found.values())


def exists(path: str) -> bool:
    """Tells whether the path names a file or folder."""
    return _gfile().exists(path) if is_remote(path) else Path(path).exists()


def list_folder(path: str) -> list[str]:
    """The names in a folder; none if there is no such folder."""
    if is_remote(path):
        gfile = _gfile()
        return [name.rstrip("/") for name in gfile.listdir(path)] if gfile.isdir(path) else []
    return sorted(os.listdir(path or ".")) if Path(path or ".").is_dir() else []


def make_folder(path: str) -> None:
    """Makes the folder and its parents; one that is there already is left alone."""
    if is_remote(path):
        _gfile().makedirs(path)
    else:
        Path(path).mkdir(parents=True, exist_ok=True)


def open_binary(path: str):
    """Opens a file for reading bytes.

    Raises:
        InputError: a pipe or a device, which may keep silent or never end.
    """
    if is_remote(path):
        return _gfile().GFile(path, "rb")
    if kind := describe_special(path):
        raise InputError(f"{path} is {kind}; give a file")
    return Path(path).open("rb")


def describe_special(path: str) -> str | None:
    """The kind of a local path that is neither a file nor a folder: "a pipe", "a device" or "a socket"; else None."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "a device"
    return "a socket" if stat.S_ISSOCK(mode) else None


def read_small(path: str) -> bytes:
    """Reads a file that is meant to be small; no other one gets into memory.

    Raises:
        InputError: it is larger than LARGEST_SMALL_FILE.
    """
    if is_remote(path) and not exists(path):
        # TensorFlow's error is none of Python's.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    with open_binary(path) as file:
        contents = file.read(LARGEST_SMALL_FILE + 1)
    if len(contents) > LARGEST_SMALL_FILE:
        raise InputError(f"{path}: larger than {LARGEST_SMALL_FILE >> 20} MiB; this is not the file that belongs here")
    return contents


def read_json(path: str, of_any_size: bool = False) -> dict[str, Any]:
    """Reads a JSON object.

    Args:
        path: of a regular file.
        of_any_size: for data of the user's; left out: read_small's limit holds.

    Raises:
        InputError: not JSON, or not an object.
        OSError: no such file, or no right to read it.
    """
    if not of_any_size:
        return parse_json(read_small(path), path)
    with open_binary(path) as file:
        return parse_json(file.read(), path)


def parse_json(contents: bytes, path: str) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        InputError: not JSON, or not an object.
    """
    try:
        values = json.loads(contents)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: a JSON object was expected; this is a {type(values).__name__}")
    return values


def write_json(path: str, values: Mapping[str, Any], sort_keys: bool = False) -> None:
    """Writes a JSON object; the file appears whole or not at all. A number that is not finite becomes null."""
    with replace_file(path) as file:
        file.write(to_json_bytes(values, indent=2, sort_keys=sort_keys) + b"\n")


@contextlib.contextmanager
def replace_file(path: str) -> Iterator:
    """Writes a file as a whole or not at all: a temporary name beside it, fsync, rename.

    What killed processes left in the folder goes first.

    Args:
        path: where the file is to appear; its folder is made if missing. A link there is replaced, not followed.

    Yields:
        A binary file to write to. An exception inside the block removes it; an older file stays as it was.

    Raises:
        InputError: the path is that of a folder, or of a device, which a rename would destroy.
    """
    folder, name = os.path.split(path)
    if not is_remote(path) and (not name or (os.path.exists(path) and not os.path.isfile(path))):
        raise InputError(f"{path} is a folder or a device; name a file to write")
    if folder:
        make_folder(folder)
    if is_remote(path):
        with _replace_remote_file(path) as file:
            yield file
        return
    temporaries.remove_leftovers(folder)
    file, temporary = temporaries.create_file(path)
    try:
        # The rename comes before the file is closed: until then nobody takes it for a leftover.
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = path
        raise


@contextlib.contextmanager
def _replace_remote_file(path: str) -> Iterator:
    gfile, temporary = _gfile(), temporaries.name_beside(path)
    try:
        with gfile.GFile(temporary, "wb") as file:
            yield file
        gfile.rename(temporary, path, overwrite=True)
    except BaseException:
        if gfile.exists(temporary):
            gfile.remove(temporary)
        raise


@contextlib.contextmanager
def replace_folder(path: str) -> Iterator[str]:
    """Makes a folder as a whole or not at all, like replace_file; a folder that is there already is replaced.

    Args:
        path: where it is to appear; a link to a folder stays a link. On a remote file system the files move one by
            one, since not every one can rename folders.

    Yields:
        A temporary folder beside it. An exception inside the block removes it, and leaves `path` as it was.
    """
    path = path.rstrip("/")
    if is_remote(path):
        with _replace_remote_folder(path) as temporary:
            yield temporary
        return
    path = os.path.realpath(path) if os.path.islink(path) else path
    parent = os.path.dirname(path)
    make_folder(parent)
    temporaries.remove_leftovers(parent)
    with temporaries.created_folder(path) as temporary:
        yield temporary
        _flush(temporary)
        os.chmod(temporary, temporaries.usual_mode(temporary))
        put_in_place(temporary, path)
    flush_folder(parent)


def recover(path: str) -> None:
    """Brings back a local output that a process was killed over while it replaced it, if there is one."""
    if not is_remote(path):
        temporaries.remove_leftovers(os.path.dirname(path.rstrip("/")))


@contextlib.contextmanager
def _replace_remote_folder(path: str) -> Iterator[str]:
    temporary = temporaries.name_beside(path)
    make_folder(temporary)
    try:
        yield temporary
        _move_remote_folder(temporary, path)
    except BaseException:
        if exists(temporary):
            _gfile().rmtree(temporary)
        raise


def _move_remote_folder(source: str, target: str) -> None:
    gfile = _gfile()
    if gfile.exists(target):
        gfile.rmtree(target)
    for root, _, names in list(gfile.walk(source)):
        for name in names:
            moved = os.path.join(target, os.path.relpath(os.path.join(root, name), source))
            gfile.makedirs(os.path.dirname(moved))
            gfile.rename(os.path.join(root, name), moved, overwrite=True)
    gfile.rmtree(source)


def flush_folder(path: str) -> None:
    """Waits until the names in a local folder are on the disk; the contents of its files are not its own."""
    if is_remote(path):
        return
    descriptor = os.open(path or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush(folder: str) -> None:
    """Waits until all files of a local folder, and their names, are on the disk."""
    for root, _, names in os.walk(folder):
        for name in names:
            flush_folder(os.path.join(root, name))
        flush_folder(root)
