"""RACE: which of four options answers a question about an article.

A file holds one article: {"article", "questions", "options", "answers", "id"}, an answer being a letter. The files lie
in DATA_DIR/SPLIT/LEVEL/, levels "middle" and "high"; or all of a folder in the official code's all.txt, one a line.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks import reports, scores
from albert_tf.tasks.task import Report, Task, TaskSettings, with_all_labels_or_none
from albert_tf.tasks.text_classification import softmax, text_fields
from albert_tf.tokenization.base import Tokenizer

LEVELS = ("middle", "high")
_LETTERS = "ABCDEFGHIJ"
NUM_OPTIONS = 4
# What stands in a question where an option is to be put in.
_BLANK = "_"
# One file in place of many, an article a line, as the official code wants them to be put together.
_ALL_ARTICLES = "all.txt"


@dataclasses.dataclass(frozen=True)
class RaceExample:
    """A question about an article.

    Attributes:
        guid: the article's id and the number of the question, as in "high1234.txt-2".
        level: middle or high.
        article, question: the texts.
        options: the texts to choose from.
        label: index of the right option; None without labels.
    """

    guid: str
    level: str
    article: str
    question: str
    options: tuple[str, ...]
    label: int | None = None


@dataclasses.dataclass(frozen=True)
class RacePrediction:
    """The option chosen and the probability of each."""

    option: int
    probabilities: tuple[float, ...]


class RaceTask(Task):
    """RACE, both levels or one of them."""

    name = "race"
    head = "multiple_choice"
    metric = "accuracy"
    cut_by = ("max_seq_length", "max_qa_length")

    def __init__(self, data_dir: str, levels: Sequence[str] = LEVELS):
        """Looks at no file yet.

        Args:
            data_dir: the folder with train, dev and test, each with the folders of the levels; or the one above it,
                with all of them in RACE, as the official code has it.
            levels: those to take.
        """
        self.data_dir, self.levels = str(data_dir), tuple(levels)

    def splits(self) -> tuple[str, ...]:
        return tuple(split for split in ("train", "dev", "test") if any(True for _ in self._files(split)))

    def input_files(self, split: str) -> list[str]:
        found = [path for _, path in self._files(split)]
        if not found:
            if not files.exists(self.data_dir):
                raise InputError(f"--data_dir={self.data_dir} does not exist")
            folders = " and ".join(os.path.join(self.data_dir, split, level) for level in self.levels)
            raise InputError(f"{folders}: no RACE articles there (.txt or .json, one a file)")
        return found

    def _files(self, split: str) -> Iterator[tuple[str, str]]:
        """Yields (level, path) of every article."""
        inner = os.path.join(self.data_dir, "RACE")
        for level in self.levels:
            folder = os.path.join(inner if files.exists(inner) else self.data_dir, split, level)
            names = [name for name in files.list_folder(folder) if name.endswith((".txt", ".json"))]
            articles = [name for name in names if name != _ALL_ARTICLES]
            for name in sorted(articles or names, key=_by_number):
                yield level, os.path.join(folder, name)

    def examples(self, split: str) -> list[RaceExample]:
        self.input_files(split)
        found, seen = [], {}
        for level, path in self._files(split):
            for values, where in _read_articles(path):
                for example in _read_article(values, where, level, split == "test"):
                    if example.guid in seen:
                        raise InputError(f"{where}: the question {example.guid!r} is also in {seen[example.guid]}")
                    seen[example.guid] = where
                    found.append(example)
        if not found:
            raise InputError(f"{os.path.join(self.data_dir, split)}: the articles have no questions")
        return with_all_labels_or_none(found, os.path.join(self.data_dir, split), label=None)

    @property
    def input_fields(self) -> tuple[str, ...]:
        return "article", "question", "options"

    def make_example(self, fields: Mapping[str, Any], where: str) -> RaceExample:
        texts = {name: value for name, value in fields.items() if name != "options"}
        article, question = text_fields(texts, ("article", "question"), where)
        options = fields.get("options")
        if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
            raise InputError(f"{where}: the field 'options' must be a list of texts; received {options!r}")
        _check_number(options, where)
        return RaceExample(where, "", article, question, tuple(options))

    def features(self, index: int, example: RaceExample, tokenizer: Tokenizer, settings: TaskSettings):
        """One feature, see `choice_features`."""
        return choice_features(index, example, tokenizer, settings)

    def predictions(self, examples, features, outputs, settings) -> list[RacePrediction]:
        rows = (np.asarray(logits, np.float64) for logits in outputs["logits"])
        return [RacePrediction(int(np.argmax(row)), tuple(softmax(row).tolist())) for row in rows]

    def scores(self, examples, predictions) -> dict[str, float]:
        """Accuracy over all, and over each level that occurs."""
        gold, found = _gold(examples), [prediction.option for prediction in predictions]
        measured = {"accuracy": scores.accuracy(gold, found)}
        for level in LEVELS:
            chosen = [number for number, example in enumerate(examples) if example.level == level]
            if chosen:
                measured[f"accuracy_{level}"] = scores.accuracy([gold[i] for i in chosen], [found[i] for i in chosen])
        return measured

    def scores_test(self, examples) -> bool:
        """Tells whether all examples have labels: the test split is scored too, as by run_race.py."""
        return all(example.label is not None for example in examples)

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.json: for each question its id, the letter chosen, and the probability of each."""
        path = os.path.join(folder, f"{split}_predictions.json")
        values = {
            example.guid: {
                "answer": _LETTERS[prediction.option],
                "probabilities": dict(zip(_LETTERS, prediction.probabilities)),
            }
            for example, prediction in zip(examples, predictions)
        }
        files.write_json(path, values)
        return [path]

    def report(self, examples, predictions) -> Report:
        """Reports which letters are taken for which, and the errors the model was surest of."""
        most = max(len(example.options) for example in examples)
        texts = [join_question(example.question, example.options[example.label]) for example in examples]
        sureness = [max(prediction.probabilities) for prediction in predictions]
        found = [prediction.option for prediction in predictions]
        return reports.confusion_report(_LETTERS[:most], texts, _gold(examples), found, sureness)


