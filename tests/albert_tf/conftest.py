"""Small things that tests of the model and of training share: a config, and records of random ids."""

import dataclasses

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.inputs.instance_batch import InstanceBatch, to_unmasked_examples
from albert_tf.inputs.manifest import MANIFEST_SUFFIX, Manifest
from albert_tf.inputs.masking_rules import DYNAMIC, MaskingRules, PieceIds, masking_to_json
from albert_tf.inputs.pretraining_records import PretrainingInstance, to_example
from albert_tf.inputs.record_files import frame

SEQUENCE_LENGTH, PREDICTIONS = 16, 4


@pytest.fixture
def small_config() -> AlbertConfig:
    """A model that trains in milliseconds, with dropout."""
    return AlbertConfig(
        vocab_size=60,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=SEQUENCE_LENGTH,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )


@pytest.fixture
def three_layers(small_config) -> AlbertConfig:
    """`small_config` with room for three groups."""
    return dataclasses.replace(small_config, num_hidden_layers=3)


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


@pytest.fixture
def write_records(tmp_path):
    """A function that writes a file of `count` random records and returns its path."""

    def write(name: str, count: int, seed: int = 0) -> str:
        rng = np.random.default_rng(seed)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        messages = [to_example(_random_instance(rng), SEQUENCE_LENGTH, PREDICTIONS) for _ in range(count)]
        path.write_bytes(b"".join(frame(message) for message in messages))
        return str(path)

    return write


def _random_batch(rng, count: int, max_length: int = SEQUENCE_LENGTH, separated: bool = True) -> InstanceBatch:
    """Examples without predictions: two segments or, one in five, one; words of a piece or more.

    Args:
        rng, count, max_length: which, how many and how long.
        separated: whether a word starts with each segment, as it does without reference_quirks.
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


@pytest.fixture
def random_batch():
    """A function of (rng, count, max_length, separated): an InstanceBatch without predictions, ids below 60."""
    return _random_batch


@pytest.fixture
def write_unmasked_records(tmp_path):
    """A function that writes files of `count` random records without masks each, their manifest; returns the paths."""

    def write(base: str, count: int, num_files: int = 1, seed: int = 0, **changes) -> list[str]:
        rng, names = np.random.default_rng(seed), [f"{base}-{number}" for number in range(num_files)]
        for name in names:
            messages = to_unmasked_examples(_random_batch(rng, count), SEQUENCE_LENGTH)
            (tmp_path / name).write_bytes(b"".join(map(frame, messages)))
        manifest = Manifest(
            files=[{"name": n, "examples": count, "bytes": (tmp_path / n).stat().st_size, "sha256": ""} for n in names],
            num_examples=count * num_files,
            max_seq_length=SEQUENCE_LENGTH,
            max_predictions_per_seq=PREDICTIONS,
            sentence_task="sop",
            compression="none",
            vocabulary={"file": "v.model", "sha256": "ab", "size": 60},
            masking=DYNAMIC,
            masking_parameters=masking_to_json(MaskingRules(0.2, PREDICTIONS), PieceIds(60)),
        )
        (tmp_path / (base + MANIFEST_SUFFIX)).write_text(dataclasses.replace(manifest, **changes).to_json())
        return [str(tmp_path / name) for name in names]

    return write
