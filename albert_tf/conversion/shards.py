"""Files of weights that an index names: inside its folder, of the kind it may name, and no larger than memory."""

import os
from collections.abc import Iterable, Sequence

from albert_tf.records.record_files import file_size
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError


def shard_paths(index_path: str, names: Iterable[object], suffixes: Sequence[str]) -> dict[str, str]:
    """The files that an index names, by those names; all of them are looked at before any is read.

    Args:
        index_path: of the index, in whose folder they are.
        names: what stands in the index.
        suffixes: how their names may end.

    Raises:
        InputError: a name that leads elsewhere, or a file that is missing, no file, or together too large.
    """
    folder, shown = os.path.dirname(index_path), os.path.basename(index_path)
    found: dict[str, str] = {}
    for name in names:
        if not _is_name(name, suffixes):
            raise InputError(
                f"{index_path}: names {str(name)[:80]!r} as a shard; a shard is a file in the same folder, "
                f"*{' or *'.join(suffixes)}"
            )
        path = os.path.join(folder, name)
        if not files.exists(path):
            raise InputError(f"{path}: this shard is missing, which {shown} names")
        found[name] = path
    check_sizes([found[name] for name in sorted(found)])
    return {name: found[name] for name in sorted(found)}


def check_sizes(paths: Sequence[str]) -> None:
    """Refuses files that cannot be weights to be read into memory.

    Raises:
        InputError: one is a folder, a pipe or a device, or all together are larger than the machine's memory.
    """
    total = 0
    for path in paths:
        if not files.is_remote(path):
            kind = "a folder" if os.path.isdir(path) else files.describe_special(path)
            if kind:
                raise InputError(f"{path} is {kind}; weights are in a file")
        total += file_size(path)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if total > memory:
        raise InputError(
            f"{paths[0]}{' and the other shards have' if len(paths) > 1 else ' has'} {total / 1e9:,.1f} GB, more than "
            f"this machine's memory ({memory / 1e9:,.1f} GB)"
        )


def _is_name(name: object, suffixes: Sequence[str]) -> bool:
    return (
        isinstance(name, str)
        and name == os.path.basename(name)
        and not any(character in name for character in "/\\\0:")
        and name.endswith(tuple(suffixes))
        and name not in suffixes
    )
