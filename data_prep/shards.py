"""Output files: their names, the temporary folder beside them, and how examples of all parts are mixed into them.

Each work unit leaves one spill file with its examples in the order of their shards. A shard is the slices of all
spill files that belong to it, shuffled in memory and written once.
"""

import contextlib
import dataclasses
import fcntl
import gzip
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from albert_tf import files
from albert_tf.errors import InputError
from albert_tf.inputs.manifest import MANIFEST_SUFFIX, Manifest
from albert_tf.inputs.record_files import split_frames

_GZIP_LEVEL = 6


@dataclasses.dataclass(frozen=True)
class OutputFiles:
    """Where a set of records goes.

    Attributes:
        paths: the record files.
        manifest: the manifest's path.
    """

    paths: list[str]
    manifest: str

    @classmethod
    def from_flag(cls, output_file: str) -> "OutputFiles":
        """Reads --output_file: "path", "a,b,c", or "path@N" for path-00000-of-0000N and so on.

        Raises:
            InputError: no name, a name twice, names in several folders, or a bad number of shards.
        """
        names = [name.strip() for name in output_file.split(",") if name.strip()]
        if not names:
            raise InputError(f"--output_file names no file; received {output_file!r}")
        sharded = re.fullmatch(r"(.+)@(\d+)", names[0])
        if sharded and len(names) == 1:
            base, count = sharded[1], int(sharded[2])
            if not 1 <= count <= 99_999:
                raise InputError(f"--output_file={output_file}: the number of shards must be from 1 to 99999")
            return cls([f"{base}-{shard:05d}-of-{count:05d}" for shard in range(count)], base + MANIFEST_SUFFIX)
        if any("@" in os.path.basename(name) for name in names):
            raise InputError(f"--output_file={output_file}: path@N stands alone, as in --output_file=train@64")
        if len(set(names)) < len(names):
            raise InputError(f"--output_file={output_file} names a file twice")
        if len({os.path.dirname(name) for name in names}) > 1:
            raise InputError(f"--output_file={output_file}: all files must be in one folder, beside their manifest")
        return cls(names, names[0] + MANIFEST_SUFFIX)

    def check_replaceable(self) -> None:
        """Sees that what stands at these names may be replaced.

        Raises:
            InputError: a name is a folder, or the manifest's name belongs to a set of other files.
        """
        for path in self.paths:
            if not files.is_remote(path) and Path(path).is_dir():
                raise InputError(f"--output_file: {path} is a folder; give a file name, as in {path}/train@8")
        if files.exists(self.manifest):
            with files.open_binary(self.manifest) as file:
                manifest = Manifest.from_json(file.read().decode("utf-8", "replace"), self.manifest)
            listed = {file["name"] for file in manifest.files}
            others = sorted(listed - {os.path.basename(path) for path in self.paths})
            if others:
                raise InputError(
                    f"{self.manifest} belongs to other files ({others[0]}, {len(others)} in all); delete that set "
                    "or choose another --output_file"
                )

    @contextlib.contextmanager
    def workspace(self) -> Iterator[str]:
        """A temporary folder beside the output (for a remote output, a local one), removed at the end in any case.

        What a killed run left there is removed first.

        Raises:
            InputError: another run is writing to the same output.
        """
        folder, name = os.path.split(self.manifest)
        if files.is_remote(folder):
            with tempfile.TemporaryDirectory() as temporary:
                yield temporary
            return
        made = _make_folders(folder)
        temporary = os.path.join(folder, f".{name.removesuffix(MANIFEST_SUFFIX)}.partial")
        finished = False
        Path(temporary).mkdir(exist_ok=True)
        lock = os.open(temporary, os.O_RDONLY)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"another run is writing {self.manifest}; wait for it or stop it") from None
            try:
                for leftover in os.listdir(temporary):
                    os.unlink(os.path.join(temporary, leftover))
                yield temporary
                finished = True
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
                if not finished:
                    _remove_empty(made)
        finally:
            os.close(lock)

    def publish(self, temporary_paths: Sequence[str], manifest_json: str) -> None:
        """Moves finished shards to their names, then writes the manifest."""
        if files.exists(self.manifest) and not files.is_remote(self.manifest):
            os.unlink(self.manifest)
        for temporary, path in zip(temporary_paths, self.paths):
            if files.is_remote(path):
                with files.replace_file(path) as target, Path(temporary).open("rb") as source:
                    shutil.copyfileobj(source, target, 1 << 20)
            else:
                os.replace(temporary, path)
        with files.replace_file(self.manifest) as file:
            file.write(manifest_json.encode())


