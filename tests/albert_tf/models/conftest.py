"""A model, a batch and the pooled output, for the tests of what models take and refuse."""

import dataclasses

import numpy as np
import pytest

from albert_tf.models.albert import AlbertModel

BATCH_SIZE, LENGTH = 3, 12


@pytest.fixture
def model(small_config) -> AlbertModel:
    """An encoder with weights so large that no input is without effect."""
    return AlbertModel(dataclasses.replace(small_config, initializer_range=0.2))


@pytest.fixture
def batch() -> dict[str, np.ndarray]:
    """Three sequences of 12, 7 and 3 tokens, padded to 12."""
    rng = np.random.default_rng(0)
    return {
        "input_ids": rng.integers(60, size=(BATCH_SIZE, LENGTH)),
        "input_mask": (np.arange(LENGTH) < np.array([[12], [7], [3]])).astype("int32"),
        "segment_ids": rng.integers(2, size=(BATCH_SIZE, LENGTH)),
    }


@pytest.fixture
def pooled():
    """A function of (model, inputs, arguments of the call), to the pooled output as an array."""

    def call(model, inputs, **arguments) -> np.ndarray:
        return np.asarray(model(inputs, **arguments)["pooled_output"])

    return call
