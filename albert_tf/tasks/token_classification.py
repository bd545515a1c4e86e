"""A tag for each word: names of persons and places, parts of speech. Files in CoNLL columns, one word a line.

The first piece of a word carries its tag. A sentence that is too long becomes several windows that overlap; a word
is scored, and predicted, in the one window that has the most context around it, so each word counts once.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tasks import conll, entities, reports, scores
from albert_tf.tasks.conll import Sentence
from albert_tf.tasks.split_files import SplitFiles, SplitFilesTask
from albert_tf.tasks.squad_windows import max_context
from albert_tf.tasks.task import Report, TaskSettings
from albert_tf.tokenization.base import Tokenizer

FILE_NAMES = ("{split}.txt", "{split}.conll", "{split}.tsv", "{split}.bio")
_NOT_SCORED = -1
# Note of a feature: at the first piece of each word that counts in this window, the word's number plus one.
WORDS = "word_plus_one"


class TokenClassification(SplitFilesTask):
    """Tags of words, on a user's own files."""

    name = "token_classification"
    head = "token_classification"

    def __init__(
        self,
        split_files: SplitFiles,
        word_column: int = 0,
        tag_column: int = -1,
        labels: Sequence[str] | None = None,
    ):
        """Reads the training file if the tags are not given.

        Args:
            split_files: where the files are.
            word_column: number of the column with the words, from 0.
            tag_column: number of the column with the tags; -1 is the last one.
            labels: the tags; None finds them in the training file: "O" first, the others sorted.

        Raises:
            InputError: no tags to be found.
        """
        self.split_files, self.word_column, self.tag_column = split_files, word_column, tag_column
        self.labels = tuple(labels) if labels else self._find_labels()
        if len(set(self.labels)) < len(self.labels) or len(self.labels) < 2:
            raise InputError(f"at least two tags are needed, each once; received {', '.join(self.labels) or 'none'}")
        self.are_entities = entities.are_entity_tags(self.labels)
        self.metric = "f1" if self.are_entities else "accuracy"

    def options(self) -> dict[str, Any]:
        return {"word_column": self.word_column, "tag_column": self.tag_column}

    def _read(self, split: str) -> list[tuple[Sentence, list[tuple[str, str]] | None]]:
        path = self.split_files.find(split)
        return conll.read_sentences(path, self.word_column, self.tag_column, tags_may_lack=split == "test")

    def examples(self, split: str) -> list[Sentence]:
        index = {tag: number for number, tag in enumerate(self.labels)}
        found = []
        for sentence, tags in self._read(split):
            if tags is not None:
                for where, tag in tags:
                    if tag not in index:
                        raise InputError(f"{where}: unknown tag {tag!r}; the tags are {', '.join(self.labels)}")
                sentence = dataclasses.replace(sentence, tags=tuple(index[tag] for _, tag in tags))
            found.append(sentence)
        return found

    def _find_labels(self) -> tuple[str, ...]:
        if "train" not in self.split_files.splits():
            raise InputError("--labels must name the tags where there is no training file to find them in")
        found = {tag for _, tags in self._read("train") for _, tag in tags}
        return tuple(sorted(found, key=lambda tag: (tag != entities.OUTSIDE, tag)))

    @property
    def input_fields(self) -> tuple[str, ...]:
        return "words?", "text?"

    def make_example(self, fields: Mapping[str, Any], where: str) -> Sentence:
        """Makes an example of a list of words, or of a text, which is cut at white space."""
        unknown = sorted(set(fields) - {"words", "text"})
        if unknown or len(fields) != 1:
            raise InputError(
                f"{where}: give either words, a list, or text; received {', '.join(sorted(fields)) or 'none'}"
            )
        words = fields["text"].split() if isinstance(fields.get("text"), str) else fields.get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{where}: words must be a list of texts, text must be text")
        return Sentence(where, tuple(words))

    def features(self, index: int, example: Sentence, tokenizer: Tokenizer, settings: TaskSettings):
        """One feature, or several, see `word_features`."""
        return word_features(index, example, tokenizer, settings)

    def predictions(self, examples, features, outputs, settings) -> list[tuple[int, ...]]:
        """The likeliest tag of each word."""
        return likeliest_tags(examples, features, outputs["logits"])

    @property
    def metrics(self):
        return ("f1", "precision", "recall", "accuracy") if self.are_entities else ("accuracy",)

    def scores(self, examples, predictions) -> dict[str, float]:
        """Accuracy over the words; of entity tags also precision, recall and F1 of whole entities."""
        gold, found = self._names(_gold(examples)), self._names(predictions)
        flat = [[tag for tags in sentences for tag in tags] for sentences in (gold, found)]
        measured = {"accuracy": scores.accuracy(*flat)}
        if self.are_entities:
            measured |= entities.entity_scores(gold, found)
        return measured

    def _names(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.labels[tag] for tag in tags] for tags in sentences]

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.txt: word, true tag where there is one, predicted tag; as conlleval reads it."""
        path = os.path.join(folder, f"{split}_predictions.txt")
        with files.replace_file(path) as file:
            for example, tags in zip(examples, predictions):
                columns = [
                    # Columns are told apart by spaces.
                    ["_".join(word.split()) for word in example.words],
                    *([] if example.tags is None else self._names([example.tags])),
                    *self._names([tags]),
                ]
                lines = [" ".join(row) + "\n" for row in zip(*columns)]
                file.write(("".join(lines) + "\n").encode())
        return [path]

    def report(self, examples, predictions) -> Report:
        """Scores of each kind of entity, or a confusion matrix of the tags; and the first mistakes."""
        gold = _gold(examples)
        if not self.are_entities:
            flat = [tag for tags in gold for tag in tags], [tag for tags in predictions for tag in tags]
            sentences = [" ".join(example.words) for example in examples]
            texts = [f"{word!r} in {text}" for example, text in zip(examples, sentences) for word in example.words]
            return reports.confusion_report(self.labels, texts, *flat, None)
        return entities.entity_report(
            [example.words for example in examples], self._names(gold), self._names(predictions)
        )


def word_features(index: int, example: Sentence, tokenizer: Tokenizer, settings: TaskSettings) -> list[Feature]:
    """One feature, or several windows over a long sentence."""
    room = settings.max_seq_length - 2
    if room < 1 or settings.doc_stride < 1:
        raise InputError(f"max_seq_length must be at least 3; received {settings.max_seq_length}")
    # A word of which nothing is left after cleaning is an unknown one; a very long one loses its end.
    whole = [tokenizer.encode(word) or [tokenizer.unk_id] for word in example.words]
    pieces = [ids[:room] for ids in whole]
    cut = sum(map(len, whole)) - sum(map(len, pieces))
    starts = np.cumsum([0, *map(len, pieces)])
    windows = _cut_at_words(starts, room, settings.doc_stride)
    spans = [(int(starts[first]), int(starts[end] - starts[first])) for first, end in windows]
    is_best = max_context(spans, int(starts[-1]))
    features = []
    for (first, end), best in zip(windows, is_best):
        ids, words = [tokenizer.cls_id], [0]
        for word in range(first, end):
            counts = best[starts[word] - starts[first]]
            ids += pieces[word]
            words += [word + 1 if counts else 0, *[0] * (len(pieces[word]) - 1)]
        ids, words = [*ids, tokenizer.sep_id], [*words, 0]
        label = None
        if example.tags is not None:
            label = [example.tags[word - 1] if word else _NOT_SCORED for word in words]
        features.append(Feature(index, ids, [0] * len(ids), label, notes={WORDS: words}, pieces_cut=cut))
    return features


def likeliest_tags(
    examples: Sequence[Sentence], features: Sequence[Feature], logits: Sequence[np.ndarray]
) -> list[tuple[int, ...]]:
    """The index of the likeliest tag of each word.

    Args:
        examples: the sentences.
        features: of all of them, in order.
        logits: for each feature float [at least as long as it, classes].
    """
    found = [[0] * len(example.words) for example in examples]
    for number, row in enumerate(logits):
        feature = features[number]
        words = np.asarray(feature.notes[WORDS])
        places = np.flatnonzero(words)
        for word, tag in zip(words[places], np.argmax(np.asarray(row)[places], axis=-1)):
            found[feature.example][word - 1] = int(tag)
    return [tuple(tags) for tags in found]


def _cut_at_words(starts: np.ndarray, room: int, stride: int) -> list[tuple[int, int]]:
    """(first word, word after the last) of the windows; each holds whole words, at least one, if there are any.

    Args:
        starts: [words + 1], at which piece each word starts, and how many there are.
        room: the most pieces of a window; no word has more.
        stride: pieces from the start of a window to that of the next, if it reaches that far.
    """
    windows, first, count = [], 0, len(starts) - 1
    while True:
        end = int(np.searchsorted(starts, starts[first] + room, side="right")) - 1
        windows.append((first, end))
        if end >= count:
            return windows
        following = int(np.searchsorted(starts, starts[first] + stride, side="left"))
        first = min(max(following, first + 1), end)


def _gold(examples: Sequence[Sentence]) -> list[tuple[int, ...]]:
    if not examples or any(example.tags is None for example in examples):
        raise InputError("token_classification: these sentences have no tags, so there is nothing to score")
    return [example.tags for example in examples]
