"""One step of an experiment: a command line, known by what decides its output, with a folder of its own."""

import dataclasses
import functools
import glob
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from albert_tf.experiments.command_lines import COMMANDS, as_read, as_word
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

DONE_NAME, FAILED_NAME, LOG_NAME, LOCK_NAME = "done.json", "failed.json", "log.txt", "step.lock"
STEPS_FOLDER = "steps"
_KEY_DIGITS = 12
# A flag that names how the files begin that are written.
_PREFIX = "model_prefix"


@dataclasses.dataclass(frozen=True)
class Given:
    """A file or folder of the user's.

    Attributes:
        path: to it.
        digest: of what is in it, by which it is known.
    """

    path: str
    digest: str


@dataclasses.dataclass(frozen=True)
class Made:
    """A file or folder in the folder of another step."""

    step: "Step"
    name: str


@dataclasses.dataclass(frozen=True)
class Own:
    """A file or folder in the step's own folder, for its command to write."""

    name: str


@dataclasses.dataclass(frozen=True)
class Written:
    """A JSON file in the step's own folder, written before its command runs."""

    name: str
    values: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """A command to run, and the files it works on.

    Two steps with the same key are one: they do the same with the same input.

    Attributes:
        kind: of the command, a key of COMMANDS.
        flags: values as they are, or Given, Made, Own or Written.
        result: the output that shows that it is there, in its folder.
        work: how long it takes beside others of its kind, in any unit.
        fixed: flags that change nothing in the output, such as --overwrite; the key does not have them.
        also: a pattern of more output in its folder, of which something must be there; None for no more.
    """

    kind: str
    flags: Mapping[str, Any]
    result: str
    work: float = 1.0
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    also: str | None = None

    @functools.cached_property
    def key(self) -> str:
        """Its name: its kind and a digest of all that decides its output."""
        settings = {name: _identity(as_read(self.kind, name, value)) for name, value in self.flags.items()}
        digest = hashlib.sha256(to_json([self.kind, settings], sort_keys=True).encode()).hexdigest()
        return f"{self.kind}-{digest[:_KEY_DIGITS]}"

    def inputs(self) -> Iterator["Step"]:
        """The steps whose output it reads."""
        for value in self.flags.values():
            if isinstance(value, Made):
                yield value.step

    def chain(self) -> Iterator["Step"]:
        """The steps that it needs, first things first, and itself."""
        for step in self.inputs():
            yield from step.chain()
        yield self

    def folder(self, output_dir: str) -> str:
        """Its folder."""
        return os.path.join(output_dir, STEPS_FOLDER, self.key)

    def words(self, output_dir: str) -> list[str]:
        """The command line, without Python's name: "-m", the command, its flags."""
        flags = {**self.flags, **self.fixed}
        own = self.folder(output_dir)
        return [
            "-m",
            COMMANDS[self.kind],
            *(as_word(name, _place(value, own, output_dir)) for name, value in flags.items()),
        ]

    def program(self, output_dir: str) -> list[str]:
        """The command line with the Python that runs here."""
        return [sys.executable, *self.words(output_dir)]

    def write_inputs(self, output_dir: str) -> None:
        """Writes the files that go before the command."""
        for value in self.flags.values():
            if isinstance(value, Written):
                files.write_json(os.path.join(self.folder(output_dir), value.name), value.values)

    def is_written(self, output_dir: str) -> bool:
        """Tells whether all that its command writes is there."""
        own = {name: value.name for name, value in self.flags.items() if isinstance(value, Own) and name != _PREFIX}
        folder = self.folder(output_dir)
        if not all(os.path.exists(os.path.join(folder, name)) for name in {self.result, *own.values()}):
            return False
        return self.also is None or any(glob.iglob(os.path.join(glob.escape(folder), self.also)))

    def done(self, output_dir: str) -> Mapping[str, Any] | None:
        """The note of when it was finished, {"seconds", "work", ...}; None if it is not, or its output is gone."""
        if not self.is_written(output_dir):
            return None
        try:
            return files.read_json(os.path.join(self.folder(output_dir), DONE_NAME))
        except (OSError, InputError):
            return None

    def failure(self, output_dir: str) -> str | None:
        """The reason why it failed when it was last tried, by whichever process; None if it did not."""
        try:
            return str(files.read_json(os.path.join(self.folder(output_dir), FAILED_NAME))["reason"])
        except (OSError, InputError, KeyError):
            return None

    def read_result(self, output_dir: str) -> dict[str, Any]:
        """The JSON object that its command wrote."""
        return files.read_json(os.path.join(self.folder(output_dir), self.result))


def finished_notes(output_dir: str) -> list[Mapping[str, Any]]:
    """The notes of all finished steps in a folder, of other experiments and of earlier settings too."""
    notes = []
    parent = os.path.join(output_dir, STEPS_FOLDER)
    for name in files.list_folder(parent):
        try:
            with open(os.path.join(parent, name, DONE_NAME), "rb") as file:
                notes.append(json.load(file))
        except (OSError, ValueError):
            continue
    return [note for note in notes if isinstance(note, dict)]


def _identity(value: Any) -> Any:
    """The part of a key that a flag's value comes to."""
    if isinstance(value, Given):
        return {"given": value.digest}
    if isinstance(value, Made):
        return {"made": [value.step.key, value.name]}
    if isinstance(value, Own):
        return {"own": value.name}
    return {"written": value.values} if isinstance(value, Written) else value


def _place(value: Any, own: str, output_dir: str) -> Any:
    """A flag's value as the command takes it."""
    if isinstance(value, Given):
        return value.path
    if isinstance(value, Made):
        return os.path.join(value.step.folder(output_dir), value.name)
    return os.path.join(own, value.name) if isinstance(value, Own | Written) else value
