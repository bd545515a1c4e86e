"""A fine-tuning task: files to examples, examples to features, the model's outputs to predictions and scores.

A task says which head goes on top of the encoder but knows nothing of the model: its outputs come as arrays.
"""

import abc
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from absl import logging

from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH, Feature, FeatureSet
from albert_tf.runtime.settings import Bounds, check, described
from albert_tf.tokenization.base import Tokenizer

# Of less nothing is left: no question that is read, no answer that is found.
_ONE_OR_MORE = Bounds(1)


class Unsaid(int):
    """A size that nobody gave: a number as any, but that of a checkpoint goes before."""


@described
@dataclasses.dataclass(frozen=True)
class TaskSettings:
    """The lengths and sizes of a task; the defaults are those of the official run_*.py."""

    max_seq_length: Annotated[
        int, _ONE_OR_MORE, "The most pieces of an example, or a window over a text, [CLS] and [SEP] too."
    ] = Unsaid(512)
    max_query_length: Annotated[
        int, _ONE_OR_MORE, "SQuAD: the most pieces of a question; the rest of it is cut off."
    ] = Unsaid(64)
    doc_stride: Annotated[int, _ONE_OR_MORE, "Pieces between the starts of two windows over a long text."] = Unsaid(128)
    max_qa_length: Annotated[
        int, _ONE_OR_MORE, "RACE: the most pieces of question and option; the last ones are kept."
    ] = Unsaid(128)
    n_best_size: Annotated[int, _ONE_OR_MORE, "SQuAD: answers listed for each question."] = Unsaid(20)
    max_answer_length: Annotated[int, _ONE_OR_MORE, "SQuAD: the most pieces of an answer."] = Unsaid(30)
    max_span_length: Annotated[
        int, _ONE_OR_MORE, "span_categories: the most pieces of a span; longer ones are not found."
    ] = Unsaid(MAX_SPAN_LENGTH)

    def __post_init__(self) -> None:
        check(self)

    def completed_by(self, known: Mapping[str, int]) -> "TaskSettings":
        """These settings, and those of a checkpoint where none was given.

        Args:
            known: by name; those that are not among them stay.
        """
        unsaid = [name for name in known if isinstance(getattr(self, name), Unsaid)]
        return dataclasses.replace(self, **{name: known[name] for name in unsaid})

    def of_features(self) -> dict[str, int]:
        """The settings that decide what the features are, for the manifest of a cache."""
        names = ("max_seq_length", "max_query_length", "doc_stride", "max_qa_length", "max_span_length")
        return {name: getattr(self, name) for name in names}


@dataclasses.dataclass(frozen=True)
class Report:
    """A report for a person to look at after an evaluation: a confusion matrix, a list of errors.

    Attributes:
        text: some lines for the screen.
        values: the same for a JSON file.
        tables: rows of what is better looked at as a table, by its name; each for a TSV file.
    """

    text: str
    values: Mapping[str, Any]
    tables: Mapping[str, Sequence[Sequence[Any]]] = dataclasses.field(default_factory=dict)


