"""Output files: their names, and how the examples of all parts are mixed into them, in two passes.

Each work unit deals its records out to buckets at random and leaves them in one file, sorted by bucket. An output file
is one bucket or several, of a size that fits in memory: its records of all units are read, shuffled and written once.
"""

import contextlib
import dataclasses
import gzip
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from absl import logging

from albert_tf.records.manifest import MANIFEST_SUFFIX, Manifest
from albert_tf.records.record_files import file_size
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.workspace import describe_differences, naming
from data_prep.examples.draws import shuffled_order
from data_prep.job.unit_files import load_unit, write_unit

_GZIP_LEVEL = 6


@dataclasses.dataclass(frozen=True)
class OutputFiles:
    """Paths of a set of records.

    Attributes:
        paths: the record files.
        manifest: the manifest's path.
    """

    paths: list[str]
    manifest: str

    @property
    def name(self) -> str:
        """The path that the workspace is named by."""
        return self.manifest.removesuffix(MANIFEST_SUFFIX)

    @classmethod
    def from_flag(cls, output_file: str) -> "OutputFiles":
        """Reads --output_file: "path", "a,b,c", or "path@N" for path-00000-of-0000N and so on.

        Raises:
            InputError: no name, a name twice, names in several folders, or a bad number of shards.
        """
        names = [name.strip() for name in output_file.split(",") if name.strip()]
        if not names:
            raise FlagError(f"--output_file names no file; received {output_file!r}")
        if folder := next((name for name in names if not os.path.basename(name)), None):
            raise InputError(f"--output_file: {folder} is a folder; give a file name, as in {folder}train@8")
        sharded = re.fullmatch(r"(.+)@(\d+)", names[0])
        if sharded and len(names) == 1:
            base, count = sharded[1], int(sharded[2])
            if not 1 <= count <= 99_999:
                raise FlagError(f"--output_file={output_file}: the number of shards must be from 1 to 99999")
            return cls([f"{base}-{shard:05d}-of-{count:05d}" for shard in range(count)], base + MANIFEST_SUFFIX)
        if any("@" in os.path.basename(name) for name in names):
            raise FlagError(f"--output_file={output_file}: path@N stands alone, as in --output_file=train@64")
        if len(set(names)) < len(names):
            raise FlagError(f"--output_file={output_file} names a file twice")
        if len({os.path.dirname(name) for name in names}) > 1:
            raise FlagError(f"--output_file={output_file}: all files must be in one folder, beside their manifest")
        return cls(names, names[0] + MANIFEST_SUFFIX)

    def check_replaceable(self, overwrite: bool = False) -> None:
        """Sees that what stands at these names may be replaced.

        Raises:
            InputError: a name is a folder, or the manifest's name belongs to a set of other files, or to one in which
                these have another order.
        """
        for path in self.paths:
            if not files.is_remote(path) and Path(path).is_dir():
                raise InputError(f"--output_file: {path} is a folder; give a file name, as in {path}/train@8")
        manifest = self.read_manifest()
        if manifest is not None and not overwrite:
            listed, names = [file["name"] for file in manifest.files], [*map(os.path.basename, self.paths)]
            if sorted(listed) != sorted(names):
                first = min(listed, default="none")
                raise InputError(
                    f"{self.manifest} belongs to other files ({first}, {len(listed)} in all); delete that set "
                    "or choose another --output_file"
                )
            if listed != names:
                raise InputError(
                    f"--output_file: {self.manifest} has these files in another order ({','.join(listed)}); keep to "
                    "it, or give --overwrite to write them anew"
                )

    def check_apart(self, sources: Sequence[str]) -> None:
        """Raises InputError if one of the files to write, the manifest among them, is one of these that are read."""
        read = {_place(path) for path in sources}
        for path in (*self.paths, self.manifest):
            if _place(path) in read:
                raise InputError(f"--output_file: {path} is read too, as text or vocabulary; write to another file")

    def check_no_strangers(self) -> None:
        """Raises InputError if a file of one of these names is there, and no manifest says that it is of this set."""
        strangers = [path for path in self.paths if files.exists(path)] if self.read_manifest() is None else []
        if strangers:
            raise InputError(f"--output_file: {strangers[0]} is there already; --overwrite replaces it")

    def read_manifest(self) -> Manifest | None:
        """The manifest that stands there, if there is one."""
        if not files.exists(self.manifest):
            return None
        return Manifest.from_json(files.read_small(self.manifest).decode("utf-8", "replace"), self.manifest)

    def find_finished(self, identity: Mapping[str, Any], overwrite: bool) -> Manifest | None:
        """The manifest that stands there if this very job has written it and its files are whole; else None.

        Args:
            identity: of the job: flags, vocabulary, input and output, as the manifest has them.
            overwrite: whether that of a different job may be replaced.

        Raises:
            InputError: a different job has written it, and is not to be overwritten.
        """
        manifest = self.read_manifest()
        if manifest is None:
            return None
        found = {name: getattr(manifest, name) for name in ("flags", "vocabulary", "input")}
        wanted = {name: identity[name] for name in found}
        if found != wanted:
            if overwrite:
                return None
            raise InputError(
                f"{self.manifest} was made with {describe_differences(found, wanted)}; give --overwrite to replace it, "
                "or another --output_file"
            )
        if [file["name"] for file in manifest.files] != identity["output"]:
            return None
        for path, file in zip(self.paths, manifest.files):
            if not files.exists(path) or describe_file(path) != {name: file[name] for name in ("bytes", "sha256")}:
                logging.warning("%s is missing or is not as it was made; the records are made again", path)
                return None
        return manifest

    def publish(self, temporary_paths: Sequence[str], manifest_json: str) -> None:
        """Moves finished shards to their names, then the manifest, which is written before anything is moved.

        Files of an older set that is overwritten go first: beside the new ones, a glob would find them too.
        """
        self._remove_former_files()
        if files.is_remote(self.manifest):
            for temporary, path in zip(temporary_paths, self.paths):
                with files.replace_file(path) as target, Path(temporary).open("rb") as source:
                    shutil.copyfileobj(source, target, 1 << 20)
            with files.replace_file(self.manifest) as file:
                file.write(manifest_json.encode())
            return
        written = os.path.join(os.path.dirname(temporary_paths[0]), "manifest.json")
        with files.replace_file(written) as file:
            file.write(manifest_json.encode())
        Path(self.manifest).unlink(missing_ok=True)
        for temporary, path in zip(temporary_paths, self.paths):
            # If it is not there, a run that was killed just here has moved it.
            if os.path.exists(temporary):
                os.replace(temporary, path)
        os.replace(written, self.manifest)

    def _remove_former_files(self) -> None:
        """Removes the files of the manifest that stands there, but those of this set, and what has another size now."""
        manifest = self.read_manifest()
        names = {os.path.basename(path) for path in self.paths}
        for file in manifest.files if manifest is not None else ():
            path = os.path.join(os.path.dirname(self.manifest), file["name"])
            if file["name"] in names or not files.exists(path) or file_size(path) != file["bytes"]:
                continue
            if files.is_remote(path):
                from albert_tf.runtime.tensorflow_import import remote_files

                remote_files().remove(path)
            else:
                Path(path).unlink()


