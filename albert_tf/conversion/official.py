"""Checkpoints of google-research/ALBERT (TF1), read and written without TF1.

Every kernel keeps its orientation but the sentence-order weights, which the official code stores as [2, H]. Understood
are model.ckpt files, and hub modules: their names begin with "module/", their files lie under variables/ and assets/.
"""

import os
import re
from typing import Any

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.tensor_files import load_tensors, save_tensors
from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import (
    CONFIG_NAME,
    CheckpointFormat,
    block_rows,
    copy_vocabulary,
)
from albert_tf.conversion.config_keys import albert_values
from albert_tf.conversion.rows import Row, TransposedRow
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint, agreed_config, find_vocabulary, set_aside
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.vocabulary_file import model_name

HUB_PREFIX = "module/"
_DATA_SUFFIX = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")
_SKIPPED = {
    "optimizer state and step": r"(/adam_[mv]|/lamb_[mv]|_power|^global_step)$",
}
# Only these have a meaning to the official code, "gelu" being the tanh form.
_ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu", "relu": "relu", "tanh": "tanh", "linear": "linear"}

# Names by which a fine-tuned checkpoint is known.
_CLASSIFIER, _SPAN, _ANSWERABILITY = "output_weights", "cls/squad/output_weights", "answer_class/dense_1/kernel"
_PRETRAINING_HEADS = ("cls/predictions/", "cls/seq_relationship/")

_DENSE = (("kernel", "kernel"), ("bias", "bias"))
_NORM = (("layer_norm/gamma", "LayerNorm/gamma"), ("layer_norm/beta", "LayerNorm/beta"))


def leaf_rows(ours: str, theirs: str, leaves) -> list[Row]:
    """The rows of weights stored as they are; leaves: pairs of the last parts of their names, ours and theirs."""
    return [Row(ours + leaf, theirs + their_leaf) for leaf, their_leaf in leaves]


# Of embeddings, pooler and heads, which google-research/bert names alike.
TABLE = [
    Row("albert/embeddings/word_embeddings", "bert/embeddings/word_embeddings"),
    Row("albert/embeddings/token_type_embeddings", "bert/embeddings/token_type_embeddings"),
    Row("albert/embeddings/position_embeddings", "bert/embeddings/position_embeddings"),
    # Some forks made this one with Keras, which names it otherwise.
    *(
        Row(
            f"albert/embeddings/layer_norm/{leaf}",
            f"bert/embeddings/LayerNorm/{leaf}",
            aliases=(f"bert/embeddings/layer_normalization/{leaf}",),
        )
        for leaf in ("gamma", "beta")
    ),
    *leaf_rows("albert/pooler/", "bert/pooler/dense/", _DENSE),
    *leaf_rows("masked_lm/transform/", "cls/predictions/transform/dense/", _DENSE),
    *leaf_rows("masked_lm/", "cls/predictions/transform/", _NORM),
    Row("masked_lm/output_bias", "cls/predictions/output_bias"),
    TransposedRow("sentence_order/classifier/kernel", "cls/seq_relationship/output_weights"),
    Row("sentence_order/classifier/bias", "cls/seq_relationship/output_bias"),
    TransposedRow("classifier/kernel", _CLASSIFIER),
    Row("classifier/bias", "output_bias"),
    TransposedRow("span/kernel", _SPAN),
    Row("span/bias", "cls/squad/output_bias"),
]

_BEAM_TABLE = [
    *leaf_rows("span_beam/start/", "start_logits/dense/", _DENSE),
    *leaf_rows("span_beam/end_transform/", "end_logits/dense_0/", _DENSE),
    *leaf_rows("span_beam/end_", "end_logits/", _NORM),
    *leaf_rows("span_beam/end/", "end_logits/dense_1/", _DENSE),
    *leaf_rows("span_beam/answerability_transform/", "answer_class/dense_0/", _DENSE),
    Row("span_beam/answerability/kernel", _ANSWERABILITY),
]

