"""The files of a task's splits: named one by one, or found in a folder by their usual names."""

import dataclasses
import fnmatch
import os
from collections.abc import Mapping

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.task import Task

SPLITS = ("train", "dev", "test")


@dataclasses.dataclass(frozen=True)
class SplitFiles:
    """The files of a task, one for each split.

    Attributes:
        data_dir: a folder, or None.
        names: file names and patterns in it, such as "{split}-v1.1.json", the likelier ones first.
        train_file, dev_file, test_file: a file, wherever it is; wins over data_dir.
        words: a split's words in names of files, where there are others than its own: {"dev": ("val", "dev")}; of a
            split that has no files, none.
    """

    data_dir: str | None
    names: tuple[str, ...]
    train_file: str | None = None
    dev_file: str | None = None
    test_file: str | None = None
    words: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def splits(self) -> tuple[str, ...]:
        """The splits whose file was named or is there."""
        return tuple(split for split in SPLITS if getattr(self, f"{split}_file") or self._matches(split))

    def find(self, split: str) -> str:
        """The file of a split.

        Raises:
            InputError: there is none, or several match the same pattern.
        """
        if split not in SPLITS:
            raise InputError(f"there is no split {split!r}; the splits are {', '.join(SPLITS)}")
        named = getattr(self, f"{split}_file")
        if named:
            if not files.exists(named):
                raise InputError(f"--{split}_file={named} does not exist")
            return named
        if not self.data_dir:
            raise InputError(f"--{split}_file or --data_dir must say where the {split} file is")
        if not files.exists(self.data_dir):
            raise InputError(f"--data_dir={self.data_dir} does not exist")
        matches = self._matches(split)
        if not matches:
            word = next(iter(self._words(split)), split)
            wanted = ", ".join(name.format(split=word) for name in self.names)
            raise InputError(f"--data_dir={self.data_dir} has no {split} file ({wanted}); give it as --{split}_file")
        if len(matches) > 1:
            raise InputError(
                f"--data_dir={self.data_dir} has several {split} files ({', '.join(matches)}); "
                f"give one as --{split}_file"
            )
        return os.path.join(self.data_dir, matches[0])

    def _matches(self, split: str) -> list[str]:
        """The files in the folder that the first fitting name names."""
        present = files.list_folder(self.data_dir) if self.data_dir else []
        for name in self.names:
            for word in self._words(split):
                found = sorted(fnmatch.filter(present, name.format(split=word)))
                if found:
                    return found
        return []

    def _words(self, split: str) -> tuple[str, ...]:
        """The words that stand for a split in names of files, the likelier ones first."""
        return self.words.get(split, (split,))


class SplitFilesTask(Task):
    """A task with one file for each split."""

    split_files: SplitFiles

    def splits(self) -> tuple[str, ...]:
        return self.split_files.splits()

    def input_files(self, split: str) -> list[str]:
        return [self.split_files.find(split)]
