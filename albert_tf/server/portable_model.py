"""Exports as ONNX or LiteRT for the server, from ids and from texts; no TensorFlow is loaded.

Shapes: B batch, S pieces, P masks of the text that has most, K pieces asked for, C classes, N options, W words.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.checkpoints.task_fields import (
    LIST_FIELDS,
    OPTIONS,
    WORDS,
    answer_kind,
    label_thresholds,
    may_have_no_answer,
)
from albert_tf.heads.exit_names import LAYERS
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES, Feature
from albert_tf.portable.interface import (
    EMBEDDING,
    ENCODER,
    IDS,
    POOLED_OUTPUT,
    PRETRAINING,
    SEQUENCE_OUTPUT,
    TensorForm,
)
from albert_tf.runtime.errors import InputError
from albert_tf.server.joining import (
    EMBED_FROM_TEXT,
    FILL_MASK,
    FIND_ENTITIES,
    SOP_FROM_TEXT,
    TAG,
    TAG_TEXT,
    TOKENS_FROM_TEXT,
)
from albert_tf.server.request_error import BAD_REQUEST, FAULT, RequestError
from albert_tf.server.served_model import BATCH, SERVING_DEFAULT, STRING, ServedModel, Signature
from albert_tf.serving.like_lengths import run_rows, to_row
from albert_tf.serving.outputs import ModelFailedError
from albert_tf.serving.portable_answers import PortableAnswers
from albert_tf.serving.portable_masks import PortableMasks
from albert_tf.serving.portable_model import PortableModel
from albert_tf.serving.portable_vectors import PortableVectors
from albert_tf.tasks.entity_recognition import ENTITIES
from albert_tf.tokenization.packing import pack_pair

Arrays = Mapping[str, np.ndarray]
_Function = Callable[[Arrays], dict[str, np.ndarray]]
_TEXT, _FIRST, _SECOND, _TOP_K = "text", "first", "second", "top_k"
_FOUND = {
    **dict.fromkeys((ENTITIES, "labels"), (STRING, (ENTITIES,))),
    **{name: (dtype, (ENTITIES,)) for name, dtype in (("starts", "int32"), ("ends", "int32"), ("scores", "float32"))},
}
# {head: (signature, {output: (dtype, free axes after the batch)})}; of "span" with no answer also null_odds.
# Of labels with thresholds of their own also those.
_CLASSES = {"probabilities": ("float32", ("classes",)), "labels": (STRING, ("classes",))}
_SPAN = {"answer": (STRING, ()), "start": ("int32", ()), "end": ("int32", ()), "score": ("float32", ())}
_BY_HEAD: dict[str, tuple[str, dict[str, tuple[str, tuple[str, ...]]]]] = {
    "classification": ("classify", {"label": (STRING, ()), **_CLASSES}),
    "multi_label": ("classify", _CLASSES),
    "regression": ("score", {"score": ("float32", ())}),
    "multiple_choice": ("choose", {"choice": ("int32", ()), "probabilities": ("float32", (OPTIONS,))}),
    "token_classification": (TAG, {"tags": (STRING, (WORDS,))}),
    **dict.fromkeys((ENTITIES, SPAN_CATEGORIES), (FIND_ENTITIES, _FOUND)),
    "span": ("answer", _SPAN),
    "span_beam": ("answer", _SPAN),
}


class PortableServedModel(ServedModel):
    """A folder that export_model wrote.

    Its own inputs are those of `serving_default`; the signatures from texts are named as those of a SavedModel are.

    Args:
        path: the folder.

    Raises:
        InputError: no whole export there, or the package that runs it is not installed.
    """

    def __init__(self, path: str):
        self.path = path
        self._model = model = PortableModel(path)
        self.vocab_size = model.config.vocab_size
        self.runs_alone = model.rows_share_a_range
        inputs, outputs = (_described(model.about[key]) for key in ("inputs", "outputs"))
        self.signatures = {SERVING_DEFAULT: Signature(inputs, outputs)}
        self._functions: dict[str, _Function] = {SERVING_DEFAULT: model.run}
        if model.head == PRETRAINING:
            self._add_masks(PortableMasks(model))
        elif model.head == EMBEDDING:
            self._add_vectors(PortableVectors(model))
        elif model.head == ENCODER:
            with contextlib.suppress(InputError):
                # Not of one whose dense layer after pooling is no part of it.
                self._add_vectors(PortableVectors(model))
            self._add_encoder(outputs)
        else:
            self._add_answers(PortableAnswers(model))

    def run(self, signature: str, inputs: Arrays) -> dict[str, np.ndarray]:
        try:
            return self._functions[signature](inputs)
        except InputError as error:
            status = FAULT if isinstance(error, ModelFailedError) else BAD_REQUEST
            raise RequestError(str(error).removeprefix(f"{self.path}: "), status) from None

    def _add(self, name: str, inputs: Sequence[TensorForm], outputs: Sequence[TensorForm], function: _Function) -> None:
        self.signatures[name] = Signature({form.name: form for form in inputs}, {form.name: form for form in outputs})
        self._functions[name] = function

    def _add_masks(self, masks: PortableMasks) -> None:
        """The signatures of a pre-trained model with its heads."""

        def fill(inputs: Arrays) -> dict[str, np.ndarray]:
            top_k = int(inputs[_TOP_K])
            if top_k < 1:
                raise RequestError("top_k must be at least 1.")
            found = masks.fill(_decode(inputs[_TEXT]), top_k)
            return {
                "mask_count": np.array([one.mask_count for one in found], np.int32),
                "pieces": _stack([one.pieces for one in found], 2, STRING),
                "probabilities": _stack([one.probabilities for one in found], 2, "float32"),
            }

        def order(inputs: Arrays) -> dict[str, np.ndarray]:
            pairs = zip(_decode(inputs[_FIRST]), _decode(inputs[_SECOND]), strict=True)
            chances = np.array([masks.order(first, second) for first, second in pairs], np.float32).reshape(-1, 2)
            return {"in_order": chances[:, 0], "swapped": chances[:, 1]}

        candidates = ("masks", "candidates")
        outputs = [_form("mask_count", "int32"), _form("pieces", STRING, *candidates)]
        self._add(
            FILL_MASK,
            [_form(_TEXT, STRING), TensorForm(_TOP_K, "int32", ())],
            [*outputs, _form("probabilities", "float32", *candidates)],
            fill,
        )
        if masks.judges_order:
            chances = [_form("in_order", "float32"), _form("swapped", "float32")]
            self._add(SOP_FROM_TEXT, [_form(_FIRST, STRING), _form(_SECOND, STRING)], chances, order)

    def _add_vectors(self, vectors: PortableVectors) -> None:
        """The signature of one vector for each text."""

        def embed(inputs: Arrays) -> dict[str, np.ndarray]:
            return {EMBEDDING: vectors.embed(_decode(inputs[_TEXT]))}

        form = TensorForm(EMBEDDING, "float32", (BATCH, vectors.hidden_size))
        self._add(EMBED_FROM_TEXT, [_form(_TEXT, STRING)], [form], embed)

    def _add_encoder(self, own: Mapping[str, TensorForm]) -> None:
        """The signature of an encoder from texts."""
        model, tokenizer = self._model, self._model.tokenizer()

        def encode(inputs: Arrays) -> dict[str, np.ndarray]:
            if not len(inputs[_TEXT]):
                return {form.name: _without_rows(form) for form in (*ids, *outputs)}
            limits = model.about["max_seq_length"], tokenizer.cls_id, tokenizer.sep_id
            packed = [pack_pair(tokenizer.encode(text), None, *limits) for text in _decode(inputs[_TEXT])]
            rows = [to_row(Feature(0, *one), tokenizer.pad_id) for one in packed]
            found: list[dict[str, np.ndarray]] = [{}] * len(rows)
            for number, answer in run_rows(model, rows, tokenizer.pad_id):
                length = len(rows[number]["input_mask"])
                sequence = {SEQUENCE_OUTPUT: answer[SEQUENCE_OUTPUT][:length]}
                found[number] = {**rows[number], **answer, **sequence}
            # Without what an export may have of every layer, whose padding would stay.
            return {form.name: _pad_rows([one[form.name] for one in found]) for form in (*ids, *outputs)}

        ids = [_form(name, "int32", "length") for name in IDS]
        outputs = [own[SEQUENCE_OUTPUT], *([own[POOLED_OUTPUT]] if POOLED_OUTPUT in own else [])]
        self._add(TOKENS_FROM_TEXT, [_form(_TEXT, STRING)], [*ids, *outputs], encode)

    def _add_answers(self, answers: PortableAnswers) -> None:
        """The signatures of a fine-tuned model."""
        fields = [field.rstrip("?") for field in answers.fields]
        name, outputs = _BY_HEAD[answer_kind(answers.task)]
        forms = [_form(key, dtype, *axes) for key, (dtype, axes) in outputs.items()]
        if name == "answer" and may_have_no_answer(answers.task):
            forms.append(_form("null_odds", "float32"))
        if answers.task.head == "multi_label" and label_thresholds(answers.task) is not None:
            forms.append(_form("thresholds", "float32", "classes"))
        if LAYERS in self.signatures[SERVING_DEFAULT].outputs:
            forms.append(_form(LAYERS, "int32"))

        def answer(inputs: Arrays) -> dict[str, np.ndarray]:
            if OPTIONS in inputs and not all(inputs[OPTIONS].shape[1:]):
                raise RequestError("there are no options to choose from")
            examples = [_example(fields, inputs, row) for row in range(len(inputs[fields[0]]))]
            # A sentence without words has no tags, and no row of the model's input.
            asked = [row for row, example in enumerate(examples) if example.get(WORDS, True)]
            found: list[dict[str, Any]] = [{"tags": []} for _ in examples]
            for row, one in zip(asked, answers.answer([examples[row] for row in asked]) if asked else (), strict=True):
                found[row] = one
            widths = {"tags": inputs[WORDS].shape[1]} if WORDS in inputs else {}
            return {form.name: _column(found, form, widths.get(form.name, 0)) for form in forms}

        def tag_text(inputs: Arrays) -> dict[str, np.ndarray]:
            words = _stack([text.split() for text in _decode(inputs[_TEXT])], 1, STRING)
            return {WORDS: words, **answer({WORDS: words})}

        inputs = [_form(field, STRING, *((field,) if field in LIST_FIELDS else ())) for field in fields]
        self._add(name, inputs, forms, answer)
        if name == TAG:
            self._add(TAG_TEXT, [_form(_TEXT, STRING)], [_form(WORDS, STRING, WORDS), *forms], tag_text)


def _described(described: list[dict[str, Any]]) -> dict[str, TensorForm]:
    """The forms of inputs or outputs, as export.json has them."""
    return {one["name"]: TensorForm(one["name"], one["dtype"], tuple(one["shape"])) for one in described}


def _form(name: str, dtype: str, *axes: str) -> TensorForm:
    return TensorForm(name, dtype, (BATCH, *axes))


def _decode(texts: np.ndarray) -> list[str]:
    return [text.decode() for text in texts]


def _example(fields: Sequence[str], inputs: Arrays, row: int) -> dict[str, Any]:
    """A row of the inputs as the fields of an example; words end before the last empty ones."""
    values: dict[str, Any] = {}
    for field in fields:
        value = inputs[field][row]
        values[field] = value.decode() if field not in LIST_FIELDS else _decode(value)
    while values.get(WORDS) and not values[WORDS][-1]:
        values[WORDS].pop()
    return values


def _column(rows: Sequence[Mapping[str, Any]], form: TensorForm, width: int = 0) -> np.ndarray:
    """An output of all examples."""
    return _stack([row[form.name] for row in rows], len(form.axes) - 1, form.dtype, width)


def _stack(rows: Sequence[Any], depth: int, dtype: str, width: int = 0) -> np.ndarray:
    """Rows of unequal sizes as one array, padded with "" or 0 at the ends: [B], [B, x] or [B, x, y].

    Args:
        rows: values, or lists of them.
        depth: axes of a row.
        dtype: STRING, or NumPy's name.
        width: the least size of the first axis after the batch.
    """
    shape, level = [len(rows)], list(rows)
    for axis in range(depth):
        shape.append(max([width if axis == 0 else 0, *map(len, level)]))
        level = [part for item in level for part in item]
    stacked = np.full(shape, b"", object) if dtype == STRING else np.zeros(shape, dtype)
    _fill(stacked, rows)
    return stacked


def _fill(target: np.ndarray, rows: Sequence[Any]) -> None:
    for place, row in enumerate(rows):
        if target.ndim > 1:
            _fill(target[place], row)
        else:
            target[place] = row.encode() if isinstance(row, str) else row


def _without_rows(form: TensorForm) -> np.ndarray:
    """An output for no texts."""
    return np.zeros([axis if isinstance(axis, int) else 0 for axis in form.axes], form.dtype)


def _pad_rows(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays that differ in their first axis, as one, padded with 0."""
    padded = np.zeros((len(rows), max(map(len, rows)), *rows[0].shape[1:]), rows[0].dtype)
    for place, row in enumerate(rows):
        padded[place, : len(row)] = row
    return padded