@dataclasses.dataclass(frozen=True)
class Spill:
    """The examples of one part on disk.

    Attributes:
        path: a file of framed records, those of shard 0 first.
        ends: int64 [shards], where the slice of each shard ends.
    """

    path: str
    ends: np.ndarray

    def slice(self, shard: int) -> tuple[str, int, int]:
        """(path, start, end) of the bytes that belong to a shard."""
        return self.path, int(self.ends[shard - 1]) if shard else 0, int(self.ends[shard])


def scatter(path: str, framed: Sequence[bytes], num_shards: int, seed: int) -> Spill:
    """Deals the records of a part out to the shards, as evenly as can be and at random, and writes them.

    Args:
        path: the spill file.
        framed: records as they are to stand in the shard.
        num_shards: how many shards there are.
        seed: of this part.
    """
    order = shuffled_order(len(framed), seed)
    first = seed % num_shards
    sizes = []
    with _naming(path), Path(path).open("wb") as file:
        for shard in range(num_shards):
            chosen = b"".join([framed[index] for index in order[(shard - first) % num_shards :: num_shards]])
            file.write(chosen)
            sizes.append(len(chosen))
    return Spill(path, np.cumsum(sizes))


def gather(path: str, slices: Sequence[tuple[str, int, int]], seed: int, compression: str) -> dict:
    """Writes one shard: its slices of all spill files, shuffled in memory.

    Args:
        path: the shard.
        slices: (path, start, end) in each spill file, in the order of the parts.
        seed: of this shard.
        compression: none or gzip.

    Returns:
        "examples", "bytes" and "sha256" of the file.
    """
    framed: list[bytes] = []
    for spill_path, start, end in slices:
        with Path(spill_path).open("rb") as file:
            file.seek(start)
            framed += split_frames(file.read(end - start))
    order = shuffled_order(len(framed), seed)
    with _naming(path), Path(path).open("wb") as file:
        with _compressed(file, compression) as target:
            for start in range(0, len(order), 1024):
                target.write(b"".join([framed[index] for index in order[start : start + 1024]]))
        file.flush()
        os.fsync(file.fileno())
    return {"examples": len(framed), **describe_file(path)}


def shuffled_order(count: int, seed: int) -> list[int]:
    """The numbers below count in an order that the seed decides, on every machine and version of NumPy."""
    return np.argsort(np.random.Philox(key=seed).random_raw(count), kind="stable").tolist()


def describe_file(path: str) -> dict:
    """The size and SHA-256 of a file, as the manifest gives them: "bytes" and "sha256"."""
    digest, size = hashlib.sha256(), 0
    with files.open_binary(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
            size += len(block)
    return {"bytes": size, "sha256": digest.hexdigest()}


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Gives an error of writing (a full disk) the name of the file, which the system leaves out."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


@contextlib.contextmanager
def _compressed(file, compression: str) -> Iterator:
    if compression != "gzip":
        yield file
        return
    # No name and no time in the header: the same records give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as zipped:
        yield zipped


def _make_folders(folder: str) -> list[Path]:
    """Makes a folder and its parents; returns those that were not there, innermost first."""
    missing = []
    path = Path(folder or ".")
    while not path.exists():
        missing.append(path)
        path = path.parent
    Path(folder or ".").mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