def choice_features(index: int, example: RaceExample, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
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


def _read_articles(path: str) -> Iterator[tuple[Any, str]]:
    """Yields the article of a file, or those of _ALL_ARTICLES, one a line; each with where it stands."""
    if os.path.basename(path) != _ALL_ARTICLES:
        yield files.read_json(path), path
        return
    with files.open_binary(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                where = f"{path}, line {number}"
                yield files.parse_json(line, where), where


def _read_article(values: Any, path: str, level: str, is_test: bool) -> list[RaceExample]:
    article, questions, options = (_field(values, name, path) for name in ("article", "questions", "options"))
    answers = _field(values, "answers", path) if "answers" in values or not is_test else [None] * len(questions)
    if not len(questions) == len(options) == len(answers):
        raise InputError(f"{path}: {len(questions)} questions, {len(options)} options, {len(answers)} answers")
    # As the published articles call themselves: two levels have files of the same names.
    name = values.get("id", f"{level}{os.path.basename(path)}")
    found = []
    for number, (question, several, answer) in enumerate(zip(questions, options, answers)):
        where = f"{path}, question {number + 1}"
        texts = [question, *several] if isinstance(several, list) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"{where}: a question must be text, and its options a list of texts")
        _check_number(several, where)
        label = None if answer is None else _letter(answer, len(several), where)
        found.append(RaceExample(f"{name}-{number}", level, article, question, tuple(several), label))
    return found


def _field(values: Mapping[str, Any], name: str, path: str) -> Any:
    kind = str if name == "article" else list
    if not isinstance(values.get(name), kind):
        raise InputError(
            f"{path}: {name} must be {'text' if kind is str else 'a list'}; received {values.get(name)!r:.40}"
        )
    return values[name]


def _check_number(options: Sequence[str], where: str) -> None:
    if len(options) != NUM_OPTIONS:
        raise InputError(f"{where}: {len(options)} options; RACE has {NUM_OPTIONS}")


def _letter(answer: Any, count: int, where: str) -> int:
    letters = _LETTERS[:count]
    if not isinstance(answer, str) or len(answer) != 1 or answer not in letters:
        raise InputError(f"{where}: the answer must be one of {', '.join(letters)}; received {answer!r}")
    return letters.index(answer)


def _gold(examples: Sequence[RaceExample]) -> list[int]:
    if not examples or any(example.label is None for example in examples):
        raise InputError("race: these questions have no answers, so there is nothing to score")
    return [example.label for example in examples]


def _by_number(name: str) -> tuple[int, str]:
    """Files are named by numbers; 9.txt stands before 10.txt."""
    stem = os.path.splitext(name)[0]
    return (int(stem), name) if stem.isascii() and stem.isdigit() else (1 << 62, name)
