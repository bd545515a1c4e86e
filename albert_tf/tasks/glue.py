"""The GLUE tasks: a table of their official files, and one class that reads any of them.

Columns are those of the official TSV files. The official run_classifier.py takes them by number; here they are
taken by the names in the header, so that a file with other columns is noticed. CoLA has a header only in the test file.
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from absl import logging

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.tables import Row, columns_of, describe_lines, read_rows, require_columns
from albert_tf.tasks.text_classification import TextClassification, TextExample, TextPrediction, text_fields

SUBMISSION_HEADER = "index\tprediction"


@dataclasses.dataclass(frozen=True)
class GlueTable:
    """The particulars of one GLUE task.

    Attributes:
        folder: its name in the official archive.
        texts: the columns of the first and, of a pair, the second text; the test file's may be others.
        label: the column of the label.
        labels: the classes in the official order; () for a regression.
        score_names: names in scores.BY_NAME, first the one by which checkpoints are compared.
        submissions: split -> name of its file in a submission.
        test_texts: the columns of the texts in the test file, if they are others.
        headless: columns of the files without a header.
        skips_malformed: leave out rows with too few or too many fields in training and evaluation, as the official
            code does for QQP.
    """

    folder: str
    texts: tuple[Any, ...]
    label: Any
    labels: tuple[str, ...]
    score_names: tuple[str, ...]
    submissions: dict[str, str]
    test_texts: tuple[str, ...] = ()
    headless: bool = False
    skips_malformed: bool = False
    files: dict[str, str] = dataclasses.field(
        default_factory=lambda: {split: f"{split}.tsv" for split in ("train", "dev", "test")}
    )


_BINARY = ("0", "1")
_INFERENCE = ("contradiction", "entailment", "neutral")
_ENTAILMENT = ("entailment", "not_entailment")
_SENTENCES = ("sentence1", "sentence2")

TABLES = {
    # Columns 1 and 3 of four without names: label, and sentence; the test file has a header.
    "cola": GlueTable(
        *("CoLA", (3,), 1, _BINARY, ("matthews_correlation", "accuracy"), {"test": "CoLA.tsv"}),
        test_texts=("sentence",),
        headless=True,
    ),
    "sst-2": GlueTable("SST-2", ("sentence",), "label", _BINARY, ("accuracy",), {"test": "SST-2.tsv"}),
    "mrpc": GlueTable(
        *("MRPC", ("#1 String", "#2 String"), "Quality", _BINARY, ("accuracy", "f1"), {"test": "MRPC.tsv"}),
    ),
    "sts-b": GlueTable(
        *("STS-B", _SENTENCES, "score", (), ("pearson", "spearman", "mean_squared_error"), {"test": "STS-B.tsv"}),
    ),
    "qqp": GlueTable(
        *("QQP", ("question1", "question2"), "is_duplicate", _BINARY, ("accuracy", "f1"), {"test": "QQP.tsv"}),
        skips_malformed=True,
    ),
    "mnli": GlueTable(
        *("MNLI", _SENTENCES, "gold_label", _INFERENCE, ("accuracy",)),
        {"test_matched": "MNLI-m.tsv", "test_mismatched": "MNLI-mm.tsv"},
        files={
            "train": "train.tsv",
            **{
                f"{split}_{kind}": f"{split}_{kind}.tsv"
                for split in ("dev", "test")
                for kind in ("matched", "mismatched")
            },
        },
    ),
    "qnli": GlueTable("QNLI", ("question", "sentence"), "label", _ENTAILMENT, ("accuracy",), {"test": "QNLI.tsv"}),
    "rte": GlueTable("RTE", _SENTENCES, "label", _ENTAILMENT, ("accuracy",), {"test": "RTE.tsv"}),
    "wnli": GlueTable("WNLI", _SENTENCES, "label", _BINARY, ("accuracy",), {"test": "WNLI.tsv"}),
    # The diagnostic set has no training data: it is predicted with a model of MNLI.
    "ax": GlueTable(
        *("AX", _SENTENCES, "label", _INFERENCE, ("matthews_correlation", "accuracy"), {"test": "AX.tsv"}),
        files={"test": "diagnostic.tsv"},
    ),
}
# Names under which a file may also lie there.
_OTHER_NAMES = {("ax", "test"): ("AX.tsv", "test.tsv", "diagnostic/diagnostic.tsv")}


class GlueTask(TextClassification):
    """One of the GLUE tasks."""

    def __init__(self, name: str, data_dir: str):
        """Looks at no file yet.

        Args:
            name: of TABLES.
            data_dir: the folder with the task's TSV files, or the one above it, as the official code has it.
        """
        self.name, self.data_dir, self.table = name, str(data_dir), TABLES[name]
        self.labels, self.score_names = self.table.labels, self.table.score_names
        self.metric = self.score_names[0]
        self.head = "classification" if self.labels else "regression"

    def splits(self) -> tuple[str, ...]:
        return tuple(split for split in self.table.files if self._find(split) is not None)

    def input_files(self, split: str) -> list[str]:
        if split not in self.table.files:
            raise InputError(f"{self.name} has no split {split!r}; it has {', '.join(self.table.files)}")
        path = self._find(split)
        if path is None:
            if not files.exists(self.data_dir):
                raise InputError(f"--data_dir={self.data_dir} does not exist")
            name = self.table.files[split]
            raise InputError(
                f"--data_dir={self.data_dir} has neither {name} nor {self.table.folder}/{name}, "
                f"the {split} file of {self.name}"
            )
        return [path]

    def _find(self, split: str) -> str | None:
        names = (self.table.files[split], *_OTHER_NAMES.get((self.name, split), ()))
        paths = [os.path.join(self.data_dir, folder, name) for name in names for folder in ("", self.table.folder)]
        return next((path for path in paths if files.exists(path)), None)

    def examples(self, split: str) -> list[TextExample]:
        [path] = self.input_files(split)
        is_test = split.startswith("test")
        has_header = not self.table.headless or is_test
        texts = (is_test and self.table.test_texts) or self.table.texts
        label = self.table.label
        if has_header:
            present = columns_of(path, ".tsv")
            if is_test and label not in present:
                label = None
            require_columns(path, texts if label is None else (*texts, label), present)
        found, malformed = [], []
        for row in read_rows(path, ".tsv", has_header):
            # A submission needs a row for every row of the test file.
            if self.table.skips_malformed and not is_test and _is_malformed(row, texts, label):
                malformed.append(row.line)
                continue
            found.append(self._example(row, len(found), texts, label))
        if malformed:
            _log_malformed(path, malformed)
        if not found:
            raise InputError(f"{path} holds no examples")
        return found

    def _example(self, row: Row, number: int, texts: Sequence[Any], label: Any) -> TextExample:
        row.check_length()
        first, *rest = (row.text(column) for column in texts)
        guid = next((row.values[name] for name in ("index", "id") if name in row.values), str(number))
        value = None if label is None else self._parse_label(row, row.text(label))
        return TextExample(guid, first, rest[0] if rest else None, value)

    def _parse_label(self, row: Row, text: str) -> int | float:
        text = text.strip()
        if self.head == "regression":
            try:
                value = float(text)
            except ValueError:
                value = float("nan")
            if not abs(value) < float("inf"):
                raise InputError(f"{row.where}: the score must be a number; received {text!r}")
            return value
        if text not in self.labels:
            raise InputError(f"{row.where}: unknown label {text!r}; the labels are {', '.join(self.labels)}")
        return self.labels.index(text)

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("text", "text_pair") if len(self.table.texts) == 2 else ("text",)

    def make_example(self, fields, where) -> TextExample:
        return TextExample(where, *text_fields(fields, self.input_fields, where))

    def scores_test(self, examples) -> bool:
        """Tells whether all examples of the diagnostic set have labels; a task with a dev split is scored on that."""
        return tuple(self.table.files) == ("test",) and all(example.label is not None for example in examples)

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.jsonl and, of a test split, the official submission file, as in CoLA.tsv."""
        paths = super().write_predictions(folder, split, examples, predictions)
        if split in self.table.submissions:
            paths.append(os.path.join(folder, self.table.submissions[split]))
            self._write_submission(paths[-1], examples, predictions)
        return paths

    def _write_submission(
        self, path: str, examples: Sequence[TextExample], predictions: Sequence[TextPrediction]
    ) -> None:
        with files.replace_file(path) as file:
            lines = [f"{example.guid}\t{self.label_text(p.value)}" for example, p in zip(examples, predictions)]
            file.write(("\n".join([SUBMISSION_HEADER, *lines]) + "\n").encode())


def submission_files() -> list[str]:
    """The names of all files of a GLUE submission."""
    return [name for table in TABLES.values() for name in table.submissions.values()]


def _is_malformed(row: Row, texts: Sequence[Any], label: Any) -> bool:
    return bool(row.extra_fields) or any(
        row.values.get(column) is None for column in (*texts, label) if column is not None
    )


def _log_malformed(path: str, lines: Sequence[int]) -> None:
    told = describe_lines(lines)
    logging.warning("%s: %d rows with too few or too many fields are left out (%s)", path, len(lines), told)
