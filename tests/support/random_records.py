"""Random examples of pre-training, ids below 60, and record files of them: with masks, and without."""

import dataclasses
from pathlib import Path

import numpy as np

from albert_tf.records.instance_batch import InstanceBatch, to_unmasked_examples
from albert_tf.records.manifest import MANIFEST_SUFFIX, Manifest
from albert_tf.records.masking_rules import DYNAMIC, MaskingRules, PieceIds, masking_to_json
from albert_tf.records.pretraining_records import PretrainingInstance, to_example
from albert_tf.records.record_files import frame

SEQUENCE_LENGTH, PREDICTIONS = 16, 4


def _random_instance(rng) -> PretrainingInstance:
    """A pair whose pieces come from one half of the vocabulary or the other, as its label says: easy to learn."""
    length = int(rng.integers(8, SEQUENCE_LENGTH + 1))
    label = int(rng.integers(2))
    ids = [2, *(rng.integers(5, 32, length - 2) + 28 * label).tolist(), 3]
    positions = sorted(
        rng.choice(np.arange(1, length - 1), int(rng.integers(1, PREDICTIONS + 1)), replace=False).tolist()
    )
    return PretrainingInstance(
        input_ids=[4 if position in positions else piece for position, piece in enumerate(ids)],
        segment_ids=[0] * (length // 2) + [1] * (length - length // 2),
        token_boundary=[1] * length,
        masked_lm_positions=positions,
        masked_lm_ids=[ids[position] for position in positions],
        label=label,
    )


def write_records(folder: Path, name: str, count: int, seed: int = 0) -> str:
    """Writes a file of `count` random records and returns its path."""
    rng = np.random.default_rng(seed)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    messages = [to_example(_random_instance(rng), SEQUENCE_LENGTH, PREDICTIONS) for _ in range(count)]
    path.write_bytes(b"".join(frame(message) for message in messages))
    return str(path)


def random_batch(rng, count: int, max_length: int = SEQUENCE_LENGTH, separated: bool = True) -> InstanceBatch:
    """Examples without predictions: two segments or, one in five, one; words of a piece or more.

    Args:
        rng: the source of the random numbers.
        count: number of examples.
        max_length: largest number of tokens in an example.
        separated: True to start a word with each segment, as is done without reference_quirks.
    """
    lengths = rng.integers(5, max_length + 1, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    firsts = np.where(rng.random(count) < 0.2, lengths, 3 + (rng.random(count) * (lengths - 4)).astype(int))
    ids, boundary = rng.integers(5, 60, offsets[-1]), (rng.random(offsets[-1]) < 0.6).astype(np.uint8)
    starts, ends = offsets[:-1], offsets[1:]
    for place, piece in ((starts, 2), (starts + firsts - 1, 3), (ends - 1, 3)):
        ids[place], boundary[place] = piece, 1
    if separated:
        boundary[starts + 1] = 1
        boundary[(starts + firsts)[firsts < lengths]] = 1
    nothing = np.zeros(0, np.int64)
    labels = rng.integers(0, 2, count).astype(np.uint8)
    return InstanceBatch(ids, offsets, firsts, boundary, nothing, nothing, np.zeros(count + 1, np.int64), labels)


def write_unmasked_records(
    folder: Path, base: str, count: int, num_files: int = 1, seed: int = 0, **changes
) -> list[str]:
    """Writes files of `count` random records without masks each, and their manifest; returns the paths.

    Args:
        folder: where they go.
        base: first part of their names.
        count: records of a file.
        num_files: number of files.
        seed: of the random numbers.
        **changes: fields of the manifest that are to be different.
    """
    rng, names = np.random.default_rng(seed), [f"{base}-{number}" for number in range(num_files)]
    for name in names:
        messages = to_unmasked_examples(random_batch(rng, count), SEQUENCE_LENGTH)
        (folder / name).write_bytes(b"".join(map(frame, messages)))
    manifest = Manifest(
        files=[{"name": n, "examples": count, "bytes": (folder / n).stat().st_size, "sha256": ""} for n in names],
        num_examples=count * num_files,
        max_seq_length=SEQUENCE_LENGTH,
        max_predictions_per_seq=PREDICTIONS,
        sentence_task="sop",
        compression="none",
        vocabulary={"file": "v.model", "sha256": "ab", "size": 60},
        masking=DYNAMIC,
        masking_parameters=masking_to_json(MaskingRules(0.2, PREDICTIONS), PieceIds(60)),
    )
    (folder / (base + MANIFEST_SUFFIX)).write_text(dataclasses.replace(manifest, **changes).to_json())
    return [str(folder / name) for name in names]
