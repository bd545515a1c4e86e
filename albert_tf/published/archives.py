"""Unpacking a .tar.gz of a stranger's: files and folders inside the target folder, nothing else."""

import os
import shutil
import tarfile
import zlib

from albert_tf.runtime.errors import InputError

# More than any published model unpacked with the state of its optimizer.
_LARGEST = 16 << 30


def unpack(archive: str, folder: str) -> None:
    """Unpacks an archive.

    Rights, owners and times in it do not count.

    Args:
        archive: a .tar.gz file.
        folder: exists, and is empty.

    Raises:
        InputError: it is damaged, larger than _LARGEST, or has a member that is neither file nor folder or leads out
            of the folder.
        OSError: no room, or no right to write.
    """
    total = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                _check_member(archive, member)
                total += member.size
                if total > _LARGEST:
                    raise InputError(f"{archive}: unpacks to more than {_LARGEST >> 30} GiB; no model's archive does")
                _write(tar, member, os.path.join(folder, member.name))
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise InputError(f"{archive}: damaged, no whole .tar.gz: {error}; start again") from None
    except OSError as error:
        if error.errno is not None:
            raise
        # gzip's own error of a file that is none.
        raise InputError(f"{archive}: damaged, no whole .tar.gz: {error}; start again") from None


def _check_member(archive: str, member: tarfile.TarInfo) -> None:
    name = member.name
    if not (member.isreg() or member.isdir()):
        raise InputError(f"{archive}: its member {name!r} is a link or a device; this is no model's archive")
    if not name or os.path.isabs(name) or "\\" in name or "\0" in name or ".." in name.split("/"):
        raise InputError(f"{archive}: its member {name!r} leads out of the folder; this is no model's archive")


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    if member.isdir():
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    source = tar.extractfile(member)
    if source is None:
        raise InputError(f"{tar.name}: its member {member.name!r} cannot be read")
    # "x": a name that stands twice is no model's either.
    try:
        with source, open(path, "xb") as target:
            shutil.copyfileobj(source, target)
    except (FileExistsError, IsADirectoryError):
        raise InputError(f"{tar.name}: its member {member.name!r} stands twice; this is no model's archive") from None
