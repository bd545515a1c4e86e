"""Embedder by a checkpoint, a SavedModel, ONNX and LiteRT: the same vectors, and what it refuses in one line."""

import json

import numpy as np
import pytest

from albert_tf import door
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VectorDense
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.runtime.errors import InputError
from albert_tf.serving.embedder import Embedder

LENGTH = 20
OUTPUTS = ("sequence_output", "pooled_output")
TEXTS = ["Babe dika, 1995.", "tuko", "", "ba be bi bo bu " * 20, "Babe dika, 1995."]


@pytest.fixture(scope="module")
def served(exported):
    return Embedder(exported)


@pytest.fixture(scope="module")
def by_hand(exported_weights, export_tokenizer):
    """A function of a pooling to the vectors of TEXTS, each text by itself."""

    def vectors(pooling):
        found = []
        for text in TEXTS:
            batch = export_tokenizer([text], max_length=LENGTH)
            outputs = {
                name: np.asarray(value) for name, value in exported_weights.albert(batch).items() if name in OUTPUTS
            }
            found.append(pooling.pool({**outputs, "input_mask": batch["input_mask"]})[0])
        return np.array(found)

    return vectors


def test_a_saved_model_gives_the_mean_of_length_1_whatever_the_batches(served, by_hand):
    expected = by_hand(Pooling())
    assert served.pooling == Pooling("mean", True, LENGTH)
    for batch_size in (2, 32):
        vectors = served.embed(TEXTS, batch_size)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, expected, atol=2e-6)
    np.testing.assert_allclose(served("tuko"), expected[1:2], atol=2e-6)
    assert served.embed([]).shape == (0, served.hidden_size)


@pytest.mark.slow
def test_a_saved_model_pools_in_another_way_when_it_is_asked_to(exported, by_hand):
    for asked in (Pooling("cls", False), Pooling("pooled", True)):
        embedder = Embedder(exported, asked.mode, normalize=asked.normalize)
        np.testing.assert_allclose(embedder(TEXTS), by_hand(asked), atol=2e-6)


