"""RACE: which of four options answers a question about an article.

A file holds one article: {"article", "questions", "options", "answers", "id"}, an answer being a letter. The files lie
in DATA_DIR/SPLIT/LEVEL/, levels "middle" and "high"; or all of a folder in the official code's all.txt, one a line.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks import scores
from albert_tf.tasks.multiple_choice import LETTERS, ChoiceExample, MultipleChoice
from albert_tf.tasks.task import with_all_labels_or_none

LEVELS = ("middle", "high")
# One file in place of many, an article a line, as the official code wants them to be put together.
_ALL_ARTICLES = "all.txt"


@dataclasses.dataclass(frozen=True)
class RaceExample(ChoiceExample):
    """A question about an article; its guid is the article's id and its number, as in "high1234.txt-2".

    Attributes:
        level: middle or high.
    """

    level: str = ""


class RaceTask(MultipleChoice):
    """RACE, both levels or one of them."""

    name, title = "race", "RACE"
    num_options = 4

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
                for example in self._questions_of(values, where, level, split == "test"):
                    if example.guid in seen:
                        raise InputError(f"{where}: the question {example.guid!r} is also in {seen[example.guid]}")
                    seen[example.guid] = where
                    found.append(example)
        if not found:
            raise InputError(f"{os.path.join(self.data_dir, split)}: the articles have no questions")
        return with_all_labels_or_none(found, os.path.join(self.data_dir, split), label=None)

    def _questions_of(self, values: Any, path: str, level: str, is_test: bool) -> list[RaceExample]:
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
            self.check_number(several, where)
            label = None if answer is None else _letter(answer, len(several), where)
            found.append(RaceExample(f"{name}-{number}", article, question, tuple(several), label, level))
        return found

    def scores(self, examples, predictions) -> dict[str, float]:
        """Accuracy over all, and over each level that occurs."""
        measured = super().scores(examples, predictions)
        gold, found = self._gold(examples), [prediction.option for prediction in predictions]
        for level in LEVELS:
            chosen = [number for number, example in enumerate(examples) if example.level == level]
            if chosen:
                measured[f"accuracy_{level}"] = scores.accuracy([gold[i] for i in chosen], [found[i] for i in chosen])
        return measured

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.json: for each question its id, the letter chosen, and the probability of each."""
        path = os.path.join(folder, f"{split}_predictions.json")
        values = {
            example.guid: {
                "answer": LETTERS[prediction.option],
                "probabilities": dict(zip(LETTERS, prediction.probabilities)),
            }
            for example, prediction in zip(examples, predictions)
        }
        files.write_json(path, values)
        return [path]


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


def _field(values: Mapping[str, Any], name: str, path: str) -> Any:
    kind = str if name == "article" else list
    if not isinstance(values.get(name), kind):
        raise InputError(
            f"{path}: {name} must be {'text' if kind is str else 'a list'}; received {values.get(name)!r:.40}"
        )
    return values[name]


def _letter(answer: Any, count: int, where: str) -> int:
    letters = LETTERS[:count]
    if not isinstance(answer, str) or len(answer) != 1 or answer not in letters:
        raise InputError(f"{where}: the answer must be one of {', '.join(letters)}; received {answer!r}")
    return letters.index(answer)


def _by_number(name: str) -> tuple[int, str]:
    """Files are named by numbers; 9.txt stands before 10.txt."""
    stem = os.path.splitext(name)[0]
    return (int(stem), name) if stem.isascii() and stem.isdigit() else (1 << 62, name)
