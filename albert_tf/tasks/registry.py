"""Tasks by their names, with the options that a command has for them."""

import dataclasses
import typing

from albert_tf.runtime import files
from albert_tf.runtime.choices import check_choices
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.path_text import StrPath, paths_as_text
from albert_tf.runtime.value_types import check_types
from albert_tf.tasks import token_classification, user_classification
from albert_tf.tasks.glue import TABLES, GlueTask
from albert_tf.tasks.race import LEVELS, RaceTask
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import VERSIONS, SquadTask
from albert_tf.tasks.task import Task

TASK_NAMES = (*TABLES, *VERSIONS, "race", "classification", "token_classification")
_WORD_COLUMN, _TAG_COLUMN = 0, -1


@dataclasses.dataclass(frozen=True)
class TaskOptions:
    """Options that a user may give for a task; each task takes what concerns it and refuses what does not.

    Attributes:
        train_file, dev_file, test_file: files of squad_*, classification and token_classification, in place of those
            found in data_dir.
        text_column, text_pair_column, label_column: names of columns (classification); numbers of columns, from 0
            (token_classification: text_column and label_column).
        labels: the classes or tags in their order; () finds them in the training file.
        multi_label, regression: classification: several classes for each example; a number instead of classes.
        beam: squad_*: whether to use the head that chooses the end given the start; None: on v2.0.
        null_score_diff_threshold: squad_v2: null odds above which there is no answer; None: the best, where known.
        race_level: race: "middle", "high" or "all".
    """

    train_file: StrPath | None = None
    dev_file: StrPath | None = None
    test_file: StrPath | None = None
    text_column: str | None = None
    text_pair_column: str | None = None
    label_column: str | None = None
    labels: tuple[str, ...] = ()
    multi_label: bool = False
    regression: bool = False
    beam: bool | None = None
    null_score_diff_threshold: float | None = None
    race_level: str = "all"

    CHOICES: typing.ClassVar[dict[str, tuple[str, ...]]] = {"race_level": ("all", *LEVELS)}

    def __post_init__(self) -> None:
        paths_as_text(self)
        check_types(self)
        check_choices(self)
        if "" in self.labels:
            raise InputError(f"--labels must not hold an empty name. Received {','.join(self.labels)}.")


_FILES = ("train_file", "dev_file", "test_file")
_TAKEN = {
    "squad_v1": (*_FILES, "beam"),
    "squad_v2": (*_FILES, "beam", "null_score_diff_threshold"),
    "race": ("race_level",),
    "classification": (
        *_FILES,
        "text_column",
        "text_pair_column",
        "label_column",
        "labels",
        "multi_label",
        "regression",
    ),
    "token_classification": (*_FILES, "text_column", "label_column", "labels"),
}


def make_task(name: str, data_dir: str | None = None, options: TaskOptions = TaskOptions()) -> Task:
    """The task of this name.

    Args:
        name: one of TASK_NAMES.
        data_dir: the folder with its files; may be left out where files are named one by one.
        options: beyond the name.

    Raises:
        InputError: no such task, an option that it does not have, or no data_dir.
    """
    if name not in TASK_NAMES:
        meant = {"mismnli": "mnli"}.get(name.lower(), name.lower())
        advice = f"; write --task_name={meant}" if meant in TASK_NAMES else ""
        raise InputError(f"--task_name must be one of {', '.join(TASK_NAMES)}; received {name!r}{advice}")
    taken = _TAKEN.get(name, ())
    given = [field.name for field in dataclasses.fields(options) if getattr(options, field.name) != field.default]
    refused = [option for option in given if option not in taken]
    if refused:
        raise InputError(f"--{refused[0]} means nothing to --task_name={name}")
    if data_dir and not files.exists(data_dir):
        raise InputError(f"--data_dir={data_dir} does not exist")
    if name in TABLES or name == "race":
        if not data_dir:
            raise InputError(f"--data_dir must say where the files of --task_name={name} are")
        return GlueTask(name, data_dir) if name in TABLES else RaceTask(data_dir, _levels(options.race_level))
    if name in VERSIONS:
        version = VERSIONS[name]
        names = (f"{{split}}-{version}.json", "{split}.json", f"*{{split}}-{version}*.json", "*{split}*.json")
        return SquadTask(name, _split_files(data_dir, names, options), options.beam, options.null_score_diff_threshold)
    if name == "classification":
        defaults = user_classification.Columns()
        columns = user_classification.Columns(
            options.text_column or defaults.text, options.text_pair_column, options.label_column or defaults.label
        )
        return user_classification.UserClassification(
            _split_files(data_dir, user_classification.FILE_NAMES, options),
            columns,
            options.labels,
            options.multi_label,
            options.regression,
        )
    return token_classification.TokenClassification(
        _split_files(data_dir, token_classification.FILE_NAMES, options),
        _column_number("text_column", options.text_column, _WORD_COLUMN),
        _column_number("label_column", options.label_column, _TAG_COLUMN),
        options.labels,
    )


def _split_files(data_dir: str | None, names: tuple[str, ...], options: TaskOptions) -> SplitFiles:
    return SplitFiles(data_dir, names, *(getattr(options, name) for name in _FILES))


def _levels(level: str) -> tuple[str, ...]:
    if level not in ("all", *LEVELS):
        raise InputError(f"--race_level must be all, {' or '.join(LEVELS)}; received {level!r}")
    return LEVELS if level == "all" else (level,)


def _column_number(flag: str, value: str | None, default: int) -> int:
    try:
        return default if value is None else int(value)
    except ValueError:
        raise InputError(
            f"--{flag}: the columns of CoNLL files have numbers, from 0, or from -1 backwards; received {value!r}"
        ) from None
