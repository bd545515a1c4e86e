"""A checkpoint of any format as it was found, before anything is made of it."""

import dataclasses
import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.model_agreement import compare_configs
from albert_tf.config import AlbertConfig
from albert_tf.conversion.sentence_modules import read_pooling
from albert_tf.heads.pooling import Pooling
from albert_tf.records.names import SOP
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.tokenizer_json import TOKENIZER_JSON
from albert_tf.tokenization.vocabulary_file import is_vocabulary, may_be_vocabulary

_GELUS = {"gelu", "gelu_new", "gelu_erf"}


def agreed_config(
    given: AlbertConfig | None, read_own: Callable[[], AlbertConfig | None], source: str
) -> AlbertConfig | None:
    """The config that was given, else the one that lies with a checkpoint.

    Args:
        given: by the user, or None.
        read_own: reads the checkpoint's; None where it has none.
        source: the checkpoint.

    Raises:
        InputError: weights would mean something else by the one than by the other; or the checkpoint's is needed, and
            is damaged or of a model beyond ours.
    """
    if given is None:
        return read_own()
    try:
        own = read_own()
    except InputError as error:
        logging.warning("the config given is taken, not that of %s: %s", source, error)
        return given
    if own is not None:
        if {given.hidden_act, own.hidden_act} <= _GELUS:
            # Two forms of one function, 5e-4 apart: folders of transformers call either "gelu".
            own = dataclasses.replace(own, hidden_act=given.hidden_act)
        compare_configs(given, own, source)
    return given


@dataclasses.dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint as it was found.

    Attributes:
        source: its path, as the user gave it.
        config: of its model, in our terms; None if no config lies with it.
        arrays: the stored tensors by their names there.
        skipped: why -> names of tensors that are no weights.
        vocabulary_file: that lies with it, or None.
        vocabulary: {"file", "sha256", "size"} of the vocabulary it was trained with, or None if unknown.
        sentence_task: what its sentence-order head was trained on.
        task: what it was fine-tuned for; None for a pre-trained model.
        tokenizer_cleaning: how the tokenizer that lies with it cleans texts; None if none says so.
        modules_folder: where the files of sentence-transformers lie that say how a text becomes one vector; None of
            other models.
        kept_pooling: how a text becomes one vector, where the checkpoint itself says so.
    """

    source: str
    config: AlbertConfig | None
    arrays: Mapping[str, np.ndarray]
    skipped: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    vocabulary_file: str | None = None
    vocabulary: dict[str, Any] | None = None
    sentence_task: str = SOP
    task: FinetunedTask | None = None
    tokenizer_cleaning: TextCleaning | None = None
    modules_folder: str | None = None
    kept_pooling: Pooling | None = None

    @property
    def pooling(self) -> Pooling | None:
        """The way from a text to one vector, of a model that was trained for that; None of others.

        Raises:
            InputError: the files that say so are damaged, or say what cannot be done here.
        """
        if self.config is None:
            return self.kept_pooling
        pooling = self.kept_pooling
        if self.modules_folder is not None:
            pooling = read_pooling(self.modules_folder, self.tokenizer_cleaning, self.config.max_position_embeddings)
        if pooling is not None and pooling.dense is not None:
            pooling.dense.check_width(self.config.hidden_size, self.source)
        return pooling

    @property
    def cleaning(self) -> TextCleaning | None:
        """The cleaning of texts for its task, else for its records, else by its tokenizer; None if unknown."""
        told = (self.task.cleaning if self.task is not None else None) or (self.vocabulary or {}).get("cleaning")
        return TextCleaning(**told) if told else self.tokenizer_cleaning

    @property
    def digest(self) -> str:
        """SHA-256 of the tensors, whichever files they lie in: other weights have another one."""
        digest = hashlib.sha256()
        for name, array in sorted(self.arrays.items()):
            digest.update(f"{name} {array.dtype} {list(array.shape)}\n".encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return digest.hexdigest()

    def without(self, names: Collection[str], why: str) -> "StoredCheckpoint":
        """The same without the tensors of these names, which are skipped for a reason."""
        left_out = tuple(name for name in self.arrays if name in names)
        arrays = {name: array for name, array in self.arrays.items() if name not in names}
        skipped = self.skipped | ({why: left_out} if left_out else {})
        return dataclasses.replace(self, arrays=arrays, skipped=skipped)

    @classmethod
    def of_elsewhere(
        cls,
        source: str,
        config: AlbertConfig | None,
        arrays: Mapping[str, np.ndarray],
        skipped: dict[str, tuple[str, ...]],
        vocabulary_file: str | None,
        task: FinetunedTask | None = None,
        sentence_task: str = SOP,
        tokenizer_cleaning: TextCleaning | None = None,
        modules_folder: str | None = None,
    ) -> "StoredCheckpoint":
        """A checkpoint of other code, of whose vocabulary is known what the file beside it says.

        Args:
            source: its path.
            config: of its model, in our terms, or None.
            arrays: the stored tensors.
            skipped: why -> names of tensors that are no weights.
            vocabulary_file: that lies with it, or None.
            task: what it was fine-tuned for, or None.
            sentence_task: what its head for pairs of sentences was trained on.
            tokenizer_cleaning: how the tokenizer beside it cleans texts, or None.
            modules_folder: where the files of sentence-transformers lie, or None.
        """
        vocabulary = describe_vocabulary(vocabulary_file) if vocabulary_file else None
        return cls(
            *(source, config, arrays, skipped, vocabulary_file, vocabulary, sentence_task, task, tokenizer_cleaning),
            modules_folder=modules_folder,
        )


def set_aside(
    arrays: Mapping[str, np.ndarray], patterns: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Takes out tensors that are no weights of a pre-training model.

    Args:
        arrays: by name.
        patterns: reason -> regular expression, searched in the names.

    Returns:
        the others; and reason -> the names taken out.
    """
    skipped = {
        reason: tuple(name for name in arrays if re.search(pattern, name)) for reason, pattern in patterns.items()
    }
    gone = {name for names in skipped.values() for name in names}
    return {n: a for n, a in arrays.items() if n not in gone}, {r: names for r, names in skipped.items() if names}


def describe_vocabulary(path: str) -> dict[str, Any]:
    """{"file" (no folder), "sha256", "size"} of a vocabulary.

    Raises:
        InputError: it is none.
    """
    from albert_tf.tokenization.vocabularies import make_tokenizer

    return make_tokenizer(path).describe()


def find_vocabulary(folder: str, sha256: str | None = None) -> str | None:
    """The vocabulary that lies in a folder.

    Args:
        folder: where to look.
        sha256: of the one that is wanted; None takes what lies there, if there is just one.
    """
    known = is_vocabulary if sha256 is None else may_be_vocabulary
    found = [os.path.join(folder, name) for name in files.list_folder(folder) if known(name)]
    if sha256 is not None:
        found = [path for path in found if _sha256_of(path) == sha256][:1]
    return found[0] if len(found) == 1 else None


def find_usual_vocabulary(folder: str, usual_name: str) -> str | None:
    """The vocabulary in a folder of other code: that of the usual name, else what is there, else a tokenizer.json."""
    usual, others = (os.path.join(folder, name) for name in (usual_name, TOKENIZER_JSON))
    if files.exists(usual):
        return usual
    return find_vocabulary(folder) or (others if files.exists(others) else None)


def _sha256_of(path: str) -> str | None:
    try:
        return hashlib.sha256(files.read_small(path)).hexdigest()
    except (InputError, OSError):
        return None