class Task(abc.ABC):
    """One task with its options: where its files are, what its classes are called.

    Attributes:
        name: as --task_name has it.
        head: one of albert_tf.inputs.finetuning_features.HEADS.
        labels: the names of the classes by index; () where there are none.
        metric: the score by which checkpoints are compared; higher is better.
        threshold_score: the score that is a threshold chosen on a dev split, to be used on other splits; None where
            there is none to choose. threshold_in finds it, or those of several labels, among a split's scores.
        threshold_title: what the threshold decides, for a person.
        usual_threshold: what it is where none was found.
        cut_by: the fields of TaskSettings that texts are cut to.
        unit: what the examples of one `group` are together, where its parts alone are no fair measure: "question".
            A cap on examples and folds keep it whole. "" where every example stands alone.
    """

    name: str
    head: str
    labels: tuple[str, ...] = ()
    metric: str
    threshold_score: str | None = None
    threshold_title: str = ""
    usual_threshold: Any = 0.0
    cut_by: tuple[str, ...] = ("max_seq_length",)
    unit: str = ""

    @abc.abstractmethod
    def splits(self) -> tuple[str, ...]:
        """The splits whose files are there: "train", "dev", "test", or several of a kind, as "dev_matched"."""

    @abc.abstractmethod
    def input_files(self, split: str) -> list[str]:
        """The files of a split. Raises InputError if they are not there."""

    @abc.abstractmethod
    def examples(self, split: str) -> list[Any]:
        """The examples of a split, in the files' order; of a class of the task's own, picklable.

        Raises:
            InputError: a file is missing, or is not what it should be; the message names the file and the line.
        """

    @abc.abstractmethod
    def make_example(self, fields: Mapping[str, Any], where: str) -> Any:
        """An example without a label, from what a user typed or sent.

        Args:
            fields: by name, as `input_fields` lists them.
            where: where they come from, for errors.

        Raises:
            InputError: a field is missing, or is not what it should be.
        """

    def options(self) -> dict[str, Any]:
        """Options, beside head and labels, that decide what the features are; for a cache's key, as JSON has it."""
        return {}

    @property
    @abc.abstractmethod
    def input_fields(self) -> tuple[str, ...]:
        """The names of the fields that `make_example` takes; "text_pair?" with a question mark may be left out."""

    @abc.abstractmethod
    def features(self, index: int, example: Any, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
        """The rows of the model's input that an example gives; worker processes call it.

        Args:
            index: the example's, for Feature.example.
            example: one of `examples`.
            tokenizer: the vocabulary.
            settings: lengths.
        """

    def describe_features(self, features: FeatureSet) -> str:
        """A sentence for the log about what a split's examples became; "" where there is nothing to say."""
        return ""

    @abc.abstractmethod
    def predictions(
        self,
        examples: Sequence[Any],
        features: Sequence[Feature],
        outputs: Mapping[str, Sequence[np.ndarray]],
        settings: TaskSettings,
    ) -> list[Any]:
        """Turns the model's outputs into a prediction for each example.

        Args:
            examples: of a split.
            features: of all of them, in order.
            outputs: by name, one row for each feature. "logits" [classes] for classification, multi_label, regression
                (1) and multiple_choice (options); [at least as long as the feature, classes] for
                token_classification, and with [W, classes] after it for span_categories; "start_logits" and
                "end_logits" [at least as long] for span; for span_beam
                "start_top_log_probs" [K], "start_top_index" [K], "end_top_log_probs" [K, K], "end_top_index" [K, K]
                and "answerability_logits" [].
            settings: lengths.

        Returns:
            One prediction for each example, of a class of the task's own.
        """

    @abc.abstractmethod
    def scores(self, examples: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        """The official measures of the predictions, `metric` among them; fractions of 1, not per cent.

        Raises:
            InputError: the examples have no labels.
        """

    def scores_test(self, examples: Sequence[Any]) -> bool:
        """Tells whether the scores of these examples of a test split are wanted: its labels are published."""
        return False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The scores by which checkpoints may be compared: higher is better; `metric` among them."""
        return (self.metric,)

    def with_metric(self, metric: str) -> "Task":
        """The task that compares checkpoints by one of `metrics`."""
        task = copy.copy(self)
        task.metric = metric
        return task

    def threshold_in(self, scores: Mapping[str, float]) -> Any:
        """The threshold that a split's scores hold; None where they hold none, or the task has none to choose."""
        return scores.get(self.threshold_score) if self.threshold_score is not None else None

    def with_threshold(self, threshold: Any) -> "Task":
        """The task with a threshold that was chosen elsewhere; only of one with a `threshold_score`."""
        raise NotImplementedError(f"{self.name} has a threshold_score, but no with_threshold")

    @abc.abstractmethod
    def write_predictions(
        self, folder: str, split: str, examples: Sequence[Any], predictions: Sequence[Any]
    ) -> list[str]:
        """Writes the predictions in the task's official format; returns the paths."""

    @abc.abstractmethod
    def report(self, examples: Sequence[Any], predictions: Sequence[Any]) -> Report:
        """Makes the report for a person: which classes are mistaken for which, the worst errors."""


def with_all_labels_or_none(examples: list[Any], where: str, **no_label: Any) -> list[Any]:
    """The examples; without any labels if some have none, since a split is scored as a whole or not at all.

    Args:
        examples: dataclasses.
        where: the file, for the warning.
        **no_label: the fields of an example without a label; the first one tells whether there is one.
    """
    field, absent = next(iter(no_label.items()))
    missing = sum(getattr(example, field) is absent for example in examples)
    if not 0 < missing < len(examples):
        return examples
    logging.warning("%s: %d of %d examples have no label; the others' are left aside", where, missing, len(examples))
    return [dataclasses.replace(example, **no_label) for example in examples]
