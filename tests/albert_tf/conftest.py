"""Small things that tests of the model and of training share: a config, and records of random ids."""

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
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
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=SEQUENCE_LENGTH,
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
    )


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