@pytest.mark.slow
def test_a_folder_of_sentence_transformers_says_how(exported_weights, export_vocabulary, by_hand, tmp_path):
    door.save(exported_weights, str(tmp_path / "model"), "sentence_transformers", export_vocabulary)
    (tmp_path / "model" / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    embedder = Embedder(tmp_path / "model", max_seq_length=np.int64(LENGTH))
    assert embedder.pooling == Pooling("cls", True, LENGTH)
    np.testing.assert_allclose(embedder(TEXTS), by_hand(Pooling("cls")), atol=2e-6)


@pytest.fixture(scope="module")
def with_dense(exported_weights, export_vocabulary, tmp_path_factory):
    """A checkpoint of the same weights whose vectors go through a dense layer; its pooling."""
    rng = np.random.default_rng(5)
    dense = VectorDense(7, "tanh", rng.standard_normal((16, 7), np.float32), rng.standard_normal(7, np.float32))
    folder, pooling = tmp_path_factory.mktemp("dense") / "model", Pooling("mean", True, LENGTH, dense)
    exported_weights.pooling = pooling
    try:
        door.save(exported_weights, str(folder), "albert_tf", export_vocabulary)
    finally:
        del exported_weights.pooling
    return folder, pooling


@pytest.mark.slow
@pytest.mark.parametrize("format_name", [None, "saved_model", "onnx", "litert"])
def test_a_dense_layer_goes_into_every_export(with_dense, by_hand, tmp_path, format_name):
    folder, pooling = with_dense
    if format_name is not None:
        head = {} if format_name == "saved_model" else {"head": "embedding", "precision": "float32"}
        export_model(
            ModelExportSettings(
                init_checkpoint=str(folder), output_dir=str(tmp_path / "export"), format=format_name, **head
            )
        )
    embedder = Embedder(folder if format_name is None else tmp_path / "export")
    assert (embedder.pooling, embedder.hidden_size) == (pooling, 7)
    np.testing.assert_allclose(embedder(TEXTS), by_hand(pooling), atol=5e-6)


@pytest.mark.slow
def test_vectors_of_pieces_alone_are_not_made_texts_of_without_the_dense_layer(with_dense, tmp_path):
    folder, _ = with_dense
    asked = {"init_checkpoint": str(folder), "precision": "float32"}
    export_model(ModelExportSettings(**asked, output_dir=str(tmp_path / "onnx"), format="onnx", head="encoder"))
    with pytest.raises(InputError, match="without the dense layer .*; export the model with --head=embedding"):
        Embedder(tmp_path / "onnx")
    export_model(ModelExportSettings(**asked, output_dir=str(tmp_path / "saved"), format="saved_model"))
    with pytest.raises(InputError, match="gives vectors that are mean, a dense layer to 7 numbers, of length 1; exp"):
        Embedder(tmp_path / "saved", "cls")


@pytest.mark.slow
def test_the_encoder_of_a_fine_tuned_model_gives_vectors_too(predictors):
    embedder = Embedder(predictors["token_classification"].path)
    assert embedder(TEXTS).shape == (5, 16)
    with pytest.raises(InputError, match="--pooling=pooled: .* has no pooler; choose mean or cls"):
        Embedder(predictors["token_classification"].path, "pooled")


@pytest.mark.slow
def test_the_export_of_a_fine_tuned_model_gives_none(exports):
    with pytest.raises(InputError, match="is an export of a fine-tuned model, which gives no vectors of texts"):
        Embedder(exports["finetuned"])


@pytest.mark.slow
@pytest.mark.parametrize("format_name", ["onnx", "litert"])
@pytest.mark.parametrize("pooling", [None, "cls", "pooled"])
def test_onnx_and_litert_give_the_same_vectors(portable_export, by_hand, format_name, pooling):
    folder = portable_export("pretraining", format_name, "embedding", pooling=pooling)
    embedder = Embedder(folder)
    assert embedder.pooling == Pooling(pooling or "mean", True, LENGTH)
    np.testing.assert_allclose(embedder(TEXTS), by_hand(Pooling(pooling or "mean")), atol=5e-6)
    with pytest.raises(InputError, match="gives vectors that are .*, of length 1; export the model again for"):
        Embedder(folder, normalize=False)


@pytest.mark.slow
def test_an_encoder_as_onnx_is_pooled_as_it_is_asked(portable_export, by_hand):
    folder = portable_export("pretraining", "onnx", "encoder")
    for asked in (Pooling(), Pooling("cls", False), Pooling("pooled")):
        np.testing.assert_allclose(
            Embedder(folder, asked.mode, normalize=asked.normalize)(TEXTS), by_hand(asked), atol=5e-6
        )
    with pytest.raises(InputError, match="of the head pretraining, which gives no vectors of texts"):
        Embedder(portable_export("pretraining", "onnx"))


@pytest.mark.parametrize(
    "texts, message",
    [
        (7, "a list of texts was expected; received 7"),
        (["a", 7], "`texts` must be texts that UTF-8 can hold. Received 7"),
        (["\udcff"], "`texts` must be texts that UTF-8 can hold"),
    ],
)
def test_what_is_no_text_is_one_line(served, texts, message):
    with pytest.raises(InputError, match=message):
        served.embed(texts)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"pooling": "max"}, "--pooling must be one of mean, cls, pooled. Received 'max'"),
        ({"max_seq_length": 8}, "--max_seq_length is for checkpoints; .* is an export"),
        ({"num_threads": 2}, "--num_threads=2: .* is run by TensorFlow, which has begun with a different number"),
    ],
)
def test_what_an_export_cannot_do_is_one_line(exported, settings, message):
    with pytest.raises(InputError, match=message):
        Embedder(exported, **settings)


def test_no_batch_size_and_no_model_are_one_line(served, tmp_path):
    with pytest.raises(InputError, match="`batch_size` must be a whole number of at least 1. Received 0"):
        served.embed(["a"], 0)
    with pytest.raises(InputError, match="no model here"):
        Embedder(tmp_path / "nothing")