def _place(path: str) -> str:
    return path if files.is_remote(path) else os.path.realpath(path)


def scatter(path: str, framed: Sequence[bytes], num_buckets: int, seed: int, header: Mapping, **arrays) -> None:
    """Deals records out to buckets, as evenly as can be and at random, and writes them as a unit.

    Args:
        path: the unit.
        framed: records as they are to stand in a file.
        num_buckets: how many buckets there are.
        seed: of this unit.
        header, arrays: what else the unit is to hold.
    """
    order = shuffled_order(len(framed), seed)
    # The places of each bucket in the order, which follow from a random first bucket on in turn.
    buckets = (np.arange(len(framed)) + seed % num_buckets) % num_buckets
    order = order[np.argsort(buckets, kind="stable")]
    sizes = np.array([*map(len, framed)], np.uint32)[order]
    counts = np.bincount(buckets, minlength=num_buckets)
    write_unit(
        path,
        header,
        {
            "records": b"".join(map(framed.__getitem__, order.tolist())),
            "sizes": sizes,
            "bucket_ends": np.cumsum(counts).astype(np.uint64),
            **arrays,
        },
    )


def gather(path: str, spills: Sequence[str], buckets: range, seed: int, compression: str) -> dict:
    """Writes one file: its buckets one after the other, the records of each shuffled in memory.

    Args:
        path: the file.
        spills: the units that scatter wrote, in order.
        buckets: those that belong to this file.
        seed: of this file.
        compression: none or gzip.

    Returns:
        "examples", "bytes" and "sha256" of the file.
    """
    examples = 0
    with naming(path), Path(path).open("wb") as file:
        hashing = _HashingWriter(file)
        with _compressed(hashing, compression) as target:
            for bucket in buckets:
                records, ends = _load_bucket(spills, bucket)
                order = shuffled_order(len(ends), seed + bucket)
                starts = (ends - np.diff(ends, prepend=0))[order].tolist()
                ends = ends[order].tolist()
                for first in range(0, len(order), 1024):
                    last = first + 1024
                    target.write(b"".join([records[a:b] for a, b in zip(starts[first:last], ends[first:last])]))
                examples += len(order)
                # Not held while the next bucket is read.
                del records
        file.flush()
        os.fsync(file.fileno())
    return {"examples": examples, "bytes": hashing.count, "sha256": hashing.digest.hexdigest()}


def _load_bucket(spills: Sequence[str], bucket: int) -> tuple[memoryview, np.ndarray]:
    """The records of a bucket, one after the other, and where each ends."""
    pieces, sizes = [], [np.zeros(0, np.uint32)]
    for path in spills:
        arrays = load_unit(path).arrays
        first, last = (int(arrays["bucket_ends"][bucket - 1]) if bucket else 0), int(arrays["bucket_ends"][bucket])
        # A copy: what is only looked at keeps the whole file mapped.
        sizes.append(arrays["sizes"][first:last].copy())
        pieces.append((path, int(arrays["sizes"][:first].sum(dtype=np.int64)), int(sizes[-1].sum(dtype=np.int64))))
    contents, filled = memoryview(bytearray(sum(size for *_, size in pieces))), 0
    for path, begin, size in pieces:
        contents[filled : filled + size] = memoryview(load_unit(path).arrays["records"])[begin : begin + size]
        filled += size
    return contents, np.cumsum(np.concatenate(sizes), dtype=np.int64)


class _HashingWriter:
    """A file that knows how much was written to it, and its SHA-256."""

    def __init__(self, file):
        self._file = file
        self.count, self.digest = 0, hashlib.sha256()

    def write(self, contents: bytes) -> int:
        self.count += len(contents)
        self.digest.update(contents)
        return self._file.write(contents)

    def flush(self) -> None:
        self._file.flush()


@contextlib.contextmanager
def _compressed(file, compression: str) -> Iterator:
    if compression != "gzip":
        yield file
        return
    # No name and no time in the header: the same records give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as zipped:
        yield zipped
