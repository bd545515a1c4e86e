"""Folders of Hugging Face's save_pretrained of an ALBERT, pre-trained models and fine-tuned ones, without torch."""

import os

from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.conversion import hugging_face_files, hugging_face_tokenizer
from albert_tf.conversion.checkpoint_format import copy_vocabulary, stored_groups
from albert_tf.conversion.hugging_face_family import ALBERT
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat
from albert_tf.conversion.hugging_face_rows import dense_rows, family_rows
from albert_tf.conversion.rows import projection_rows
from albert_tf.conversion.stored_checkpoint import find_vocabulary
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import exists
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.tokenizer_json import TOKENIZER_JSON
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import REBUILT_NAME, WORD_PIECE_NAME
from albert_tf.tokenization.word_pieces import WordPieceTokenizer

_PROJECTION = "albert.encoder.embedding_hidden_mapping_in"
_PROJECTION_TABLE = dense_rows("albert/encoder/embedding_hidden_mapping_in/", _PROJECTION)
_BIAS, _DECODER_BIAS = f"{ALBERT.masked_lm}.bias", f"{ALBERT.masked_lm}.decoder.bias"
# These versions added both; from 2.4 on they are one, and such a file's zeros take the place of what was trained.
_UNTIED_BIAS = "zeros of transformers 2.2 or 2.3, which added predictions.bias to them"
_DEFAULT_SPECIAL_IDS = (0, 2, 3)
# What transformers calls a vocabulary of each kind.
_VOCABULARY_NAMES = {AlbertTokenizer.ending: REBUILT_NAME, WordPieceTokenizer.ending: WORD_PIECE_NAME}


class HuggingFaceFormat(SavePretrainedFormat):
    """Folders of an ALBERT, with its sentencepiece model and a tokenizer."""

    name = ALBERT.format_name
    title = ALBERT.title
    family = ALBERT

    def __init__(self, architecture: str | None = None, cleaning: TextCleaning = OFFICIAL_CLEANING):
        """Chooses what is written; every architecture is read.

        Args:
            architecture: one of HUGGING_FACE_ARCHITECTURES; None takes the one that holds the whole model.
            cleaning: of texts, for the tokenizer; that of a fine-tuned model's task comes first.

        Raises:
            InputError: it is none of them.
        """
        super().__init__(architecture)
        self.cleaning = cleaning

    def recognise(self, path):
        """Tells whether the path is a folder with weights, a file of them, or the index of their shards."""
        return hugging_face_files.find_weights(path) is not None

    def rows(self, config, names=()):
        """The names of all their models, which have a projection from embeddings to hidden units even if E = H."""
        _check_grouping(config, stored_groups(config, self.title))
        if config.embedding_size == config.hidden_size:
            projection = projection_rows(f"{_PROJECTION}.weight", f"{_PROJECTION}.bias", config.hidden_size)
        else:
            projection = _PROJECTION_TABLE
        return [*family_rows(ALBERT, config), *projection]

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes model.safetensors, config.json and, with a vocabulary, spiece.model and the tokenizer."""
        super().write(folder, config, arrays, vocabulary_file, task)
        layers_of_group = config.num_hidden_layers // stored_groups(config, self.title)
        if config.inner_group_num > layers_of_group:
            logging.warning(
                "transformers 4 fails to run inner_group_num=%d in groups of %d layers, transformers 5 runs it",
                *(config.inner_group_num, layers_of_group),
            )

    def set_aside_more(self, arrays, skipped):
        """Leaves the untied bias of the first versions out."""
        if {_BIAS, _DECODER_BIAS} <= set(arrays) and arrays[_BIAS].any() and not arrays[_DECODER_BIAS].any():
            del arrays[_DECODER_BIAS]
            skipped[_UNTIED_BIAS] = (_DECODER_BIAS,)

    def find_vocabulary(self, folder):
        """The sentencepiece model in a folder, else the tokenizer.json of which one can be made."""
        usual, others = (os.path.join(folder, name) for name in (REBUILT_NAME, TOKENIZER_JSON))
        if exists(usual):
            return usual
        return find_vocabulary(folder) or (others if exists(others) else None)

    def write_vocabulary(self, folder, config, vocabulary_file, task):
        """Writes spiece.model and the tokenizer."""
        special_ids = _DEFAULT_SPECIAL_IDS
        if vocabulary_file is not None:
            known = task is not None and task.cleaning
            cleaning = TextCleaning(**known) if known else self.cleaning
            tokenizer = make_tokenizer(vocabulary_file, cleaning)
            special_ids = (tokenizer.pad_id, tokenizer.cls_id, tokenizer.sep_id)
            copy_vocabulary(vocabulary_file, os.path.join(folder, _VOCABULARY_NAMES[tokenizer.ending]))
            hugging_face_tokenizer.write_tokenizer(folder, tokenizer, config.max_position_embeddings)
        return dict(zip(("pad_token_id", "bos_token_id", "eos_token_id"), special_ids, strict=True))


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
