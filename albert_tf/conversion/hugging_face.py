"""Folders of Hugging Face's save_pretrained, pre-trained models and fine-tuned ones, without torch.

torch.nn.Linear stores its matrix as [units, inputs], so every kernel is transposed.
"""

import os
import re

from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.conversion import (
    hugging_face_config,
    hugging_face_files,
    hugging_face_tasks,
    hugging_face_tokenizer,
)
from albert_tf.conversion.checkpoint_format import CheckpointFormat, block_rows, copy_vocabulary, stored_groups
from albert_tf.conversion.rows import Row, TransposedRow, projection_rows
from albert_tf.conversion.settings import HUGGING_FACE_ARCHITECTURES
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint, find_vocabulary, set_aside
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import exists
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.tokenizer_json import TOKENIZER_JSON
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import REBUILT_NAME, WORD_PIECE_NAME
from albert_tf.tokenization.word_pieces import WordPieceTokenizer

_PREFIX = "albert."
_PARTS_OF_BARE_MODEL = ("embeddings.", "encoder.", "pooler.")
# What an architecture has of the table.
_TENSORS_OF = {
    "AlbertForPreTraining": r"",
    "AlbertForMaskedLM": r"^(albert\.(?!pooler\.)|predictions\.)",
    "AlbertModel": r"^albert\.",
    "AlbertForSequenceClassification": r"^(albert|classifier)\.",
    "AlbertForTokenClassification": r"^(albert\.(?!pooler\.)|classifier\.)",
    "AlbertForMultipleChoice": r"^(albert|classifier)\.",
    "AlbertForQuestionAnswering": r"^(albert\.(?!pooler\.)|qa_outputs\.)",
}
# The weights besides albert.* by which an architecture is what it is.
_HEAD_OF = {
    "AlbertForPreTraining": ("predictions.", "sop_classifier."),
    "AlbertForMaskedLM": ("predictions.",),
    "AlbertModel": (),
    "AlbertForQuestionAnswering": ("qa_outputs.",),
}
_SKIPPED = {
    "positions and segments, counted anew": r"(^|\.)embeddings\.(position_ids|token_type_ids)$",
}
_BIAS, _DECODER_BIAS = "predictions.bias", "predictions.decoder.bias"
# These versions added both; from 2.4 on they are one, and such a file's zeros take the place of what was trained.
_UNTIED_BIAS = "zeros of transformers 2.2 or 2.3, which added predictions.bias to them"
_DEFAULT_SPECIAL_IDS = (0, 2, 3)
_CLASSIFIER, _SPAN = "classifier", "qa_outputs"
# What transformers calls a vocabulary of each kind.
_VOCABULARY_NAMES = {AlbertTokenizer.ending: REBUILT_NAME, WordPieceTokenizer.ending: WORD_PIECE_NAME}


def _dense(ours: str, theirs: str) -> list[Row]:
    return [TransposedRow(f"{ours}kernel", f"{theirs}.weight"), Row(f"{ours}bias", f"{theirs}.bias")]


def _norm(ours: str, theirs: str) -> list[Row]:
    return [Row(f"{ours}/gamma", f"{theirs}.weight"), Row(f"{ours}/beta", f"{theirs}.bias")]


_TABLE = [
    # transformers stores the matrix before the softmax, which is the embeddings', in some versions once more.
    Row(
        "albert/embeddings/word_embeddings",
        "albert.embeddings.word_embeddings.weight",
        aliases=("predictions.decoder.weight",),
    ),
    Row("albert/embeddings/token_type_embeddings", "albert.embeddings.token_type_embeddings.weight"),
    Row("albert/embeddings/position_embeddings", "albert.embeddings.position_embeddings.weight"),
    *_norm("albert/embeddings/layer_norm", "albert.embeddings.LayerNorm"),
    *_dense("albert/pooler/", "albert.pooler"),
    *_dense("masked_lm/transform/", "predictions.dense"),
    *_norm("masked_lm/layer_norm", "predictions.LayerNorm"),
    Row("masked_lm/output_bias", _BIAS, aliases=(_DECODER_BIAS,)),
    *_dense("sentence_order/classifier/", "sop_classifier.classifier"),
    *_dense("classifier/", _CLASSIFIER),
    *_dense("span/", _SPAN),
]

