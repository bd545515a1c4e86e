"""Features once: converted by several processes, kept as safetensors with a manifest, read again if they still fit.

A cache is a folder with features.safetensors and manifest.json. It appears as a whole or not at all, and is read
only if its key (what the features were made of) is the one asked for and its bytes are those that were written.
"""

import contextlib
import fcntl
import hashlib
import itertools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import safetensors.numpy
from absl import logging

from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.lock_files import remove_lock_file
from albert_tf.runtime.worker_pool import WorkerPool, count_cores, end_on_terminate

FORMAT = "albert_tf fine-tuning features"
# Raised when the same key would give other features, or another file of them.
FORMAT_VERSION = 3
FEATURES, MANIFEST = "features.safetensors", "manifest.json"
_OF_EARLIER_VERSIONS = ("features.tfrecord",)

# Examples a process takes at once; below so many, starting processes costs more than it saves.
_EXAMPLES_AT_ONCE = 100
_FEWEST_FOR_PROCESSES = 1000
_SECONDS_BETWEEN_LINES = 10


class Converter:
    """Turns examples into features; each worker process holds one."""

    def __init__(self, convert: Callable[[int, Any], Sequence[Feature]], head: str):
        """Keeps its arguments.

        Args:
            convert: picklable function of (index, example) to the example's features.
            head: which head they are for.
        """
        self.convert, self.head = convert, head

    def features(self, first: int, examples: Sequence[Any]) -> FeatureSet:
        """The features of examples that follow one another.

        Args:
            first: index of the first example.
            examples: some of them.
        """
        made = [feature for index, example in enumerate(examples, first) for feature in self.convert(index, example)]
        return FeatureSet.from_features(made, self.head)


def load_features(
    folder: str,
    key: Mapping[str, Any],
    examples: Callable[[], Sequence[Any]],
    converter: Converter,
    num_workers: int = 0,
) -> FeatureSet:
    """The features of a split: from the cache if there is one of this key, else made, and left there.

    Args:
        folder: the cache's, for example OUTPUT_DIR/features/train.
        key: all that the features depend on, as JSON has it: settings, hashes of vocabulary and data.
        examples: gives the examples; called only if the features have to be made.
        converter: makes features of examples.
        num_workers: processes; 0 takes one for each core.

    Raises:
        InputError: what the examples or the converter raise; or the folder holds something else, or cannot be made.
    """
    # Without the lock, which a folder that may only be read has no place for.
    reason, contents = _look(folder, key)
    if reason is not None:
        with _one_at_a_time(folder):
            reason, contents = _look(folder, key)
            if reason is not None:
                _check_replaceable(folder)
                if reason:
                    logging.info("features in %s are made again: %s", folder, reason)
                return write_features(folder, key, examples(), converter, num_workers)
    return FeatureSet.from_arrays(safetensors.numpy.load(contents), converter.head)


def why_unusable(folder: str, key: Mapping[str, Any]) -> str | None:
    """Tells why the cache in a folder cannot be used: in one line; "" if there is no cache; None if it can be used."""
    return _look(folder, key)[0]


def _look(folder: str, key: Mapping[str, Any]) -> tuple[str | None, bytes]:
    """(what why_unusable tells, the contents of the file of features if it can be used)."""
    manifest_path, features_path = os.path.join(folder, MANIFEST), os.path.join(folder, FEATURES)
    if not files.exists(folder):
        return "", b""
    if not files.exists(manifest_path):
        return f"there is no {MANIFEST}", b""
    try:
        manifest = files.read_json(manifest_path)
    except (InputError, OSError) as error:
        return str(error), b""
    if (manifest.get("format"), manifest.get("format_version")) != (FORMAT, FORMAT_VERSION):
        return "they were written by another version of this program", b""
    if manifest.get("key") != key:
        return _describe_difference(manifest.get("key"), key), b""
    try:
        with files.open_binary(features_path) as file:
            contents = file.read()
    except OSError as error:
        return f"{FEATURES} cannot be read ({error.strerror})", b""
    if hashlib.sha256(contents).hexdigest() != manifest.get("sha256"):
        return f"{FEATURES} is damaged", b""
    return None, contents


