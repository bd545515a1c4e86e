"""Folders of Hugging Face's save_pretrained, of any family that crosses over, read and written without torch."""

import os
from collections.abc import Collection, Mapping

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.conversion import hugging_face_config, hugging_face_files, hugging_face_tasks, hugging_face_tokenizer
from albert_tf.conversion.checkpoint_format import CheckpointFormat, copy_vocabulary
from albert_tf.conversion.hugging_face_family import FAMILIES, Family
from albert_tf.conversion.sentence_modules import has_modules
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint, agreed_config, find_usual_vocabulary, set_aside
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.files import exists
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import REBUILT_NAME, WORD_PIECE_NAME
from albert_tf.tokenization.word_pieces import WordPieceTokenizer

_PARTS_OF_BARE_MODEL = ("embeddings.", "encoder.", "pooler.")
# What transformers calls a vocabulary of each kind.
_VOCABULARY_NAMES = {AlbertTokenizer.ending: REBUILT_NAME, WordPieceTokenizer.ending: WORD_PIECE_NAME}
_SKIPPED = {
    "positions and segments, counted anew": r"(^|\.)embeddings\.(position_ids|token_type_ids)$",
}


class SavePretrainedFormat(CheckpointFormat):
    """Folders with config.json and model.safetensors, or pytorch_model.bin; either of them whole or in shards.

    Attributes:
        family: of the models.
        config_names: of the files of JSON that may say their shape, the first that is there counts.
        usual_vocabulary: name of the vocabulary that most of its models have.
        special_ids: the ids of special pieces that config.json tells, by key, with those of the published models.
    """

    family: Family
    config_names: tuple[str, ...] = (hugging_face_config.CONFIG_NAME,)
    usual_vocabulary: str
    special_ids: Mapping[str, int]

    def __init__(self, architecture: str | None = None, cleaning: TextCleaning = OFFICIAL_CLEANING):
        """Chooses what is written; every architecture is read.

        Args:
            architecture: one of the family's; None takes the one that holds the whole model.
            cleaning: of texts, for the tokenizer; that of a fine-tuned model's task comes first.

        Raises:
            InputError: it is none of them.
        """
        known = self.family.architectures
        if architecture not in (None, *known):
            raise InputError(
                f"the architecture must be one of {', '.join(known)} in format {self.name}. Received {architecture!r}."
            )
        self.architecture = architecture
        self.cleaning = cleaning

    def open(self, path, config_file=None):
        """Reads the tensors; those of a bare model get the names they have inside the models with heads."""
        weights_file = hugging_face_files.find_weights(path)
        folder = os.path.dirname(weights_file)
        config = self._find_config(folder, config_file)
        arrays, skipped = set_aside(hugging_face_files.read_weights(weights_file), _SKIPPED)
        self.set_aside_more(arrays, skipped)
        prefix = self.family.prefix
        if not any(name.startswith(prefix) for name in arrays):
            arrays = {
                prefix + name if name.startswith(_PARTS_OF_BARE_MODEL) else name: array
                for name, array in arrays.items()
            }
        vocabulary_file = find_usual_vocabulary(folder, self.usual_vocabulary)
        cleaning = hugging_face_tokenizer.folder_cleaning(folder)
        shapes = {name: array.shape for name, array in arrays.items()}
        config_path = os.path.join(folder, hugging_face_config.CONFIG_NAME)
        task = hugging_face_tasks.find_task(config_path, shapes, self.family)
        return StoredCheckpoint.of_elsewhere(
            *(path, config, arrays, skipped, vocabulary_file, task, self.sentence_task, cleaning),
            modules_folder=folder if has_modules(folder) else None,
        )

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes model.safetensors, config.json and, with a vocabulary, its files."""
        family = self.family
        # Rows without a name of ours are the projection's, a part of the encoder.
        ours = {row.theirs: getattr(row, "ours", "albert/encoder/") for row in self.rows(config, ())}
        architecture = self._choose_architecture([ours[name] for name in arrays], task)
        parts = family.parts_of(architecture)
        kept = {theirs: array for theirs, array in arrays.items() if ours[theirs].startswith(parts)}
        if architecture == f"{family.classes}Model":
            kept = {name.removeprefix(family.prefix): array for name, array in kept.items()}
        special_ids = self._write_vocabulary(folder, config, vocabulary_file, task)
        task_values = hugging_face_tasks.task_values(task, architecture, family)
        hugging_face_config.write_config(folder, config, architecture, family, special_ids, task_values)
        hugging_face_files.write_safetensors(os.path.join(folder, hugging_face_files.WEIGHTS_NAME), kept)

    def _choose_architecture(self, weights: Collection[str], task: FinetunedTask | None) -> str:
        """The architecture that was asked for, else the one that holds these weights, by our names, as a whole.

        Raises:
            InputError: there are no weights for one of its heads; of those of pre-training one is enough, if no
                architecture was asked for.
        """
        architecture = self.architecture or hugging_face_tasks.architecture_of(task, self.family)
        heads = self.family.heads_of(architecture)
        lacking = [head for head in heads if not any(name.startswith(head) for name in weights)]
        if not lacking:
            return architecture
        if self.architecture is None and task is None:
            return architecture if len(lacking) < len(heads) else f"{self.family.classes}Model"
        needed = ", ".join(f"{head}*" for head in lacking)
        raise InputError(f"this model has no head for {architecture}, which needs {needed}")

    def set_aside_more(self, arrays, skipped) -> None:
        """Moves tensors that are no weights from `arrays` to `skipped`, by its reason; most families have none."""

    def _write_vocabulary(self, folder, config, vocabulary_file, task) -> dict[str, int]:
        """Writes a vocabulary and its tokenizer, and returns the ids for config.json; arguments as of `write`."""
        if vocabulary_file is None:
            return dict(self.special_ids)
        known = task is not None and task.cleaning
        tokenizer = make_tokenizer(vocabulary_file, TextCleaning(**known) if known else self.cleaning)
        copy_vocabulary(vocabulary_file, os.path.join(folder, _VOCABULARY_NAMES[tokenizer.ending]))
        hugging_face_tokenizer.write_tokenizer(folder, tokenizer, config.max_position_embeddings)
        found = {"pad_token_id": tokenizer.pad_id, "bos_token_id": tokenizer.cls_id, "eos_token_id": tokenizer.sep_id}
        return {key: found[key] for key in self.special_ids}

    def _find_config(self, folder: str, config_file: str | None) -> AlbertConfig | None:
        given = AlbertConfig.from_json_file(config_file) if config_file else None
        return agreed_config(given, lambda: self._find_own_config(folder), folder)

    def _find_own_config(self, folder: str) -> AlbertConfig | None:
        for name in self.config_names:
            path = os.path.join(folder, name)
            if exists(path):
                return hugging_face_config.read_config(path, self.family)
        return None


def find_family(path: str) -> Family | None:
    """The family of the model in a folder: as config.json says, else by the names of its tensors.

    Args:
        path: a folder, a file of weights, or the index of their shards.

    Returns:
        None where there are no weights, or those of a different model.

    Raises:
        InputError: the files that would tell are damaged.
    """
    weights_file = hugging_face_files.find_weights(path)
    if weights_file is None:
        return None
    config_path = os.path.join(os.path.dirname(weights_file), hugging_face_config.CONFIG_NAME)
    model_type = hugging_face_config.find_model_type(config_path) if exists(config_path) else None
    if model_type is not None:
        return next((family for family in FAMILIES if family.model_type == model_type), None)
    names = hugging_face_files.read_weights(weights_file)
    return next((family for family in FAMILIES if family.names_its_tensors(names)), None)