_PROJECTION = "albert.encoder.embedding_hidden_mapping_in"
_PROJECTION_TABLE = _dense("albert/encoder/embedding_hidden_mapping_in/", _PROJECTION)


def _block(ours: str, group: int, inner: int) -> list[Row]:
    theirs = f"albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}."
    return [
        *(
            row
            for part in ("query", "key", "value")
            for row in _dense(f"{ours}attention/{part}_", f"{theirs}attention.{part}")
        ),
        *_dense(f"{ours}attention/output/", f"{theirs}attention.dense"),
        *_norm(f"{ours}attention/layer_norm", f"{theirs}attention.LayerNorm"),
        *_dense(f"{ours}feed_forward/intermediate/", f"{theirs}ffn"),
        *_dense(f"{ours}feed_forward/output/", f"{theirs}ffn_output"),
        *_norm(f"{ours}feed_forward/layer_norm", f"{theirs}full_layer_layer_norm"),
    ]


class HuggingFaceFormat(CheckpointFormat):
    """Folders with config.json and model.safetensors, or pytorch_model.bin; either of them whole or in shards."""

    name = "hugging_face"
    title = "a Hugging Face checkpoint"

    def __init__(self, architecture: str | None = None, cleaning: TextCleaning = OFFICIAL_CLEANING):
        """Chooses what is written; every architecture is read.

        Args:
            architecture: one of HUGGING_FACE_ARCHITECTURES; None takes the one that holds the whole model.
            cleaning: of texts, for the tokenizer; that of a fine-tuned model's task comes first.

        Raises:
            InputError: it is none of them.
        """
        if architecture not in (None, *_TENSORS_OF):
            raise InputError(
                f"the architecture must be one of {', '.join(HUGGING_FACE_ARCHITECTURES)}. Received {architecture!r}."
            )
        self.architecture = architecture
        self.cleaning = cleaning

    def recognise(self, path):
        """Tells whether the path is a folder with weights, a file of them, or the index of their shards."""
        return hugging_face_files.find_weights(path) is not None

    def open(self, path, config_file=None):
        """Reads the tensors; those of a bare AlbertModel get the names they have inside the other models."""
        weights_file = hugging_face_files.find_weights(path)
        folder = os.path.dirname(weights_file)
        config = _find_config(folder, config_file)
        arrays, skipped = set_aside(hugging_face_files.read_weights(weights_file), _SKIPPED)
        if {_BIAS, _DECODER_BIAS} <= set(arrays) and arrays[_BIAS].any() and not arrays[_DECODER_BIAS].any():
            del arrays[_DECODER_BIAS]
            skipped[_UNTIED_BIAS] = (_DECODER_BIAS,)
        if not any(name.startswith(_PREFIX) for name in arrays):
            arrays = {
                _PREFIX + name if name.startswith(_PARTS_OF_BARE_MODEL) else name: array
                for name, array in arrays.items()
            }
        vocabulary_file = _find_vocabulary(folder)
        hugging_face_tokenizer.warn_of_cleaning(folder)
        shapes = {name: array.shape for name, array in arrays.items()}
        task = hugging_face_tasks.find_task(os.path.join(folder, hugging_face_config.CONFIG_NAME), shapes)
        return StoredCheckpoint.of_elsewhere(path, config, arrays, skipped, vocabulary_file, task)

    def rows(self, config, names=()):
        """The names of all their models, which have a projection from embeddings to hidden units even if E = H."""
        _check_grouping(config, stored_groups(config, self.title))
        if config.embedding_size == config.hidden_size:
            projection = projection_rows(f"{_PROJECTION}.weight", f"{_PROJECTION}.bias", config.hidden_size)
        else:
            projection = _PROJECTION_TABLE
        return [*_TABLE, *projection, *block_rows(config, self.title, _block)]

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes model.safetensors, config.json and, with a vocabulary, spiece.model and the tokenizer."""
        architecture = self.architecture or hugging_face_tasks.architecture_of(task)
        parts = _HEAD_OF.get(architecture, (f"{_CLASSIFIER}.",))
        if not all(any(name.startswith(part) for name in arrays) for part in parts):
            raise InputError(f"this model has no head for an {architecture}, which needs {', '.join(parts)}*")
        layers_of_group = config.num_hidden_layers // stored_groups(config, self.title)
        if config.inner_group_num > layers_of_group:
            logging.warning(
                "transformers 4 fails to run inner_group_num=%d in groups of %d layers, transformers 5 runs it",
                *(config.inner_group_num, layers_of_group),
            )
        special_ids = _DEFAULT_SPECIAL_IDS
        if vocabulary_file is not None:
            known = task is not None and task.cleaning
            cleaning = TextCleaning(**known) if known else self.cleaning
            tokenizer = make_tokenizer(vocabulary_file, cleaning)
            special_ids = (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id)
            copy_vocabulary(vocabulary_file, os.path.join(folder, _VOCABULARY_NAMES[tokenizer.ending]))
            hugging_face_tokenizer.write_tokenizer(folder, tokenizer, config.max_position_embeddings)
        task_values = hugging_face_tasks.task_values(task, architecture)
        hugging_face_config.write_config(folder, config, architecture, self.title, special_ids, task_values)
        kept = {name: array for name, array in arrays.items() if re.search(_TENSORS_OF[architecture], name)}
        if architecture == "AlbertModel":
            kept = {name.removeprefix(_PREFIX): array for name, array in kept.items()}
        hugging_face_files.write_safetensors(os.path.join(folder, hugging_face_files.WEIGHTS_NAME), kept)


HUGGING_FACE = HuggingFaceFormat()


def load_hugging_face(path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = False):
    """Reads what transformers' save_pretrained wrote into a new model, and prints what was found.

    Args:
        path: the folder, or a .safetensors or .bin file in it (.bin needs torch).
        config: of the model; None reads config.json beside the weights.
        allow_missing_heads: whether pooler and heads that AlbertModel or AlbertForMaskedLM lack start afresh.

    Returns:
        AlbertForPretraining, or for a fine-tuned model the one of models.finetuning that it is; its `load_report` says
        what was matched, missing and left out.

    Raises:
        InputError: no such checkpoint, a damaged one, a model of a different kind, or tensors missing, left over or of
            a different shape.
    """
    return HUGGING_FACE.load(path, config, allow_missing_heads)


def save_hugging_face(
    model,
    folder: str,
    vocabulary_file: str | None = None,
    architecture: str | None = None,
    task: FinetunedTask | None = None,
    cleaning: TextCleaning = OFFICIAL_CLEANING,
) -> None:
    """Writes a model as transformers' save_pretrained would, for its from_pretrained to read.

    Args:
        model: an AlbertForPretraining or a fine-tuned model, but none whose layers share attention or feed-forward
            parameters alone.
        folder: to make; absent or empty.
        vocabulary_file: the sentencepiece model, to go along, so that AutoTokenizer.from_pretrained works as well.
        architecture: a class of transformers, such as "AlbertForMaskedLM" (no pooler, no sentence-order head) or
            "AlbertModel" (no heads); None takes the one that holds the whole model.
        task: what a fine-tuned model was trained for.
        cleaning: of texts before they meet the vocabulary; that of a fine-tuned model's task comes first.

    Raises:
        InputError: transformers has no place for the model, no such architecture, or the folder holds something.
    """
    HuggingFaceFormat(architecture, cleaning).save(model, folder, vocabulary_file, task)


def _find_vocabulary(folder: str) -> str | None:
    """The sentencepiece model in a folder, else the tokenizer.json of which one can be made."""
    usual, others = (os.path.join(folder, name) for name in (REBUILT_NAME, TOKENIZER_JSON))
    if exists(usual):
        return usual
    return find_vocabulary(folder) or (others if exists(others) else None)


def _find_config(folder: str, config_file: str | None) -> AlbertConfig | None:
    if config_file:
        return AlbertConfig.from_json_file(config_file)
    path = os.path.join(folder, hugging_face_config.CONFIG_NAME)
    return hugging_face_config.read_config(path) if exists(path) else None


def _check_grouping(config: AlbertConfig, groups: int) -> None:
    """Raises InputError where transformers' rounding puts a layer into a group other than the intended one."""
    layers = config.num_hidden_layers
    for layer in range(layers):
        theirs, ours = int(layer / (layers / groups)), layer * groups // layers
        if theirs != ours:
            raise InputError(
                f"with {layers} layers in {groups} groups transformers puts layer {layer} into group {theirs} by a "
                f"rounding error, this one into group {ours}: such a model does not cross over"
            )
