"""Tasks by their names, with the options that a command has for them."""

import dataclasses
from collections.abc import Callable
from typing import Annotated

from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.settings import OneOf, StrPath, check, described
from albert_tf.tasks import entity_recognition, ranking, superglue, token_classification, user_classification
from albert_tf.tasks.glue import TABLES, GlueTask
from albert_tf.tasks.race import LEVELS, RaceTask
from albert_tf.tasks.record import RecordTask
from albert_tf.tasks.span_categories import SpanCategories
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.squad import VERSIONS, SquadTask
from albert_tf.tasks.tables import FORMATS as TABLE_FORMATS
from albert_tf.tasks.task import Task
from albert_tf.tasks.text_windows import CUT, LONG_TEXTS

TASK_NAMES = (
    *(*TABLES, *superglue.TABLES, *VERSIONS),
    *("race", "classification", "token_classification", entity_recognition.ENTITIES, SPAN_CATEGORIES),
)
_WORD_COLUMN, _TAG_COLUMN = 0, -1
# Those of SuperGLUE that are more than a pair of texts and a class.
_SUPERGLUE: dict[str, Callable[..., Task]] = {
    superglue.COPA: superglue.CopaTask,
    superglue.MULTIRC: superglue.MultiRcTask,
    superglue.RECORD: RecordTask,
}
_OF_MARKED_TEXTS = {entity_recognition.ENTITIES: entity_recognition.EntityRecognition, SPAN_CATEGORIES: SpanCategories}


@described
@dataclasses.dataclass(frozen=True)
class TaskOptions:
    """Options that a user may give for a task; each task takes what concerns it and refuses what does not.

    The columns of token_classification are numbers, from 0; those of entities and spans are names in JSON objects.
    """

    train_file: Annotated[StrPath | None, "Your own task, SQuAD and SuperGLUE: the training split."] = None
    dev_file: Annotated[StrPath | None, "Your own task, SQuAD and SuperGLUE: the split to evaluate on."] = None
    test_file: Annotated[StrPath | None, "Your own task, SQuAD and SuperGLUE: the split to predict."] = None
    text_column: Annotated[str | None, "Your own task: the column of the text."] = None
    text_pair_column: Annotated[str | None, "Your own task: the column of a second text."] = None
    label_column: Annotated[str | None, "Your own task: the column of the label."] = None
    labels: Annotated[
        tuple[str, ...], "Your own task: the classes, comma-separated, in their order; left out: those found."
    ] = ()
    multi_label: Annotated[bool, "Your own task: an example may have any number of classes."] = False
    regression: Annotated[bool, "Your own task: the label is a number."] = False
    label_threshold: Annotated[
        str | None,
        "With --multi_label: probability from which on a label is given: one or each, found on dev for all or for each "
        "label; or numbers; left out: 0.5.",
    ] = None
    group_column: Annotated[
        str | None, "Your own task: the column of the query; the rows of each are ranked, by the label's probability."
    ] = None
    long_texts: Annotated[
        str, OneOf(*LONG_TEXTS), "Your own task: cut long texts, or mean or max of the logits of windows over them."
    ] = CUT
    beam: Annotated[bool | None, "SQuAD: choose the end given the start; left out: for squad_v2."] = None
    null_score_diff_threshold: Annotated[
        float | None, "squad_v2: odds of no answer above which it is given; left out: the best, where known."
    ] = None
    race_level: Annotated[str, OneOf("all", *LEVELS), "RACE: which schools."] = "all"

    def __post_init__(self) -> None:
        check(self)
        if "" in self.labels:
            raise FlagError(f"--labels must not hold an empty name. Received {','.join(self.labels)}.")


