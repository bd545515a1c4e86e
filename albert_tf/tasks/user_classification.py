"""A user's own task: one text or two in a table with named columns, to a class, several classes, or a number."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.split_files import SplitFiles, SplitFilesTask
from albert_tf.tasks.tables import Row, columns_of, format_of, read_rows, require_columns
from albert_tf.tasks.task import with_all_labels_or_none
from albert_tf.tasks.text_classification import TextClassification, TextExample, text_features, text_fields
from albert_tf.tasks.text_windows import CUT, pool_logits, window_features
from albert_tf.tasks.thresholds import THRESHOLD_SCORE, parse_thresholds

FILE_NAMES = ("{split}.tsv", "{split}.csv", "{split}.jsonl")
# Between the classes of an example in a TSV or CSV file; in JSONL they are a list.
LABEL_SEPARATOR = "|"
# Columns that tell one row from the others; the first that is there.
_ID_COLUMNS = ("guid", "id", "index")
_SCORES = {"classification": ("accuracy", "macro_f1"), "regression": ("pearson", "spearman", "mean_squared_error")}
# The square of a difference must be a float32 too.
_LARGEST = 1e18
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_METRICS = {"classification": "accuracy", "regression": "pearson", "multi_label": "micro_f1"}


@dataclasses.dataclass(frozen=True)
class Columns:
    """The names of the columns.

    Attributes:
        text: of the text.
        text_pair: of the second text of a pair; None for single texts.
        label: of the label.
    """

    text: str = "text"
    text_pair: str | None = None
    label: str = "label"

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the columns with text."""
        return (self.text,) if self.text_pair is None else (self.text, self.text_pair)


