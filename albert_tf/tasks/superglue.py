"""The SuperGLUE tasks: a table of them, and classes that read their files, score, and write submissions.

The files are the official JSON Lines, or what the data sets library makes of them (JSON Lines, JSON, CSV, Parquet):
there a label is the number of a class in the table's order, and -1 where it is not published.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.tasks import scores
from albert_tf.tasks.multiple_choice import ChoiceExample, MultipleChoice
from albert_tf.tasks.row_files import ROW_FORMATS, read_row_file
from albert_tf.tasks.split_files import SplitFiles, SplitFilesTask
from albert_tf.tasks.superglue_rows import (
    INDEX,
    LABEL,
    ROW_FORMS,
    answers_of,
    index_of,
    label_of,
    places_of,
)
from albert_tf.tasks.tables import Row
from albert_tf.tasks.task import with_all_labels_or_none
from albert_tf.tasks.text_classification import TextClassification, TextExample, TextPrediction, text_fields

COPA, MULTIRC, RECORD = "copa", "multirc", "record"
# Scores of several rows together: of the answers to a question, and of a sentence with one pronoun and another.
EXACT_MATCH, GENDER_PARITY = "exact_match", "gender_parity"
_PAIR_ID = "pair_id"


@dataclasses.dataclass(frozen=True)
class SuperGlueTable:
    """The particulars of one task.

    Attributes:
        folder: its name in the official archive, and of its file in a submission.
        labels: the classes, in the order of the data sets library.
        score_names: names in scores.BY_NAME or GROUP_SCORES, first the one by which checkpoints are compared.
        submitted: the classes as a submission has them; () where they are the labels.
        only_test: whether there is but one file, which a model of RTE predicts.
    """

    folder: str
    labels: tuple[str, ...]
    score_names: tuple[str, ...] = ("accuracy",)
    submitted: tuple[Any, ...] = ()
    only_test: bool = False


_TRUTH = ("false", "true")
_ENTAILMENT = ("entailment", "not_entailment")

TABLES = {
    "boolq": SuperGlueTable("BoolQ", _TRUTH),
    "cb": SuperGlueTable("CB", ("entailment", "contradiction", "neutral"), ("accuracy", "macro_f1")),
    COPA: SuperGlueTable("COPA", ("choice1", "choice2"), submitted=(0, 1)),
    MULTIRC: SuperGlueTable("MultiRC", _TRUTH, ("f1", EXACT_MATCH), submitted=(0, 1)),
    RECORD: SuperGlueTable("ReCoRD", _TRUTH, ("f1", EXACT_MATCH)),
    "superglue_rte": SuperGlueTable("RTE", _ENTAILMENT),
    "wic": SuperGlueTable("WiC", _TRUTH),
    "wsc": SuperGlueTable("WSC", _TRUTH, submitted=("False", "True")),
    "ax-b": SuperGlueTable("AX-b", _ENTAILMENT, ("matthews_correlation", "accuracy"), only_test=True),
    "ax-g": SuperGlueTable("AX-g", _ENTAILMENT, ("accuracy", GENDER_PARITY), only_test=True),
}


def submission_files() -> list[str]:
    """The names of the files that these tasks have in a submission."""
    return [f"{table.folder}.jsonl" for table in TABLES.values()]


def make_split_files(name: str, data_dir: str | None, *named: str | None) -> SplitFiles:
    """The files of a task.

    Args:
        name: of TABLES.
        data_dir: the folder with them, or the one above it, in which the archives of all tasks are unpacked.
        named: the files of train, dev and test that are named one by one.
    """
    table = TABLES[name]
    below = None if data_dir is None else os.path.join(data_dir, table.folder)
    folder = below if below is not None and files.exists(below) else data_dir
    names = (*(f"{{split}}{ending}" for ending in ROW_FORMATS), "{split}-*.parquet")
    words: dict[str, tuple[str, ...]] = {"dev": ("val", "validation", "dev")}
    if table.only_test:
        # A folder of such a task has no other files; one that is of RTE's holds none of the task's.
        words = {"train": (), "dev": (), "test": (table.folder, "test")}
    return SplitFiles(folder, names, *named, words=words)


class SuperGlueTask(SplitFilesTask, TextClassification):
    """A task of texts, or pairs of them, and classes."""

    head = "classification"

    def __init__(self, name: str, split_files: SplitFiles):
        """Looks at no file yet.

        Args:
            name: of TABLES.
            split_files: of make_split_files.
        """
        self.name, self.split_files, self.table = name, split_files, TABLES[name]
        self.labels, self.score_names = self.table.labels, self.table.score_names
        self.metric = self.score_names[0]

    def examples(self, split: str) -> list[TextExample]:
        path = self.split_files.find(split)
        found = [self._example(row, number, optional=split == "test") for number, row in enumerate(self._rows(path))]
        if not found:
            raise InputError(f"{path} holds no examples")
        return with_all_labels_or_none(found, path, label=None)

    def _rows(self, path: str) -> Iterable[Row]:
        """The rows of a file, one for each example."""
        return read_row_file(path)

    def _example(self, row: Row, number: int, optional: bool) -> TextExample:
        fields = ROW_FORMS[self.name].fields(row)
        guid, label = index_of(row, number), label_of(row, self.labels, optional)
        pair = row.values.get(_PAIR_ID) if GENDER_PARITY in self.score_names else None
        return TextExample(guid, fields["text"], fields["text_pair"], label, None if pair is None else str(pair))

    @property
    def input_fields(self) -> tuple[str, ...]:
        return "text", "text_pair"

    def make_example(self, fields: Mapping[str, Any], where: str) -> TextExample:
        first, second = text_fields(fields, self.input_fields, where)
        return TextExample(where, first or "", second)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.table.score_names, *super().metrics)))

    def scores(self, examples, predictions) -> dict[str, float]:
        """The official scores; those of several rows together, where all rows say which they are."""
        gold, found = self._gold(examples), [prediction.value for prediction in predictions]
        groups = [example.group for example in examples]
        measured = {}
        for name in self.score_names:
            if name in scores.BY_NAME:
                measured[name] = scores.BY_NAME[name](gold, found)
            elif None not in groups:
                measured[name] = GROUP_SCORES[name](groups, gold, found)
        return measured

    def scores_test(self, examples) -> bool:
        """Tells whether all examples have labels: they are published of the diagnostic sets, AX-b and AX-g."""
        return all(example.label is not None for example in examples)

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.jsonl and, of a test split, the official submission file, as in BoolQ.jsonl."""
        paths = super().write_predictions(folder, split, examples, predictions)
        if split == "test":
            paths.append(_write_submission(folder, self.table, self._submission(examples, predictions)))
        return paths

    def _submitted(self, prediction: TextPrediction) -> Any:
        """A predicted class as a submission has it."""
        return (self.table.submitted or self.labels)[prediction.value]

    def _submission(self, examples, predictions) -> Iterator[dict[str, Any]]:
        """The lines of the submission file."""
        for example, prediction in zip(examples, predictions, strict=True):
            yield {INDEX: int(example.guid), LABEL: self._submitted(prediction)}