# Names of tasks elsewhere, that of --task_name for each; those that differ by signs and capitals alone are known too.
_OTHER_NAMES = {
    "mismnli": "mnli",
    "mnlimatched": "mnli",
    "mnlimismatched": "mnli",
    "squad": "squad_v1",
    "squad11": "squad_v1",
    "squadv11": "squad_v1",
    "squad2": "squad_v2",
    "squad20": "squad_v2",
    "squadv20": "squad_v2",
    "ner": "token_classification",
    "textclassification": "classification",
    "sequenceclassification": "classification",
}
_FILES = ("train_file", "dev_file", "test_file")
_TAKEN = {
    **{name: _FILES[-1:] if table.only_test else _FILES for name, table in superglue.TABLES.items()},
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
        "label_threshold",
        "long_texts",
        "group_column",
    ),
    **dict.fromkeys(
        ("token_classification", entity_recognition.ENTITIES, SPAN_CATEGORIES),
        (*_FILES, "text_column", "label_column", "labels"),
    ),
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
        meant = _meant_by(name)
        advice = f"; write --task_name={meant}" if meant else ""
        raise FlagError(f"--task_name must be one of {', '.join(TASK_NAMES)}; received {name!r}{advice}")
    taken = _TAKEN.get(name, ())
    given = [field.name for field in dataclasses.fields(options) if getattr(options, field.name) != field.default]
    refused = [option for option in given if option not in taken]
    if refused:
        raise FlagError(f"--{refused[0]} means nothing to --task_name={name}")
    if data_dir and not files.exists(data_dir):
        raise InputError(f"--data_dir={data_dir} does not exist")
    if name in TABLES or name == "race":
        if not data_dir:
            raise FlagError(f"--data_dir must say where the files of --task_name={name} are")
        return GlueTask(name, data_dir) if name in TABLES else RaceTask(data_dir, _levels(options.race_level))
    if name in superglue.TABLES:
        named = (getattr(options, file) for file in _FILES)
        make = _SUPERGLUE.get(name, superglue.SuperGlueTask)
        return make(name, superglue.make_split_files(name, data_dir, *named))
    if name in VERSIONS:
        version = VERSIONS[name]
        nested = (f"{{split}}-{version}.json", "{split}.json", f"*{{split}}-{version}*.json", "*{split}*.json")
        names = (*nested, *(f"{{split}}{ending}" for ending in TABLE_FORMATS))
        return SquadTask(name, _split_files(data_dir, names, options), options.beam, options.null_score_diff_threshold)
    return _own_task(name, data_dir, options)


def _meant_by(name: str) -> str | None:
    """The task that has another name elsewhere, such as sst2, SQuAD or ner."""
    letters = _without_signs(name)
    names = _OTHER_NAMES | {_without_signs(known): known for known in TASK_NAMES}
    return names.get(letters)


def _without_signs(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _own_task(name: str, data_dir: str | None, options: TaskOptions) -> Task:
    """A task on a user's own files."""
    if name == "classification":
        defaults = user_classification.Columns()
        columns = user_classification.Columns(
            options.text_column or defaults.text, options.text_pair_column, options.label_column or defaults.label
        )
        split_files = _split_files(data_dir, user_classification.FILE_NAMES, options)
        choices = (options.labels, options.multi_label, options.regression, options.label_threshold, options.long_texts)
        if options.group_column is not None:
            return ranking.Ranking(options.group_column, split_files, columns, *choices)
        return user_classification.UserClassification(split_files, columns, *choices)
    if name in _OF_MARKED_TEXTS:
        return _OF_MARKED_TEXTS[name](
            _split_files(data_dir, entity_recognition.FILE_NAMES, options),
            options.text_column or "text",
            options.label_column,
            options.labels,
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
        raise FlagError(f"--race_level must be all, {' or '.join(LEVELS)}; received {level!r}")
    return LEVELS if level == "all" else (level,)


def _column_number(flag: str, value: str | None, default: int) -> int:
    try:
        return default if value is None else int(value)
    except ValueError:
        raise InputError(
            f"--{flag}: the columns of CoNLL files have numbers, from 0, or from -1 backwards; received {value!r}"
        ) from None
