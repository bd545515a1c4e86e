"""The settings of a run: its flags beside their defaults, and what several runs have different."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from absl import flags

from albert_tf.distillation.distillation_flags import define_distil_vectors_flags
from albert_tf.embedding.embedding_flags import define_train_embeddings_flags
from albert_tf.finetuning.finetuning_flags import define_finetuning_flags
from albert_tf.pretraining.pretraining_flags import define_pretraining_flags
from albert_tf.runtime import files
from albert_tf.runtime.flag_help import grouped_flags

_DEFINE = {
    "run_pretraining": define_pretraining_flags,
    "run_finetuning": define_finetuning_flags,
    "train_embeddings": define_train_embeddings_flags,
    "distil_vectors": define_distil_vectors_flags,
}
_UNKNOWN = "Not known to this version"
NOTHING = "–"


@dataclasses.dataclass(frozen=True)
class Setting:
    """A flag of a run.

    Attributes:
        name: of the flag.
        group: the title above it in --help.
        value, default: None where it was not given, or has none.
        is_known: whether this version has the flag, and so its default.
        is_given: whether the run named it; one that another took the place of was not.
    """

    name: str
    group: str
    value: Any
    default: Any
    is_known: bool = True
    is_given: bool = True

    def is_changed(self) -> bool:
        """True where the run has a value other than the default."""
        return not self.is_known or self.value != self.default


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """All flags of a run, in the order of --help."""

    settings: tuple[Setting, ...]

    def value(self, name: str) -> Any:
        """The value of a flag; None for one that there is not."""
        return next((one.value for one in self.settings if one.name == name), None)

    def text(self, name: str) -> str:
        """The value of a flag as a person reads it."""
        return show_value(self.value(name))


def read_settings(path: str, command: str) -> RunSettings:
    """Reads the flag file that a run wrote.

    A line that is no flag of this version, or has a value that it refuses, stays as it is.

    Args:
        path: the file.
        command: whose it is.
    """
    lines = files.read_small(path).decode("utf-8", errors="replace").splitlines()
    given = flags.FlagValues()
    _DEFINE[command](given)
    odd = []
    for line in lines:
        try:
            rest = given([command, line])[1:]
        except flags.Error:
            rest = [line]
        odd += [word for word in rest if word.strip()]
    known = [
        Setting(flag.name, group, flag.value, flag.default, is_given=flag.present > 0)
        for group, members in grouped_flags(given).items()
        for flag in members
    ]
    return RunSettings((*known, *map(_odd_setting, odd)))


def _odd_setting(line: str) -> Setting:
    name, _, value = line.removeprefix("--").partition("=")
    return Setting(name, _UNKNOWN, value, None, is_known=False)


def show_value(value: Any) -> str:
    """A flag's value as a person reads it."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or NOTHING
    return f"{value}"


def differences(runs: Sequence[RunSettings | None]) -> list[tuple[str, list[str]]]:
    """The flags that do not have one value in all runs.

    Returns:
        (name, the value in each run), in the order of --help; NOTHING where it is not known.
    """
    names = dict.fromkeys(one.name for run in runs if run for one in run.settings)
    rows = [(name, [run.text(name) if run else NOTHING for run in runs]) for name in names]
    return [(name, values) for name, values in rows if len(set(values)) > 1]
