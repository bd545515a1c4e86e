"""The pre-training record: the one place that knows how an example lies on disk, in both directions.

A record is a tf.train.Example with the feature names of the official create_pretraining_data.py; B batch,
S max_seq_length, P max_predictions_per_seq. On disk the sentence-order label is called next_sentence_labels, as
there; it is renamed here, once. Nothing here imports tensorflow except parse_batch.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from albert_tf.records.example_messages import decode_example, encode_example, pack_integers
from albert_tf.records.manifest import Manifest, find_entries, read_manifest
from albert_tf.records.masking_rules import DYNAMIC
from albert_tf.records.names import (
    BOUNDARY_FEATURE,
    LABEL,
    LABEL_ON_DISK,
    PREDICTION_FEATURES,
    SEQUENCE_FEATURES,
    WEIGHTS_FEATURE,
)
from albert_tf.records.record_files import (
    count_examples,
    detect_compression,
    file_size,
    locate_damage,
    read_records,
)
from albert_tf.records.unmasked_records import decode_unmasked, is_unmasked
from albert_tf.runtime.errors import InputError

__all__ = [
    "Manifest",
    "PretrainingInstance",
    "check_records",
    "count_examples",
    "detect_compression",
    "from_example",
    "locate_damage",
    "parse_batch",
    "read_manifest",
    "to_example",
]


@dataclasses.dataclass(frozen=True, slots=True)
class PretrainingInstance:
    """One example before padding.

    Attributes:
        input_ids: [CLS] A [SEP] B [SEP] (or [CLS] A [SEP]) with masks and replacements in it.
        segment_ids: 0 up to and with the first [SEP], then 1.
        token_boundary: 1 where a word starts and at [CLS] and [SEP], else 0.
        masked_lm_positions: where a piece is to be predicted, ascending.
        masked_lm_ids: the pieces that stood there.
        label: 0 in order, 1 swapped (sop) or of a different document (nsp).
    """

    input_ids: Sequence[int]
    segment_ids: Sequence[int]
    token_boundary: Sequence[int]
    masked_lm_positions: Sequence[int]
    masked_lm_ids: Sequence[int]
    label: int


def to_example(instance: PretrainingInstance, max_seq_length: int, max_predictions_per_seq: int) -> bytes:
    """The instance as a serialized tf.train.Example, padded with zeros to S and P.

    Raises:
        ValueError: the instance is longer than S or holds more than P predictions.
    """
    padding = max_seq_length - len(instance.input_ids)
    unused = max_predictions_per_seq - len(instance.masked_lm_ids)
    if padding < 0 or unused < 0:
        sizes = len(instance.input_ids), len(instance.masked_lm_ids)
        raise ValueError(describe_misfit(*sizes, max_seq_length, max_predictions_per_seq))
    length, predictions = len(instance.input_ids), len(instance.masked_lm_ids)
    pad, pad_predictions = bytes(padding), bytes(unused)
    return encode_example(
        {
            "input_ids": pack_integers(instance.input_ids) + pad,
            "input_mask": b"\1" * length + pad,
            "segment_ids": pack_integers(instance.segment_ids) + pad,
            "token_boundary": pack_integers(instance.token_boundary) + pad,
            "masked_lm_positions": pack_integers(instance.masked_lm_positions) + pad_predictions,
            "masked_lm_ids": pack_integers(instance.masked_lm_ids) + pad_predictions,
            "masked_lm_weights": np.array([1.0] * predictions + [0.0] * unused, np.float32),
            LABEL_ON_DISK: pack_integers([instance.label]),
        }
    )


def describe_misfit(tokens: int, predictions: int, max_seq_length: int, max_predictions_per_seq: int) -> str:
    """One line about an instance that is too long, or has too many predictions, for its record."""
    return (
        f"an instance of {tokens} tokens and {predictions} predictions does not fit "
        f"max_seq_length={max_seq_length}, max_predictions_per_seq={max_predictions_per_seq}"
    )


def from_example(message: bytes, where: str = "record") -> PretrainingInstance:
    """The instance of a serialized tf.train.Example, without its padding; lists of int.

    Args:
        message: a record, ours or an official one. A missing token_boundary is taken as all ones. One without masks
            has no predictions.
        where: file and offset, for errors.

    Raises:
        InputError: not a pre-training record.
    """
    features = _decode(message, where)
    length = int(np.sum(features["input_mask"] != 0))
    predictions = int(np.sum(features[WEIGHTS_FEATURE] > 0))
    boundary = features.get(BOUNDARY_FEATURE, np.ones(length, np.int64))
    return PretrainingInstance(
        input_ids=features["input_ids"][:length].tolist(),
        segment_ids=features["segment_ids"][:length].tolist(),
        token_boundary=boundary[:length].tolist(),
        masked_lm_positions=features["masked_lm_positions"][:predictions].tolist(),
        masked_lm_ids=features["masked_lm_ids"][:predictions].tolist(),
        label=int(features[LABEL_ON_DISK][0]),
    )


def parse_batch(serialized, max_seq_length: int, max_predictions_per_seq: int) -> dict:
    """Serialized records to the model's inputs and labels, in a tf.data graph or eagerly.

    Args:
        serialized: string tensor [B].
        max_seq_length: S of the records.
        max_predictions_per_seq: P of the records.

    Returns:
        input_ids, input_mask, segment_ids int32 [B, S]; masked_lm_positions, masked_lm_ids int32 [B, P];
        masked_lm_weights float32 [B, P]; sentence_order_labels int32 [B]. Other features are left out.
    """
    import tensorflow as tf

    lengths = dict.fromkeys(SEQUENCE_FEATURES, max_seq_length)
    lengths |= dict.fromkeys(PREDICTION_FEATURES, max_predictions_per_seq)
    wanted = {name: tf.io.FixedLenFeature([length], tf.int64) for name, length in lengths.items()}
    wanted[WEIGHTS_FEATURE] = tf.io.FixedLenFeature([max_predictions_per_seq], tf.float32)
    wanted[LABEL_ON_DISK] = tf.io.FixedLenFeature([1], tf.int64)
    parsed = tf.io.parse_example(serialized, wanted)
    batch = {name: tf.cast(parsed[name], tf.int32) for name in lengths}
    batch[WEIGHTS_FEATURE] = parsed[WEIGHTS_FEATURE]
    batch[LABEL] = tf.cast(parsed[LABEL_ON_DISK][:, 0], tf.int32)
    return batch


def record_lengths(path: str) -> tuple[int, int]:
    """(S, P) of a record file, from its first record, or from its manifest if the records have no masks.

    Raises:
        InputError: the file is empty, damaged at its start, or does not hold pre-training records.
    """
    return _lengths(path, _first_features(path), read_manifest([path]))


def check_records(paths: Sequence[str], max_seq_length: int, max_predictions_per_seq: int, vocab_size: int) -> None:
    """Looks at the first record of each file, and at its size where a manifest tells it.

    Args:
        paths: record files.
        max_seq_length, max_predictions_per_seq: the trainer's settings.
        vocab_size: the model's; ids must be below it.

    Raises:
        InputError: one line for the first file that does not fit, with what to do.
    """
    manifest = read_manifest(paths)
    entries = find_entries(paths) if manifest else {}
    for path in paths:
        features = _first_features(path)
        tokens, predictions = _lengths(path, features, manifest)
        for what, flag, held, given in (
            ("tokens", "max_seq_length", tokens, max_seq_length),
            ("predictions", "max_predictions_per_seq", predictions, max_predictions_per_seq),
        ):
            if held != given:
                raise InputError(
                    f"{path}: records hold {held} {what}, --{flag}={given}; set --{flag}={held} or make records anew"
                )
        largest = max(int(features[name].max(initial=0)) for name in ("input_ids", "masked_lm_ids"))
        if largest >= vocab_size:
            raise InputError(
                f"{path}: records hold the id {largest}, the model has vocab_size={vocab_size}; "
                "use the config and vocabulary that the records were made for"
            )
        if path in entries and file_size(path) != entries[path]["bytes"]:
            raise InputError(
                f"{path}: {file_size(path)} bytes, its manifest says {entries[path]['bytes']}; the file is cut short "
                "or was replaced"
            )


def _lengths(path: str, features: dict[str, np.ndarray], manifest: Manifest | None) -> tuple[int, int]:
    """(S, P) of the records of a file, of which these are the first one's features."""
    dynamic, masked = manifest is not None and manifest.masking == DYNAMIC, len(features["masked_lm_ids"]) > 0
    if masked and dynamic:
        raise InputError(f"{path}: holds masks, though its manifest says it does not; make the records again")
    if masked:
        return len(features["input_ids"]), len(features["masked_lm_ids"])
    if not dynamic:
        raise InputError(
            f"{path}: records without masks need the manifest that was written beside them, which says how to mask; "
            "copy it there, or make the records again"
        )
    return manifest.max_seq_length, manifest.max_predictions_per_seq