class UserClassification(SplitFilesTask, TextClassification):
    """Text classification, or regression, on a user's own files."""

    name = "classification"

    def __init__(
        self,
        split_files: SplitFiles,
        columns: Columns = Columns(),
        labels: Sequence[str] | None = None,
        multi_label: bool = False,
        regression: bool = False,
        label_threshold: str | None = None,
        long_texts: str = CUT,
    ):
        """Reads the training file if the classes are not given.

        Args:
            split_files: where the files are.
            columns: what their columns are called.
            labels: names of the classes, in their order; None finds them in the training file, sorted.
            multi_label: whether an example may have none or several of the classes.
            regression: whether the label is a number.
            label_threshold: of several labels, see tasks.thresholds.parse_thresholds.
            long_texts: one of text_windows.LONG_TEXTS.

        Raises:
            InputError: options that contradict one another, or no classes to be found.
        """
        if multi_label and regression:
            raise FlagError("--multi_label and --regression exclude each other")
        named = (*columns.texts, columns.label)
        if len(set(named)) < len(named):
            raise FlagError(
                "--text_column, --text_pair_column and --label_column must name different columns; they name "
                + ", ".join(named)
            )
        if long_texts != CUT and columns.text_pair is not None:
            raise FlagError(f"--long_texts={long_texts} is for single texts; pairs are cut")
        if regression and labels:
            raise FlagError("--labels are the names of classes; --regression has none")
        self.split_files, self.columns, self.long_texts = split_files, columns, long_texts
        self.head = "regression" if regression else "multi_label" if multi_label else "classification"
        self.score_names, self.metric = _SCORES.get(self.head, ()), _METRICS[self.head]
        self.labels = () if regression else tuple(labels) if labels else self._find_labels()
        if len(set(self.labels)) < len(self.labels):
            raise FlagError(f"--labels names a class twice: {', '.join(self.labels)}")
        if self.head == "classification" and len(self.labels) < 2:
            raise InputError(f"at least two classes are needed; there is {', '.join(self.labels) or 'none'}")
        if label_threshold is not None:
            self._set_threshold(label_threshold)

    def _set_threshold(self, label_threshold: str) -> None:
        if self.head != "multi_label":
            raise FlagError("--label_threshold goes with --multi_label; one class of several is the likeliest")
        self.label_threshold = label_threshold
        self.thresholds = parse_thresholds(label_threshold, self.labels)
        if self.thresholds is None:
            self.threshold_score = THRESHOLD_SCORE

    def options(self) -> dict[str, Any]:
        return dataclasses.asdict(self.columns) | {"long_texts": self.long_texts}

    def features(self, index, example, tokenizer, settings):
        """One feature, or one for each window over a long text."""
        make = text_features if self.long_texts == CUT else window_features
        return make(index, example, tokenizer, settings)

    def predictions(self, examples, features, outputs, settings):
        """The predictions for whole texts, whatever windows they were read in."""
        if self.long_texts != CUT:
            outputs = {"logits": pool_logits(features, outputs["logits"], len(examples), self.long_texts)}
        return super().predictions(examples, features, outputs, settings)

    def examples(self, split: str) -> list[TextExample]:
        path = self.split_files.find(split)
        has_label = self._check_columns(path, split)
        found = []
        for row in read_rows(path):
            row.check_length()
            label = self._label(row, optional=split == "test") if has_label else None
            found.append(self._example(row, self._guid(row, len(found)), label))
        if not found:
            raise InputError(f"{path} holds no examples")
        return with_all_labels_or_none(found, path, label=None)

    def _example(self, row: Row, guid: str, label: Any) -> TextExample:
        """The example of a row whose label is read."""
        first, *rest = (row.text(column) for column in self.columns.texts)
        return TextExample(guid, first, rest[0] if rest else None, label)

    def _guid(self, row: Row, number: int) -> str:
        """The name that the row gives itself, else its number from 0."""
        used = (*self.columns.texts, self.columns.label)
        named = (row.values.get(name) for name in _ID_COLUMNS if name not in used)
        return next((str(value) for value in named if value not in (None, "")), str(number))

    def _check_columns(self, path: str, split: str) -> bool:
        """Tells whether there is a label. What lines of JSONL lack is found line by line."""
        present = columns_of(path)
        if split == "test" and self.columns.label not in present:
            require_columns(path, self.columns.texts, present)
            return False
        if format_of(path) != ".jsonl":
            require_columns(path, (*self.columns.texts, self.columns.label), present)
        return True

    def _label(self, row: Row, optional: bool) -> Any:
        """The label of a row, as TextExample has it; None if it is empty and may be."""
        if optional and row.values.get(self.columns.label) in (None, ""):
            return None
        if self.head == "regression":
            return self._number(row)
        names = self._label_names(row)
        unknown = [name for name in names if name not in self.labels]
        if unknown:
            raise InputError(
                f"{row.where}: unknown label {unknown[0]!r}; the labels are {', '.join(self.labels)}"
                + (" (found in the training file; --labels can name others)" if self.head == "classification" else "")
            )
        if self.head == "multi_label":
            return tuple(int(label in names) for label in self.labels)
        return self.labels.index(names[0])

    def _label_names(self, row: Row) -> list[str]:
        """The names of a row's classes; just one unless the task is multi-label."""
        value = row.values.get(self.columns.label)
        if self.head != "multi_label":
            # JSON has one kind of number: 1.0 is the class that 1 is.
            is_whole = isinstance(value, float) and value.is_integer()
            name = str(int(value)) if is_whole else row.text(self.columns.label).strip()
            if not name:
                raise InputError(f"{row.where}: the label is empty")
            return [name]
        if isinstance(value, list):
            if not all(isinstance(name, str | int) and not isinstance(name, bool) for name in value):
                raise InputError(f"{row.where}: the labels must be a list of texts; received {value!r}")
            return [name for one in value if (name := str(one).strip())]
        return [name.strip() for name in row.text(self.columns.label).split(LABEL_SEPARATOR) if name.strip()]

    def _number(self, row: Row) -> float:
        text = row.text(self.columns.label)
        try:
            # Python reads 1_000 as a thousand, of which a table knows nothing.
            value = float("nan" if "_" in text else text)
        except ValueError:
            value = float("nan")
        if not abs(value) <= _LARGEST:
            rule = "a number" if not abs(value) < float("inf") else f"from -{_LARGEST:g} to {_LARGEST:g}"
            raise InputError(f"{row.where}: with --regression the label must be {rule}; received {text!r}")
        return value

    def _find_labels(self) -> tuple[str, ...]:
        if "train" not in self.split_files.splits():
            raise InputError(
                "there is no training file to find the classes in: give --train_file, a --data_dir with train.csv, "
                ".tsv or .jsonl, or name them by --labels"
            )
        path = self.split_files.find("train")
        self._check_columns(path, "train")
        names, kinds = set(), {}
        for row in read_rows(path):
            names.update(self._label_names(row))
            kinds.setdefault(isinstance(row.values.get(self.columns.label), bool), row.where)
            if len(kinds) > 1:
                raise InputError(
                    f"{kinds[True]}: the label is true or false, and in {kinds[False]} it is not; "
                    "name each class in one way"
                )
        if not names:
            raise InputError(f"{path} holds no examples with labels")
        # Numbers in their order, so that class 10 stands after class 9.
        are_numbers = all(map(_NUMBER.fullmatch, names))
        return tuple(sorted(names, key=lambda name: (float(name) if are_numbers else 0.0, name)))

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("text", "text_pair") if self.columns.text_pair is not None else ("text",)

    def make_example(self, fields: Mapping[str, Any], where: str) -> TextExample:
        return TextExample(where, *text_fields(fields, self.input_fields, where))
