"""Answers of a fine-tuned model that was exported as ONNX or LiteRT, without TensorFlow.

Texts become input, and outputs become answers, by the code of the tasks, as in the evaluation of fine-tuning.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from albert_tf.checkpoints.task_fields import (
    WORDS,
    answer_kind,
    fields_of,
    label_names,
    label_thresholds,
    may_have_no_answer,
)
from albert_tf.heads.exit_names import LAYERS
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES, Feature
from albert_tf.runtime.errors import InputError
from albert_tf.serving.like_lengths import run_rows, to_row
from albert_tf.serving.portable_model import PortableModel
from albert_tf.tasks.conll import Sentence
from albert_tf.tasks.entity_files import MarkedText
from albert_tf.tasks.entity_pieces import FoundEntity, entity_features, found_entities
from albert_tf.tasks.entity_recognition import ENTITIES
from albert_tf.tasks.multiple_choice import ChoiceExample, choice_features
from albert_tf.tasks.span_pieces import found_spans, span_features
from albert_tf.tasks.squad_answers import best_answers
from albert_tf.tasks.squad_examples import SquadExample
from albert_tf.tasks.squad_windows import squad_features
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import TextExample, sigmoid, softmax, text_features
from albert_tf.tasks.text_windows import CUT, pool_logits, window_features
from albert_tf.tasks.token_classification import likeliest_tags, word_features

_OF_ENCODER = ("encoder", "embedding")
_FEATURES: dict[str, Callable[..., list[Feature]]] = {
    **dict.fromkeys(("classification", "multi_label", "regression"), text_features),
    **dict.fromkeys(("span", "span_beam"), squad_features),
    "multiple_choice": choice_features,
    "token_classification": word_features,
    ENTITIES: entity_features,
    SPAN_CATEGORIES: span_features,
}

# Kinds of models that find parts of a text, and how its logits say which.
_FOUND = {ENTITIES: found_entities, SPAN_CATEGORIES: found_spans}


class PortableAnswers:
    """A fine-tuned model, asked with the fields of examples.

    Args:
        source: a folder of export_model, or one that is opened already.
        num_threads: as PortableModel has it, for a folder.

    Attributes:
        task: what the model was fine-tuned for.
        fields: names of the fields of an example; one with a question mark may be left out.

    Raises:
        InputError: no whole export there, or one that does not predict.
    """

    def __init__(self, source: str | PortableModel, num_threads: int | None = None) -> None:
        self._model = model = source if isinstance(source, PortableModel) else PortableModel(source, num_threads)
        where = f"{model.path} is an export as {model.format}"
        if model.task is None:
            raise InputError(
                f"{where} of a model that was only pre-trained; fill_mask asks it, run_finetuning makes one of it that "
                "predicts"
            )
        if model.head in _OF_ENCODER:
            raise InputError(f"{where} of the encoder alone, which predicts nothing; export the model without --head")
        self.task = model.task
        self.fields, self._kind = fields_of(self.task), answer_kind(self.task)
        self._tokenizer = model.tokenizer()
        length = {"max_seq_length": model.about["max_seq_length"]}
        self._settings = TaskSettings(**{**self.task.settings, **length})

    def answer(self, examples: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answers about examples whose fields are checked; those with options have as many of them.

        Returns:
            for each the outputs of its signature by their names, see docs/serving.md: texts, and arrays of numbers.

        Raises:
            InputError: an example that is longer than the model takes, or the model failed.
        """
        head, pad_id = self._kind, self._tokenizer.pad_id
        made = [self._example(example) for example in examples]
        long_texts = self.task.options.get("long_texts", CUT)
        make = _FEATURES[head] if long_texts == CUT else window_features
        features = [
            feature
            for index, example in enumerate(made)
            for feature in make(index, example, self._tokenizer, self._settings)
        ]
        names = [form["name"] for form in self._model.about["outputs"]]
        outputs: dict[str, list[Any]] = {name: [None] * len(features) for name in names}
        for number, row in run_rows(self._model, [to_row(feature, pad_id) for feature in features], pad_id):
            for name in names:
                outputs[name][number] = row[name]
        if head == "token_classification":
            tags = likeliest_tags(made, features, outputs["logits"])
            names = label_names(self.task)
            return [{"tags": [names[tag] for tag in row]} for row in tags]
        if head in _FOUND:
            found = _FOUND[head](len(made), features, outputs["logits"], label_names(self.task))
            return [_entity_columns(one.text, row) for one, row in zip(made, found, strict=True)]
        if head in ("span", "span_beam"):
            return self._spans(made, features, outputs)
        logits, layers = outputs["logits"], outputs.get(LAYERS)
        if long_texts != CUT:
            logits = pool_logits(features, logits, len(made), long_texts).astype(np.float32)
            layers = None if layers is None else _most_of_windows(features, layers, len(made))
        answers = [self._of_logits(row) for row in logits]
        if layers is None:
            return answers
        return [{**answer, LAYERS: count} for answer, count in zip(answers, layers, strict=True)]

    def _example(self, values: dict[str, Any]) -> Any:
        """An example of the task's own class."""
        head, given = self._kind, [values[field.rstrip("?")] for field in self.fields]
        if head == "token_classification":
            return Sentence("", tuple(values[WORDS]))
        if head in _FOUND:
            return MarkedText("", *given)
        if head == "multiple_choice":
            article, question, options = given
            return ChoiceExample("", article, question, tuple(options))
        if head in ("span", "span_beam"):
            return SquadExample("", *given)
        first, *rest = given
        is_single = not rest or (self.fields[1].endswith("?") and not rest[0])
        return TextExample("", first, None if is_single else rest[0])

    def _of_logits(self, logits: np.ndarray) -> dict[str, Any]:
        """The answer of a head with one row of logits."""
        names = label_names(self.task)
        if self.task.head == "regression":
            return {"score": logits[0]}
        if self.task.head == "multi_label":
            thresholds = label_thresholds(self.task)
            more = {} if thresholds is None else {"thresholds": np.asarray(thresholds, np.float32)}
            return {"labels": names, "probabilities": sigmoid(logits), **more}
        probabilities, best = softmax(logits), int(np.argmax(logits))
        if self.task.head == "multiple_choice":
            return {"choice": best, "probabilities": probabilities}
        return {"label": names[best], "labels": names, "probabilities": probabilities}

    def _spans(
        self, examples: Sequence[SquadExample], features: Sequence[Feature], outputs: Any
    ) -> list[dict[str, Any]]:
        """The best answer to each question, or none where that is likelier."""
        is_beam = self.task.head == "span_beam"
        may_be_impossible = may_have_no_answer(self.task)
        threshold = float(self.task.options.get("null_score_diff_threshold") or 0.0)
        found = []
        predictions = best_answers(examples, features, outputs, self._settings, is_beam, may_be_impossible)
        for example, prediction in zip(examples, predictions, strict=True):
            best, odds = prediction.best, {}
            start, end = best.start, best.end
            if prediction.null_odds is not None:
                odds = {"null_odds": np.float32(prediction.null_odds)}
                start, end = (0, 0) if prediction.null_odds > threshold else (start, end)
            answer = {"answer": example.context[start:end], "start": start, "end": end, "score": np.float32(best.score)}
            found.append({**answer, **odds})
        return found


def _most_of_windows(features: Sequence[Feature], layers: Sequence[Any], num_texts: int) -> np.ndarray:
    """The layers of a text: those of the last of its windows to leave, int32 [texts]."""
    most = np.zeros(num_texts, np.int32)
    np.maximum.at(most, [feature.example for feature in features], np.asarray(layers, np.int32))
    return most


def _entity_columns(text: str, found: Sequence[FoundEntity]) -> dict[str, Any]:
    """The entities of a text as the outputs of their signature."""
    starts, ends = (np.array([one.entity[place] for one in found], np.int32) for place in (1, 2))
    return {
        "entities": [text[start:end] for start, end in zip(starts, ends, strict=True)],
        "labels": [one.entity.label for one in found],
        "starts": starts,
        "ends": ends,
        "scores": np.array([one.score for one in found], np.float32),
    }