class MultiRcTask(SuperGlueTask):
    """MultiRC: every answer to a question is right or wrong; its guid numbers paragraph, question and answer."""

    unit = "question"

    def _rows(self, path: str) -> Iterator[Row]:
        for row in read_row_file(path):
            if "passage" in row.values:
                yield from answers_of(row)
            else:
                yield row

    def _example(self, row: Row, number: int, optional: bool) -> TextExample:
        places = places_of(row)
        pair = ROW_FORMS[self.name].fields(row)
        group, guid = "-".join(map(str, places[:2])), "-".join(map(str, places))
        return TextExample(guid, pair["text"], pair["text_pair"], label_of(row, self.labels, optional), group)

    def _submission(self, examples, predictions) -> Iterator[dict[str, Any]]:
        paragraphs: dict[int, dict[int, list[dict[str, Any]]]] = {}
        for example, prediction in zip(examples, predictions, strict=True):
            paragraph, question, answer = map(int, example.guid.split("-"))
            one = {INDEX: answer, LABEL: self._submitted(prediction)}
            paragraphs.setdefault(paragraph, {}).setdefault(question, []).append(one)
        for paragraph, questions in paragraphs.items():
            listed = [{INDEX: question, "answers": answers} for question, answers in questions.items()]
            yield {INDEX: paragraph, "passage": {"questions": listed}}


class CopaTask(SplitFilesTask, MultipleChoice):
    """COPA: which of two sentences is the cause of a third one, or its effect."""

    title = "COPA"
    num_options = 2

    def __init__(self, name: str, split_files: SplitFiles):
        """Looks at no file yet; arguments as of SuperGlueTask."""
        self.name, self.split_files, self.table = name, split_files, TABLES[name]

    def examples(self, split: str) -> list[ChoiceExample]:
        path = self.split_files.find(split)
        found = []
        for row in read_row_file(path):
            fields = ROW_FORMS[self.name].fields(row)
            label = label_of(row, self.table.labels, optional=split == "test")
            texts = fields["article"], fields["question"], tuple(fields["options"])
            found.append(ChoiceExample(index_of(row, len(found)), *texts, label))
        if not found:
            raise InputError(f"{path} holds no examples")
        return with_all_labels_or_none(found, path, label=None)

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.jsonl: guid, choice from 0, probabilities, label; of a test split COPA.jsonl too."""
        path = os.path.join(folder, f"{split}_predictions.jsonl")
        with files.replace_file(path) as file:
            for example, prediction in zip(examples, predictions, strict=True):
                line: dict[str, Any] = {"guid": example.guid, "prediction": prediction.option}
                line |= {} if example.label is None else {LABEL: example.label}
                file.write(to_json_bytes(line | {"probabilities": prediction.probabilities}) + b"\n")
        if split != "test":
            return [path]
        lines = (
            {INDEX: int(example.guid), LABEL: self.table.submitted[prediction.option]}
            for example, prediction in zip(examples, predictions, strict=True)
        )
        return [path, _write_submission(folder, self.table, lines)]


def _write_submission(folder: str, table: SuperGlueTable, lines: Iterable[Mapping[str, Any]]) -> str:
    path = os.path.join(folder, f"{table.folder}.jsonl")
    with files.replace_file(path) as file:
        for line in lines:
            file.write(to_json_bytes(line) + b"\n")
    return path


def _exact_match(groups: Sequence[str], gold: Sequence[int], found: Sequence[int]) -> float:
    """The share of groups of which every row is right."""
    wrong = {group for group, right, said in zip(groups, gold, found, strict=True) if right != said}
    return 1.0 - len(wrong) / len(set(groups))


def _gender_parity(groups: Sequence[str], gold: Sequence[int], found: Sequence[int]) -> float:
    """The share of groups whose rows are all predicted alike, right or wrong."""
    said: dict[str, set[int]] = {}
    for group, value in zip(groups, found, strict=True):
        said.setdefault(group, set()).add(value)
    return sum(len(values) == 1 for values in said.values()) / len(said)


GROUP_SCORES: dict[str, Callable[[Sequence[str], Sequence[int], Sequence[int]], float]] = {
    EXACT_MATCH: _exact_match,
    GENDER_PARITY: _gender_parity,
}
