"""The text of --help: what a command does, an example, and its flags in groups, in the order of their definition."""

import shutil
import textwrap
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from absl import flags

_FIRST_GROUP = "Flags"
_WIDEST, _NARROWEST = 110, 60
_NAME_COLUMN = 34
_INDENT = "  "
_KINDS = {flags.IntegerParser: "N", flags.FloatParser: "X", flags.ListParser: "A,B,..."}
_LAST_LINES = (
    "A flag may also stand in a file: --flagfile=FILE, one --name=value a line; a flag that follows wins.\n"
    "--helpfull lists the flags of the libraries too."
)

# Of a set of flags: each group's title, and how many flags there were before it.
_GROUPS: weakref.WeakKeyDictionary[flags.FlagValues, list[tuple[int, str]]] = weakref.WeakKeyDictionary()


def begin_group(title: str, flag_values: flags.FlagValues) -> None:
    """Puts the flags that are defined from here on under a title of their own in --help."""
    _GROUPS.setdefault(flag_values, []).append((len(flag_values), title))


def grouped_flags(flag_values: flags.FlagValues) -> dict[str, list[flags.Flag]]:
    """The flags of a command under the titles of their groups, both in the order of the definitions."""
    groups: dict[str, list[flags.Flag]] = {}
    begins = _GROUPS.get(flag_values, [])
    # The set also has a flag under its short name.
    names = [name for name in flag_values.__dict__["__flags"] if flag_values[name].name == name]
    for number, name in enumerate(names):
        title = next((title for begin, title in reversed(begins) if begin <= number), _FIRST_GROUP)
        groups.setdefault(title, []).append(flag_values[name])
    return groups


def help_text(
    name: str,
    description: str,
    flag_values: flags.FlagValues,
    required: Iterable[str | Sequence[str]] = (),
    positional: str | None = None,
    width: int | None = None,
) -> str:
    """The text that --help prints.

    Args:
        name: of the command.
        description: its module's docstring; an example of use in it stays as it is.
        flag_values: its flags alone.
        required: names of flags that must be given; several in one entry: one of them.
        positional: the meaning of the words that are no flags; None if it takes none.
        width: characters of a line; None: the terminal's.
    """
    width = width or shutil.get_terminal_size((_WIDEST, 0)).columns
    width = max(_NARROWEST, min(_WIDEST, width))
    words = f" [{positional} ...]" if positional else ""
    lines = [f"usage: {name} [--flag=value ...]{words}", "", description.strip()]
    notes = _notes_on_required(required)
    for title, group in grouped_flags(flag_values).items():
        lines += ["", title]
        for flag in group:
            lines += _describe(flag, notes.get(flag.name, ""), width)
    return "\n".join([*lines, "", *_LAST_LINES.splitlines()]) + "\n"


def _notes_on_required(required: Iterable[str | Sequence[str]]) -> Mapping[str, str]:
    notes = {}
    for entry in required:
        names = [entry] if isinstance(entry, str) else entry
        for name in names:
            others = [f"--{other}" for other in names if other != name]
            notes[name] = f"(this or {' or '.join(others)} is required) " if others else "(required) "
    return notes


def _describe(flag: flags.Flag, note: str, width: int) -> list[str]:
    """The lines of one flag: its name with what it takes, then its help and its default."""
    text = f"{note}{_help_of(flag)}{_default_of(flag)}"
    first = f"{_INDENT}{_name_of(flag)}"
    rest = " " * _NAME_COLUMN
    if len(first) + 1 < _NAME_COLUMN:
        return textwrap.wrap(text, width, initial_indent=first.ljust(_NAME_COLUMN), subsequent_indent=rest)
    return [first, *textwrap.wrap(text, width, initial_indent=rest, subsequent_indent=rest)]


def _name_of(flag: flags.Flag) -> str:
    if flag.boolean:
        return f"--[no]{flag.name}"
    if isinstance(flag, flags.EnumFlag):
        return f"--{flag.name}={'|'.join(flag.parser.enum_values)}"
    kind = next((shown for parser, shown in _KINDS.items() if isinstance(flag.parser, parser)), "TEXT")
    return f"--{flag.name}={kind}"


def _help_of(flag: flags.Flag) -> str:
    # absl adds the choices of a flag before its help, and a remark after that of a flag that may be repeated.
    text = flag.help.split(";\n    repeat")[0]
    if isinstance(flag, flags.EnumFlag):
        text = text.removeprefix(f"<{'|'.join(flag.parser.enum_values)}>: ")
    return " ".join(text.split())


def _default_of(flag: flags.Flag) -> str:
    default: Any = flag.default
    if default in (None, "", []):
        return ""
    if isinstance(default, bool):
        default = str(default).lower()
    return f" Default: {default}."
