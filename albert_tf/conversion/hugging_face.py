"""Folders of Hugging Face's save_pretrained of an ALBERT, pre-trained models and fine-tuned ones, without torch."""

from types import MappingProxyType

from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.conversion import hugging_face_files
from albert_tf.conversion.checkpoint_format import stored_groups
from albert_tf.conversion.hugging_face_family import ALBERT
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat
from albert_tf.conversion.hugging_face_rows import dense_rows, family_rows
from albert_tf.conversion.rows import projection_rows
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.tokenization.vocabulary_file import REBUILT_NAME

_PROJECTION = "albert.encoder.embedding_hidden_mapping_in"
_PROJECTION_TABLE = dense_rows("albert/encoder/embedding_hidden_mapping_in/", _PROJECTION)
_BIAS, _DECODER_BIAS = f"{ALBERT.masked_lm}.bias", f"{ALBERT.masked_lm}.decoder.bias"
# These versions added both; from 2.4 on they are one, and such a file's zeros take the place of what was trained.
_UNTIED_BIAS = "zeros of transformers 2.2 or 2.3, which added predictions.bias to them"


class HuggingFaceFormat(SavePretrainedFormat):
    """Folders of an ALBERT, with its sentencepiece model and a tokenizer."""

    name = ALBERT.format_name
    title = ALBERT.title
    family = ALBERT
    usual_vocabulary = REBUILT_NAME
    special_ids = MappingProxyType({"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3})

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