_PROJECTION_TABLE = leaf_rows(
    "albert/encoder/embedding_hidden_mapping_in/", "bert/encoder/embedding_hidden_mapping_in/", _DENSE
)

_BLOCK_TABLE = [
    *(
        (f"attention/{part}_{leaf}", f"attention_1/self/{part}/{leaf}")
        for part in ("query", "key", "value")
        for leaf in ("kernel", "bias")
    ),
    *((f"attention/output/{leaf}", f"attention_1/output/dense/{leaf}") for leaf, _ in _DENSE),
    *((f"attention/{leaf}", their_leaf) for leaf, their_leaf in _NORM),
    *((f"feed_forward/intermediate/{leaf}", f"ffn_1/intermediate/dense/{leaf}") for leaf, _ in _DENSE),
    *((f"feed_forward/output/{leaf}", f"ffn_1/intermediate/output/dense/{leaf}") for leaf, _ in _DENSE),
    *((f"feed_forward/layer_norm/{leaf}", f"LayerNorm_1/{leaf}") for leaf in ("gamma", "beta")),
]


def _block(ours: str, group: int, inner: int) -> list[Row]:
    return leaf_rows(ours, f"bert/encoder/transformer/group_{group}/inner_group_{inner}/", _BLOCK_TABLE)


class OfficialFormat(CheckpointFormat):
    """TF1 checkpoints and hub modules.

    Attributes:
        config_name: of the file of JSON beside one.
        checkpoint_name: of one that is written, without suffix.
    """

    name = "official"
    title = "an official checkpoint"
    config_name = CONFIG_NAME
    checkpoint_name = "model.ckpt-best"

    def recognise(self, path):
        """Tells whether the path is a checkpoint's prefix, one of its files, or a folder with one."""
        return find_prefix(path) is not None

    def open(self, path, config_file=None):
        """Reads the variables, without the optimizer's."""
        prefix = find_prefix(path)
        arrays = load_tensors(prefix)
        folder = os.path.dirname(prefix)
        if arrays and all(name.startswith(HUB_PREFIX) for name in arrays if name != "global_step"):
            arrays = {name.removeprefix(HUB_PREFIX): array for name, array in arrays.items()}
        if os.path.basename(prefix) == "variables":
            folder = os.path.join(os.path.dirname(folder), "assets")
        arrays, skipped = set_aside(arrays, _SKIPPED)
        own = os.path.join(folder, self.config_name)
        config = agreed_config(
            self.read_config(config_file) if config_file else None,
            lambda: self.read_config(own) if files.exists(own) else None,
            path,
        )
        vocabulary_file = self.find_vocabulary(folder)
        task = _find_task(arrays)
        return StoredCheckpoint.of_elsewhere(path, config, arrays, skipped, vocabulary_file, task, self.sentence_task)

    def rows(self, config, names=()):
        """The official variable names; parameter_sharing "none" is num_hidden_groups = num_hidden_layers."""
        _check_grouping(config)
        projection = [] if config.embedding_size == config.hidden_size else _PROJECTION_TABLE
        return [*TABLE, *_BEAM_TABLE, *projection, *block_rows(config, self.title, _block)]

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes the checkpoint, its config and the vocabulary."""
        if config.hidden_act not in _ACTIVATIONS:
            raise InputError(
                f"{self.title} cannot have hidden_act={config.hidden_act!r}; the official code knows "
                f"{', '.join(sorted(set(_ACTIVATIONS.values())))}"
            )
        values = self.config_values(config) | {"hidden_act": _ACTIVATIONS[config.hidden_act]}
        save_tensors(os.path.join(folder, self.checkpoint_name), arrays)
        files.write_json(os.path.join(folder, self.config_name), values, sort_keys=True)
        if vocabulary_file is not None:
            self.copy_vocabulary(vocabulary_file, folder)

    def read_config(self, path: str) -> AlbertConfig:
        """Reads the config beside a checkpoint; raises InputError if it is none."""
        return AlbertConfig.from_json_file(path)

    def config_values(self, config: AlbertConfig) -> dict[str, Any]:
        """The entries of the config that is written; raises InputError for a model that it cannot express."""
        return albert_values(config, self.title)

    def find_vocabulary(self, folder: str) -> str | None:
        """The vocabulary in a folder, if there is one."""
        return find_vocabulary(folder)

    def copy_vocabulary(self, source: str, folder: str) -> None:
        """Copies a vocabulary into a folder."""
        copy_vocabulary(source, os.path.join(folder, model_name(source)))


OFFICIAL = OfficialFormat()


def load_official(path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = False):
    """Reads an official checkpoint into a new model, and prints what was found.

    Args:
        path: a checkpoint's prefix ("…/model.ckpt-best"), one of its files, its folder, or a hub module's folder.
        config: of the model; None reads albert_config.json beside the checkpoint.
        allow_missing_heads: whether pooler and heads that are missing start afresh.

    Returns:
        AlbertForPretraining, or for a fine-tuned checkpoint the model of models.finetuning that it is; its
        `load_report` says what was matched, missing and left out.

    Raises:
        InputError: no such checkpoint, a damaged one, or variables missing, left over or of a different shape.
    """
    return OFFICIAL.load(path, config, allow_missing_heads)


def save_official(model, folder: str, vocabulary_file: str | None = None) -> None:
    """Writes a model as the official code would: FOLDER/model.ckpt-best and FOLDER/albert_config.json.

    Args:
        model: an AlbertForPretraining or a fine-tuned model whose config the official code can express.
        folder: to make; absent or empty.
        vocabulary_file: the sentencepiece model, to go along.

    Raises:
        InputError: the official format has no place for the model, or the folder holds something.
    """
    OFFICIAL.save(model, folder, vocabulary_file)


def find_prefix(path: str) -> str | None:
    """The prefix of the checkpoint that a path means: a prefix, a file of one, or a folder."""
    prefix = _DATA_SUFFIX.sub("", path)
    if files.exists(f"{prefix}.index"):
        return prefix
    folder = path.rstrip("/")
    if files.exists(os.path.join(folder, "variables", "variables.index")):
        return os.path.join(folder, "variables", "variables")
    prefixes = [name.removesuffix(".index") for name in files.list_folder(folder) if name.endswith(".index")]
    best = [name for name in prefixes if name.endswith("-best")]
    if len(best or prefixes) > 1:
        raise InputError(f"{path}: holds {len(prefixes)} checkpoints, {prefixes[0]} and others; name the one you mean")
    return os.path.join(folder, (best or prefixes)[0]) if prefixes else None


def _find_task(arrays) -> FinetunedTask | None:
    """Finds what a checkpoint was fine-tuned for, by its variables.

    One number for a text may be a score or an option's.
    """
    if any(name.startswith(_PRETRAINING_HEADS) for name in arrays):
        return None
    if _SPAN in arrays:
        return FinetunedTask("span", 2)
    if _ANSWERABILITY in arrays:
        return FinetunedTask("span_beam", 2)
    if _CLASSIFIER in arrays:
        classes = arrays[_CLASSIFIER].shape[0]
        if not any(name.startswith("bert/pooler/") for name in arrays):
            # Of pieces, which need no vector of a text.
            return FinetunedTask("token_classification", classes)
        return FinetunedTask("classification" if classes > 1 else "regression", classes)
    return None


def _check_grouping(config: AlbertConfig) -> None:
    """Raises InputError where the official code's rounding puts a layer into a group other than the intended one."""
    layers, groups = config.num_hidden_layers, config.num_hidden_groups
    for layer in range(layers):
        if int(layer / layers * groups) != layer * groups // layers:
            raise InputError(
                f"with {layers} layers in {groups} groups the official code puts layer {layer} into group "
                f"{int(layer / layers * groups)} by a rounding error, this one into group {layer * groups // layers}: "
                "such a model does not cross over"
            )
