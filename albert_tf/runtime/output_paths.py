"""Checks of the places where a command is about to write, before any work: what is there stays without --overwrite."""

import os
from collections.abc import Iterable

from absl import flags

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

# The --input_file of commands that read standard input.
STANDARD_INPUT = "-"


def define_overwrite(flag_values: flags.FlagValues) -> None:
    """Defines --overwrite, for commands that write a file or several."""
    flags.DEFINE_bool("overwrite", False, "Replace what is there already.", flag_values=flag_values)


def define_output_file(text: str, flag_values: flags.FlagValues) -> None:
    """Defines --output_file and --overwrite, for commands that write one file."""
    flags.DEFINE_string("output_file", None, text, flag_values=flag_values)
    define_overwrite(flag_values)


def check_outputs(outputs: Iterable[tuple[str, str | None]], overwrite: bool, inputs: str | None = None) -> None:
    """Sees that files can appear where they are to, so that this is not found out after the work.

    Args:
        outputs: (flag, path) of each file; a path that is None or empty is not written.
        overwrite: whether a file that is there may be replaced.
        inputs: comma list of paths and globs that are read, or STANDARD_INPUT; none of them may be written.

    Raises:
        InputError: a file is there and not to be replaced, is one that is read, or two flags name the same; a folder,
            a pipe or a device is there; or its folder cannot be one.
    """
    seen: dict[str, str] = {}
    for flag, path in outputs:
        if not path:
            continue
        _check_place(flag, path)
        where = path if files.is_remote(path) else os.path.realpath(path)
        if where in seen:
            raise InputError(f"--{seen[where]} and --{flag} are the same file, {path}")
        seen[where] = flag
        if not (files.exists(path) or os.path.islink(path)):
            continue
        if not overwrite:
            raise InputError(f"--{flag}: {path} is there already; --overwrite replaces it")
        if inputs and inputs != STANDARD_INPUT and where in map(os.path.realpath, files.list_files(inputs)):
            raise InputError(f"--{flag}: {path} is also among --input_file; write to another file")


def refuse_current_folder(folder: str, named: str) -> None:
    """Raises InputError if a folder that is made elsewhere and then renamed is the one that the program runs in.

    Args:
        folder: to make.
        named: the flag or the words by which the error calls it.
    """
    if not files.is_remote(folder) and os.path.realpath(folder) == os.path.realpath(os.curdir):
        raise InputError(f"{named}: {folder} is the current folder, which cannot be replaced; name a folder in it")


def check_not_input(
    output: str | None, source: str | None, names: tuple[str, str] = ("output_file", "input_file")
) -> None:
    """Raises InputError if the file to write is one that is read.

    Args:
        output, source: the two; None where there is none.
        names: of the flags that name them.
    """
    if not output or not source:
        return
    are_there = os.path.exists(output) and os.path.exists(source)
    if os.path.realpath(output) == os.path.realpath(source) or (are_there and os.path.samefile(output, source)):
        raise InputError(f"--{names[0]}: {output} is also --{names[1]}; write to another file")


def _check_place(flag: str, path: str) -> None:
    """Sees that there can be a file at a local path."""
    if files.is_remote(path):
        return
    folder, name = os.path.split(path)
    if not name or os.path.isdir(path):
        raise InputError(f"--{flag}: {path} is a folder; name a file to write")
    if kind := files.describe_special(path):
        raise InputError(f"--{flag}: {path} is {kind}; name a file to write")
    parent = folder or "."
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent) or "."
    if not os.path.isdir(parent):
        raise InputError(f"--{flag}: {parent} is no folder, so there can be no {path}")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"--{flag}: no right to write in {parent}; choose another place or change its rights")
