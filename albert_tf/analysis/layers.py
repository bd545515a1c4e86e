"""A look into the layers of trained models, as in figure 1 of the paper: what they do to their input on real text.

Shapes: B batch, S sequence.
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from absl import logging

from albert_tf.analysis.layer_settings import LayerSettings
from albert_tf.analysis.layer_sums import LayerSums
from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import Pretrained, load_pretrained
from albert_tf.exports.export_source import tokenizer_for
from albert_tf.exports.settings import SourceSettings
from albert_tf.inputs.pretraining_dataset import (
    explain_record_errors,
    make_evaluation_dataset,
    open_records,
)
from albert_tf.models.albert import AlbertModel
from albert_tf.records.manifest import check_vocabulary, find_record_files
from albert_tf.records.pretraining_records import record_lengths
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.packing import room_for_text

# Sequences of a batch, at most, and bytes of all its probabilities of attention.
_MOST_SEQUENCES, _MOST_BYTES = 16, 1 << 29
_IDS = ("input_ids", "input_mask", "segment_ids")


def analyse_layers(settings: LayerSettings, texts: Sequence[str] | None = None) -> dict[str, Any]:
    """Measures every layer of several models on the same text.

    Args:
        settings: the flags.
        texts: to read; None reads records at settings.input_file.

    Returns:
        "input_file", "max_seq_length" (None of records), "applications" (None: as the models have them), and
        "models": for each "name", "checkpoint", "num_hidden_layers", "num_tokens", "num_sequences" and what
        LayerSums.means returns.

    Raises:
        InputError: no such checkpoint, a text or a record that does not fit it, or a model that cannot be applied
            more often.
    """
    if texts is not None and not texts:
        raise InputError(f"--input_file: {settings.input_file} holds no text")
    # All of them first: what is wrong with the last one is said before the first is measured.
    opened = [
        _Opened(path, name, settings, texts is None) for path, name in zip(settings.init_checkpoint, settings.titles)
    ]
    return {
        "input_file": os.fspath(settings.input_file),
        "max_seq_length": None if texts is None else settings.max_seq_length,
        "applications": settings.applications,
        "models": [one.measure(texts) for one in opened],
    }


def measure_sequences(encoder: AlbertModel, sequences: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Any]:
    """Measures every layer of a model on sequences of pieces.

    Args:
        encoder: of the model.
        sequences: of each its ids, from [CLS] to the last [SEP], and its segments.

    Returns:
        "num_tokens", "num_sequences", and what LayerSums.means returns.
    """
    length = max(len(ids) for ids, _ in sequences)
    size = _batch_size(encoder, length)

    def batches() -> Iterator[dict[str, np.ndarray]]:
        for begin in range(0, len(sequences), size):
            of_batch = sequences[begin : begin + size]
            batch = {name: np.zeros((len(of_batch), length), np.int32) for name in _IDS}
            for row, (ids, segments) in enumerate(of_batch):
                for name, values in zip(_IDS, (ids, 1, segments)):
                    batch[name][row, : len(ids)] = values
            yield batch

    return _measure(encoder, batches())


def _measure(encoder: AlbertModel, batches: Iterator[dict[str, np.ndarray]]) -> dict[str, Any]:
    sums = LayerSums()
    for batch in batches:
        outputs = encoder(batch, output_attentions=True)
        sums.add(outputs["hidden_states"], outputs["attentions"], batch["input_ids"], batch["input_mask"])
    return {"num_tokens": sums.num_tokens, "num_sequences": sums.num_sequences, **sums.means()}


def _batch_size(encoder: AlbertModel, length: int) -> int:
    rows = encoder.config.num_attention_heads * length * encoder.encoder.num_applications
    return max(1, min(_MOST_SEQUENCES, _MOST_BYTES // (4 * rows * length)))


class _Opened:
    """A model that was loaded, and found to fit.

    Args:
        path: where it is.
        name: what to call it.
        settings: of the analysis.
        of_records: whether records are read.
    """

    def __init__(self, path: str, name: str, settings: LayerSettings, of_records: bool):
        self._path, self._name, self._settings = path, name, settings
        config_file = None if settings.albert_config_file is None else os.fspath(settings.albert_config_file)
        pretrained = load_pretrained(path, config_file, allow_missing_heads=True)
        self._trained: AlbertConfig = pretrained.model.config
        self._encoder = _encoder(pretrained.model.albert, settings.applications, name)
        if of_records:
            self._records = _open_records(settings, pretrained, path)
        else:
            source = SourceSettings(init_checkpoint=path, output_dir="", spm_model_file=settings.spm_model_file)
            self._tokenizer = tokenizer_for(source, pretrained)
            room_for_text(settings.max_seq_length, pair=False)
            _check_length("max_seq_length", settings.max_seq_length, self._trained, name)

    def measure(self, texts: Sequence[str] | None) -> dict[str, Any]:
        """Measures it on the texts, or on the records."""
        found = _measure(self._encoder, self._batches_of_records() if texts is None else self._batches_of_texts(texts))
        logging.info("%s: %s tokens of %d sequences", self._name, f"{found['num_tokens']:,}", found["num_sequences"])
        named = {"name": self._name, "checkpoint": self._path, "num_hidden_layers": self._trained.num_hidden_layers}
        return {**named, **found}

    def _batches_of_texts(self, texts: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        length = self._settings.max_seq_length
        size = _batch_size(self._encoder, length)
        for begin in range(0, len(texts), size):
            yield self._tokenizer(texts[begin : begin + size], max_length=length)

    def _batches_of_records(self) -> Iterator[dict[str, np.ndarray]]:
        most, records = self._settings.num_examples, self._records
        size = min(most, _batch_size(self._encoder, records.max_seq_length))
        with explain_record_errors(records.paths):
            for number, batch in enumerate(make_evaluation_dataset(records, size, -(-most // size))):
                yield {name: batch[name].numpy()[: most - number * size] for name in _IDS}


def _open_records(settings: LayerSettings, pretrained: Pretrained, path: str):
    input_file, config = os.fspath(settings.input_file), pretrained.model.config
    lengths = record_lengths(find_record_files(input_file)[0])
    records = open_records(input_file, *lengths, config.vocab_size)
    _check_length("input_file", lengths[0], config, path)
    check_vocabulary(pretrained.vocabulary, None if records.manifest is None else records.manifest.vocabulary, path)
    return records


def _check_length(flag: str, length: int, config: AlbertConfig, name: str) -> None:
    if length > config.max_position_embeddings:
        raise InputError(
            f"--{flag}: sequences of {length} pieces are longer than {name} takes: max_position_embeddings="
            f"{config.max_position_embeddings}"
        )


def _encoder(model: AlbertModel, applications: int | None, name: str) -> AlbertModel:
    """The encoder, or one with the same weights that applies its only layer a different number of times."""
    if applications is None:
        return model
    config = model.config
    if config.parameter_sharing != "all" or config.num_hidden_groups != 1:
        raise InputError(
            f"--applications wants models with one layer that is applied again and again; {name} has "
            f"parameter_sharing={config.parameter_sharing!r} and num_hidden_groups={config.num_hidden_groups}"
        )
    config = dataclasses.replace(config, num_hidden_layers=applications)
    longer = AlbertModel(config, pooler=model.pooler is not None)
    longer.set_weights(model.get_weights())
    return longer