def _first_features(path: str) -> dict[str, np.ndarray]:
    for offset, message in read_records(path):
        return _decode(message, f"{path}: offset {offset}")
    raise InputError(f"{path}: holds no record; remove it or make it again")


def _decode(message: bytes, where: str) -> dict[str, np.ndarray]:
    try:
        features = decode_example(message)
    except ValueError as error:
        raise InputError(f"{where}: {error}; give pre-training records") from None
    if is_unmasked(features):
        return decode_unmasked(features, where)
    required = (*SEQUENCE_FEATURES, *PREDICTION_FEATURES, WEIGHTS_FEATURE, LABEL_ON_DISK)
    missing = [name for name in required if len(features.get(name, ())) == 0]
    if missing:
        raise InputError(
            f"{where}: not a pre-training record, it lacks {', '.join(missing)}; it holds "
            f"{', '.join(sorted(features)) or 'nothing'}; make records with create_pretraining_data"
        )
    lengths = dict.fromkeys(SEQUENCE_FEATURES, len(features["input_ids"]))
    lengths |= dict.fromkeys((*PREDICTION_FEATURES, WEIGHTS_FEATURE), len(features["masked_lm_ids"]))
    for name, length in {**lengths, LABEL_ON_DISK: 1}.items():
        kind = np.dtype(np.float32 if name == WEIGHTS_FEATURE else np.int64)
        values = features[name]
        if isinstance(values, list) or values.dtype != kind or len(values) != length:
            raise InputError(f"{where}: not a pre-training record, {name} is not {length} numbers of type {kind}")
    return features
