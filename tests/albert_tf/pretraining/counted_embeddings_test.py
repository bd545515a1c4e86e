"""Counted embeddings in a new model: which rows they fill and how large, and files that are not good."""

import dataclasses
import json

import numpy as np
import pytest

from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.pretraining.initial_values import initialise_embeddings
from albert_tf.pretraining.pretrain import run
from albert_tf.runtime.errors import InputError

NAME = "albert/embeddings/word_embeddings"


@pytest.fixture
def counted(small_config) -> np.ndarray:
    """Large numbers for all pieces but the first five."""
    shape = (small_config.vocab_size, small_config.embedding_size)
    values = np.random.default_rng(0).normal(scale=30, size=shape).astype("float32")
    values[:5] = 0
    return values


@pytest.fixture
def write(tmp_path):
    """A function that writes embeddings as count_embeddings does."""

    def write(values, sha256="a" * 64) -> str:
        path = str(tmp_path / "counted.npz")
        vocabulary = {"file": "v.model", "sha256": sha256, "size": len(values)}
        np.savez(path, word_embeddings=values, vocabulary=json.dumps(vocabulary))
        return path

    return write


def test_rows_with_neighbours_are_replaced_at_the_size_of_the_random_ones(small_config, counted, write):
    model = AlbertForPretraining(small_config)
    before = {name: np.array(variable) for name, variable in named_weights(model).items()}
    assert initialise_embeddings(model, write(counted))["sha256"] == "a" * 64
    after = {name: np.array(variable) for name, variable in named_weights(model).items()}
    values, random = after.pop(NAME), before.pop(NAME)
    np.testing.assert_array_equal(values[:5], random[:5])
    ratios = values[5:] / counted[5:]
    np.testing.assert_allclose(ratios, ratios[0, 0], rtol=1e-5)
    assert np.sqrt(np.mean(values[5:] ** 2)) == pytest.approx(np.sqrt(np.mean(random**2)), rel=1e-5)
    for name, value in after.items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.slow
def test_a_run_starts_from_them_if_they_are_of_its_vocabulary(settings, counted, write, write_manifest, read_weights):
    write_manifest(settings.input_file, "a" * 64)
    settings = dataclasses.replace(settings, num_train_steps=1, num_warmup_steps=0, learning_rate=1e-9)
    with pytest.raises(InputError, match="made with another vocabulary"):
        run(dataclasses.replace(settings, init_embeddings=write(counted, "b" * 64)))
    run(dataclasses.replace(settings, init_embeddings=write(counted)))
    ratios = read_weights(settings.output_dir, 1)[NAME][5:] / counted[5:]
    np.testing.assert_allclose(ratios, ratios[0, 0], rtol=1e-3)


def test_embeddings_beside_a_checkpoint_are_refused(settings):
    with pytest.raises(InputError, match="not both"):
        dataclasses.replace(settings, init_embeddings="counted.npz", init_checkpoint="elsewhere")


def _refused(model, path) -> str:
    with pytest.raises(InputError) as caught:
        initialise_embeddings(model, path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_that_are_not_good_are_one_line(small_config, counted, write, tmp_path):
    model = AlbertForPretraining(small_config)
    assert "does not exist; count_embeddings makes it" in _refused(model, str(tmp_path / "none.npz"))
    assert "count with --embedding_size=" in _refused(model, write(counted[:, 1:]))
    assert "no embeddings of numbers" in _refused(model, write(np.full_like(counted, np.nan)))
    assert "no embeddings of numbers" in _refused(model, write(np.zeros_like(counted)))
    whole = (tmp_path / "counted.npz").read_bytes()
    for damaged in (b"", b"no archive", whole[: len(whole) // 2], whole[:200] + b"?" * 50 + whole[250:]):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        assert "is damaged, or not of count_embeddings" in _refused(model, str(tmp_path / "damaged.npz"))
    np.savez(tmp_path / "other.npz", something=counted)
    assert "is damaged, or not of count_embeddings" in _refused(model, str(tmp_path / "other.npz"))
