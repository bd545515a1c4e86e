"""Named entities of a text: where each stands, in characters, and of which kind it is."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.inputs.finetuning_features import NOTE_PREFIX, FeatureSet
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.tasks.entities import OUTSIDE, Span, are_entity_tags, span_report, span_scores
from albert_tf.tasks.entity_files import ENTITY_KEYS, Entity, MarkedText, read_marked_texts
from albert_tf.tasks.entity_pieces import FoundEntity, describe_fates, entity_features, found_entities, tag_names
from albert_tf.tasks.split_files import SplitFiles, SplitFilesTask
from albert_tf.tasks.task import Report, TaskSettings, with_all_labels_or_none
from albert_tf.tasks.text_classification import text_fields
from albert_tf.tokenization.base import Tokenizer

ENTITIES = "entities"
FILE_NAMES = ("{split}.jsonl", "{split}.json")


class EntityRecognition(SplitFilesTask):
    """Entities with a place in characters, on a user's own files."""

    name = ENTITIES
    head = "token_classification"
    metric = "f1"
    # Windows hold the whole of every text.
    cut_by = ()
    # The name of the list in files, the likelier ones first; the first one is that of predictions.
    list_keys = ENTITY_KEYS
    # Whether a part of a text may have several labels.
    may_overlap = False

    def __init__(
        self,
        split_files: SplitFiles,
        text_key: str = "text",
        entity_key: str | None = None,
        labels: Sequence[str] | None = None,
    ):
        """Reads the training file if the kinds are not given.

        Args:
            split_files: where the files are.
            text_key, entity_key: names in the objects; None for the latter: one of list_keys.
            labels: the kinds of entities, or the tags that a checkpoint has for them; None finds the kinds in the
                training file, sorted.

        Raises:
            InputError: no kinds to be found.
        """
        self.split_files, self.text_key, self.entity_key = split_files, text_key, entity_key
        kinds = self._kinds_of(labels) if labels else self._find_kinds()
        if len(set(kinds)) < len(kinds):
            raise FlagError(f"--labels names a kind of entity twice: {', '.join(kinds)}")
        self.labels = self._labels_of(kinds)

    def _labels_of(self, kinds: Sequence[str]) -> tuple[str, ...]:
        """The names of the model's classes for these kinds."""
        return tag_names(kinds)

    def _kinds_of(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The kinds that these classes stand for, or that they are."""
        return _kinds_of_tags(labels)

    def options(self) -> dict[str, Any]:
        return {"text_key": self.text_key, "entity_key": self.entity_key}

    def _read(self, split: str, kinds: Sequence[str] | None = None) -> list[MarkedText]:
        path = self.split_files.find(split)
        keys = self.list_keys if self.entity_key is None else (self.entity_key,)
        return read_marked_texts(path, self.text_key, keys, split != "test", kinds, self.may_overlap)

    def _find_kinds(self) -> tuple[str, ...]:
        if "train" not in self.split_files.splits():
            raise InputError("--labels must name the kinds of entities where there is no training file to find them in")
        kinds = {entity.label for text in self._read("train") for entity in text.entities or ()}
        if not kinds:
            raise InputError(f"{self.split_files.find('train')} holds no entities")
        return tuple(sorted(kinds))

    def examples(self, split: str) -> list[MarkedText]:
        found = self._read(split, self._kinds_of(self.labels))
        return with_all_labels_or_none(found, self.split_files.find(split), entities=None)

    @property
    def input_fields(self) -> tuple[str, ...]:
        return ("text",)

    def make_example(self, fields: Mapping[str, Any], where: str) -> MarkedText:
        (text,) = text_fields(fields, self.input_fields, where)
        return MarkedText(where, text or "")

    def features(self, index: int, example: MarkedText, tokenizer: Tokenizer, settings: TaskSettings):
        """One feature for each window over the text, see entity_pieces."""
        return entity_features(index, example, tokenizer, settings, self.labels)

    def describe_features(self, features: FeatureSet) -> str:
        """A sentence on how many entities can be found exactly, and why others cannot."""
        return describe_fates(
            {name.removeprefix(NOTE_PREFIX): column.values for name, column in features.columns.items()},
            self.list_keys[0],
        )

    def predictions(self, examples, features, outputs, settings) -> list[tuple[FoundEntity, ...]]:
        """The entities of each text, in order."""
        return found_entities(len(examples), features, outputs["logits"], self.labels)

    @property
    def metrics(self):
        return ("f1", "precision", "recall")

    def scores(self, examples, predictions) -> dict[str, float]:
        """Precision, recall and F1 of entities whose kind and both ends are right."""
        return span_scores(self._gold(examples), _spans(predictions))

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_predictions.jsonl: id, text, the entities found with their scores, and the true ones if known.

        Its lines can be read as training files are.
        """
        path = os.path.join(folder, f"{split}_predictions.jsonl")
        with files.replace_file(path) as file:
            for example, found in zip(examples, predictions, strict=True):
                line: dict[str, Any] = {"id": example.guid, "text": example.text}
                line[self.list_keys[0]] = [_as_json(example.text, one.entity) | {"score": one.score} for one in found]
                if example.entities is not None:
                    line[f"true_{self.list_keys[0]}"] = [_as_json(example.text, entity) for entity in example.entities]
                file.write(to_json_bytes(line) + b"\n")
        return [path]

    def report(self, examples, predictions) -> Report:
        """The scores of each kind of entity, and those that were missed or made up."""

        def text_of(number: int, span: Span) -> str:
            return examples[number].text[span[1] : span[2]]

        return span_report([one.text for one in examples], text_of, self._gold(examples), _spans(predictions))

    def _gold(self, examples: Sequence[MarkedText]) -> list[set[Entity]]:
        if not examples or any(example.entities is None for example in examples):
            noun = self.list_keys[0]
            raise InputError(f"{self.name}: these texts have no {noun} marked, so there is nothing to score")
        return [set(example.entities or ()) for example in examples]


def _kinds_of_tags(labels: Sequence[str]) -> tuple[str, ...]:
    """The kinds of entities that a checkpoint's tags stand for; other labels are kinds themselves."""
    if labels[0] != OUTSIDE or not are_entity_tags(labels):
        return tuple(labels)
    kinds = tuple(dict.fromkeys(label.partition("-")[2] for label in labels[1:]))
    if tag_names(kinds) != tuple(labels):
        raise InputError(f"the tags of entities must be O, then B- and I- of each kind; received {', '.join(labels)}")
    return kinds


def _as_json(text: str, entity: Entity) -> dict[str, Any]:
    return {"start": entity.start, "end": entity.end, "label": entity.label, "text": text[entity.start : entity.end]}


def _spans(predictions: Sequence[Sequence[FoundEntity]]) -> list[set[Entity]]:
    return [{one.entity for one in found} for found in predictions]
