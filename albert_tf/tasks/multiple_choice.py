"""A question about a text with several options: features, predictions, scores and reports of every task of that kind.

The option stands in the blank of the question, or after it; the model scores each option by itself.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime.errors import InputError
from albert_tf.tasks import reports, scores
from albert_tf.tasks.task import Report, Task, TaskSettings
from albert_tf.tasks.text_classification import softmax, text_fields
from albert_tf.tokenization.base import Tokenizer

LETTERS = "ABCDEFGHIJ"
# What stands in a question where an option is to be put in.
_BLANK = "_"


@dataclasses.dataclass(frozen=True)
class ChoiceExample:
    """A question about a text.

    Attributes:
        guid: its name, unlike that of every other question.
        article, question: the texts.
        options: the texts to choose from.
        label: index of the right option; None without labels.
    """

    guid: str
    article: str
    question: str
    options: tuple[str, ...]
    label: int | None = None


@dataclasses.dataclass(frozen=True)
class ChoicePrediction:
    """The option chosen and the probability of each."""

    option: int
    probabilities: tuple[float, ...]


class MultipleChoice(Task):
    """Features, predictions, scores and reports; a subclass reads the files and writes predictions.

    Attributes:
        title: the task's name for a person.
        num_options: how many options each question has.
    """

    title: str
    num_options: int
    head = "multiple_choice"
    metric = "accuracy"
    cut_by = ("max_seq_length", "max_qa_length")

    @property
    def input_fields(self) -> tuple[str, ...]:
        return "article", "question", "options"

    def make_example(self, fields: Mapping[str, Any], where: str) -> ChoiceExample:
        texts = {name: value for name, value in fields.items() if name != "options"}
        article, question = text_fields(texts, ("article", "question"), where)
        options = fields.get("options")
        if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
            raise InputError(f"{where}: the field 'options' must be a list of texts; received {options!r}")
        self.check_number(options, where)
        return ChoiceExample(where, article or "", question or "", tuple(options))

    def check_number(self, options: Sequence[str], where: str) -> None:
        """Raises InputError if there are more options, or fewer, than the task has."""
        if len(options) != self.num_options:
            raise InputError(f"{where}: {len(options)} options; {self.title} has {self.num_options}")

    def features(self, index: int, example: Any, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
        """One feature, see `choice_features`."""
        return choice_features(index, example, tokenizer, settings)

    def predictions(self, examples, features, outputs, settings) -> list[ChoicePrediction]:
        rows = (np.asarray(logits, np.float64) for logits in outputs["logits"])
        return [ChoicePrediction(int(np.argmax(row)), tuple(softmax(row).tolist())) for row in rows]

    def scores(self, examples, predictions) -> dict[str, float]:
        """Accuracy over all questions."""
        return {"accuracy": scores.accuracy(self._gold(examples), [prediction.option for prediction in predictions])}

    def scores_test(self, examples) -> bool:
        """Tells whether all examples have labels: the test split is scored too, as by run_race.py."""
        return all(example.label is not None for example in examples)

    def report(self, examples, predictions) -> Report:
        """Reports which options are taken for which, and the errors the model was surest of."""
        most = max(len(example.options) for example in examples)
        gold = self._gold(examples)
        texts = [join_question(example.question, example.options[label]) for example, label in zip(examples, gold)]
        sureness = [max(prediction.probabilities) for prediction in predictions]
        found = [prediction.option for prediction in predictions]
        return reports.confusion_report(LETTERS[:most], texts, gold, found, sureness)

    def _gold(self, examples: Sequence[ChoiceExample]) -> list[int]:
        labels = [example.label for example in examples if example.label is not None]
        if not examples or len(labels) < len(examples):
            raise InputError(f"{self.name}: these questions have no answers, so there is nothing to score")
        return labels


def choice_features(index: int, example: ChoiceExample, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
    """One feature; of each option [CLS] article [SEP] question and option [SEP].

    Of question and option the last max_qa_length pieces are kept, and of the article what then fits, from its
    start.
    """
    article = tokenizer.encode(example.article)
    input_ids, segment_ids, cut = [], [], 0
    for option in example.options:
        whole = tokenizer.encode(join_question(example.question, option))
        asked = whole[-settings.max_qa_length :] if settings.max_qa_length > 0 else []
        room = settings.max_seq_length - len(asked) - 3
        if room < 0:
            raise InputError(
                f"max_seq_length={settings.max_seq_length} has no room for a question and option of {len(asked)} "
                "pieces; it must be at least max_qa_length + 3"
            )
        context = article[:room]
        cut += len(whole) - len(asked) + len(article) - len(context)
        input_ids.append([tokenizer.cls_id, *context, tokenizer.sep_id, *asked, tokenizer.sep_id])
        segment_ids.append([0] * (len(context) + 2) + [1] * (len(asked) + 1))
    return [Feature(index, tuple(input_ids), tuple(segment_ids), example.label, pieces_cut=cut)]


def join_question(question: str, option: str) -> str:
    """The option in the blank of the question; after the question, if it has no blank (run_race's rule)."""
    return question.replace(_BLANK, option) if _BLANK in question else f"{question} {option}"