def _check_replaceable(folder: str) -> None:
    """Raises InputError if there is something in the folder that no cache has: it is not ours to replace."""
    if not files.exists(folder):
        return
    if not files.is_remote(folder) and not os.path.isdir(folder):
        raise InputError(f"{folder} is a file; features are kept in a folder of this name: give another --cache_dir")
    others = sorted(set(files.list_folder(folder)) - {FEATURES, MANIFEST, *_OF_EARLIER_VERSIONS})
    if others:
        raise InputError(
            f"{folder} holds {others[0]}, which no cache of features does; it stays as it is: give another --cache_dir"
        )


def write_features(
    folder: str, key: Mapping[str, Any], examples: Sequence[Any], converter: Converter, num_workers: int = 0
) -> FeatureSet:
    """Makes the features of examples and leaves them in the folder; any number of workers writes the same bytes."""
    with end_on_terminate() as check, files.replace_folder(folder) as temporary:
        features = _make_features(folder, examples, converter, num_workers, check)
        contents = safetensors.numpy.save(features.to_arrays())
        with files.replace_file(os.path.join(temporary, FEATURES)) as file:
            file.write(contents)
        fields = {"format": FORMAT, "format_version": FORMAT_VERSION, "examples": len(examples)}
        fields |= {"features": len(features), "bytes": len(contents), "sha256": hashlib.sha256(contents).hexdigest()}
        files.write_json(os.path.join(temporary, MANIFEST), fields | {"key": dict(key)})
    logging.info("%s: %d features of %d examples", folder, len(features), len(examples))
    return features


def _make_features(
    folder: str, examples: Sequence[Any], converter: Converter, num_workers: int, check: Callable[[], None]
) -> FeatureSet:
    """The features of all examples; a line now and then tells how far it is."""
    workers = num_workers or count_cores()
    workers = workers if len(examples) >= _FEWEST_FOR_PROCESSES else 1
    starts = range(0, len(examples), _EXAMPLES_AT_ONCE)
    tasks = ((start, examples[start : start + _EXAMPLES_AT_ONCE]) for start in starts)
    parts, told = [], time.monotonic()
    with WorkerPool(workers, converter) as pool:
        for start, part in zip(starts, pool.map(Converter.features, tasks)):
            check()
            if time.monotonic() > told + _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                logging.info("%s: features of %d of %d examples", folder, start, len(examples))
            parts.append(part)
    return FeatureSet.joined(parts, converter.head)


@contextlib.contextmanager
def _one_at_a_time(folder: str) -> Iterator[None]:
    """Lets one process after the other make a cache: the workers of one machine want the same one at once."""
    if files.is_remote(folder):
        yield
        return
    parent, name = os.path.split(folder.rstrip("/"))
    parent = parent or "."
    is_new = not os.path.isdir(parent)
    path = os.path.join(parent, f".{name}.lock")
    try:
        files.make_folder(parent)
        lock = _wait_for_lock(path)
    except OSError as error:
        raise InputError(
            f"{folder}: features cannot be kept there ({error.strerror}); give another --cache_dir"
        ) from None
    try:
        yield
    finally:
        remove_lock_file(path, lock)
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(parent)


def _wait_for_lock(path: str) -> int:
    """The descriptor of the locked file."""
    while True:
        lock = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(path)):
                return lock
        # Its holder has removed it since.
        os.close(lock)


def hash_files(paths: Sequence[str]) -> dict[str, Any]:
    """Number of the files, and one SHA-256 of their names (no folders) and contents; for a cache's key."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{os.path.basename(path)} {_hash_file(path)}\n".encode())
    return {"files": len(paths), "sha256": digest.hexdigest()}


def _hash_file(path: str) -> str:
    digest = hashlib.sha256()
    with files.open_binary(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _describe_difference(old: Any, new: Mapping[str, Any]) -> str:
    """Describes what changed, by the first part of the key that did."""
    old = old if isinstance(old, dict) else {}
    for name in itertools.chain(new, old):
        if old.get(name) != new.get(name):
            before, now = old.get(name), new.get(name)
            if name != "data" and isinstance(before, dict) and isinstance(now, dict):
                return _describe_difference(before, now)
            if isinstance(now, str | int | float | bool) and isinstance(before, str | int | float | bool):
                return f"{name} was {before!r} and is {now!r}"
            return f"{name} is not what it was"
    return "they were made of something else"
