"""Presets against KerasHub itself: outputs, files and tokenizer, in both directions.

Its masked-LM head adds 1e-5 to the variance, where the official code adds 1e-12. So its logits are compared with
that epsilon changed, and once as they are.
"""

import json

import h5py
import keras
import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.conversion.keras_hub import load_keras_hub, save_keras_hub
from albert_tf.models.named_weights import named_weights

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

TOLERANCE = 1e-5
OFFICIAL_EPSILON = 1e-12

CONFIGS = {
    "plain": {},
    "inner groups": {"inner_group_num": 2, "num_hidden_layers": 2},
    "two groups": {"num_hidden_groups": 2, "num_hidden_layers": 4},
    "three groups of one layer": {"num_hidden_groups": 3},
    "three groups of two inner": {"num_hidden_groups": 3, "inner_group_num": 2, "num_hidden_layers": 6},
    "no projection": {"embedding_size": 24},
    "no projection, two groups": {"embedding_size": 24, "num_hidden_groups": 2, "num_hidden_layers": 2},
    "nothing shared": {"parameter_sharing": "none"},
    "gelu_new and dropout": {
        "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
    },
    "one head, one segment": {"num_attention_heads": 1, "type_vocab_size": 1},
    "many small heads": {"num_attention_heads": 24, "vocab_size": 7},
}


@pytest.fixture(scope="module")
def keras_hub():
    return pytest.importorskip("keras_hub", reason="install the parity extra")


@pytest.fixture(params=list(CONFIGS.values()), ids=list(CONFIGS))
def changes(request):
    return request.param


@pytest.fixture
def ours(random_model, changes):
    return random_model(**changes)


def _their_backbone(keras_hub, config: AlbertConfig, **arguments):
    """A backbone of KerasHub with random weights, biases and LayerNorms too."""
    backbone = keras_hub.models.AlbertBackbone(
        vocabulary_size=config.vocab_size,
        num_layers=config.num_hidden_layers,
        num_heads=config.num_attention_heads,
        embedding_dim=config.embedding_size,
        hidden_dim=config.hidden_size,
        intermediate_dim=config.intermediate_size,
        num_groups=config.num_hidden_layers if config.parameter_sharing == "none" else config.num_hidden_groups,
        num_inner_repetitions=config.inner_group_num,
        dropout=config.hidden_dropout_prob,
        max_sequence_length=config.max_position_embeddings,
        num_segments=config.type_vocab_size,
        **arguments,
    )
    _randomise(backbone)
    if config.embedding_size == config.hidden_size:
        projection = backbone.get_layer("embedding_projection")
        projection.set_weights([np.eye(config.hidden_size), np.zeros(config.hidden_size)])
    return backbone


def _randomise(model):
    rng = np.random.default_rng(2)
    for variable in model.trainable_variables:
        centre = 1.0 if variable.path.endswith("gamma") else 0.0
        variable.assign(centre + 0.1 * rng.standard_normal(variable.shape))


def _batch(config: AlbertConfig):
    """Rows of 11 tokens: full, padded after and before the text, with holes, at random, and all padding but one."""
    rng, places = np.random.default_rng(3), np.arange(11)
    masks = [places >= 0, places < 7, places > 3, places % 3 == 1, rng.random(11) < 0.5, places == 0]
    return {
        "ids": rng.integers(0, config.vocab_size, (6, 11)).astype("int32"),
        "mask": np.stack(masks).astype("int32"),
        "segments": rng.integers(0, config.type_vocab_size, (6, 11)).astype("int32"),
        "positions": np.array([[1, 3, 3], [0, 6, 2], [4, 10, 5], [1, 4, 10], [2, 3, 9], [0, 0, 0]], "int32"),
    }


def _our_outputs(model):
    batch = _batch(model.config)
    return model(
        {
            "input_ids": tf.constant(batch["ids"]),
            "input_mask": tf.constant(batch["mask"]),
            "segment_ids": tf.constant(batch["segments"]),
            "masked_lm_positions": tf.constant(batch["positions"]),
        }
    )


def _their_inputs(config):
    batch = _batch(config)
    return {"token_ids": batch["ids"], "padding_mask": batch["mask"], "segment_ids": batch["segments"]}


def _assert_encoders_agree(model, backbone):
    outputs, theirs = _our_outputs(model), backbone(_their_inputs(model.config))
    for key in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(outputs[key], theirs[key], rtol=0, atol=TOLERANCE, err_msg=key)


def _logit_difference(model, task):
    logits = task({**_their_inputs(model.config), "mask_positions": _batch(model.config)["positions"]})
    return np.abs(np.asarray(_our_outputs(model)["masked_lm_logits"]) - np.asarray(logits)).max()


def _with_official_epsilon(task):
    task.masked_lm_head._intermediate_layer_norm.epsilon = OFFICIAL_EPSILON
    return task


def _layout(path):
    """{dataset: (shape, type)} of an HDF5 file."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name] = (item.shape, item.dtype)

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def test_our_weights_compute_the_same_in_keras_hub(ours, keras_hub, tmp_path):
    save_keras_hub(ours, str(tmp_path / "preset"))
    _assert_encoders_agree(ours, keras_hub.models.AlbertBackbone.from_preset(str(tmp_path / "preset")))
    backbone = _their_backbone(keras_hub, ours.config)
    backbone.load_weights(str(tmp_path / "preset" / "model.weights.h5"))
    _assert_encoders_agree(ours, backbone)
    task = keras_hub.models.AlbertMaskedLM.from_preset(str(tmp_path / "preset"))
    _assert_encoders_agree(ours, task.backbone)
    assert _logit_difference(ours, _with_official_epsilon(task)) < TOLERANCE


def test_their_weights_compute_the_same_here(random_model, changes, keras_hub, tmp_path):
    config = random_model(**changes).config
    task = keras_hub.models.AlbertMaskedLM(_their_backbone(keras_hub, config))
    _randomise(task.masked_lm_head)
    task.save_to_preset(str(tmp_path / "preset"))
    model = load_keras_hub(str(tmp_path / "preset"))
    assert all(name.startswith("sentence_order/") for name in model.load_report.missing)
    _assert_encoders_agree(model, task.backbone)
    assert _logit_difference(model, _with_official_epsilon(task)) < TOLERANCE

    task.backbone.save_weights(str(tmp_path / "alone.weights.h5"))
    _assert_encoders_agree(load_keras_hub(str(tmp_path / "alone.weights.h5"), config), task.backbone)


def test_our_files_are_laid_out_as_theirs(ours, keras_hub, tmp_path):
    save_keras_hub(ours, str(tmp_path / "ours"))
    keras.utils.clear_session()
    task = keras_hub.models.AlbertMaskedLM(_their_backbone(keras_hub, ours.config))
    task.save_to_preset(str(tmp_path / "theirs"))
    for name in ("model.weights.h5", "task.weights.h5"):
        assert _layout(tmp_path / "ours" / name) == _layout(tmp_path / "theirs" / name)
    for name in ("config.json", "task.json"):
        first, second = (json.loads((tmp_path / folder / name).read_text()) for folder in ("ours", "theirs"))
        assert first == second


def test_their_epsilon_changes_the_logits_of_the_masked_lm_head(random_model, keras_hub, tmp_path):
    model = random_model()
    save_keras_hub(model, str(tmp_path / "preset"))
    task = keras_hub.models.AlbertMaskedLM.from_preset(str(tmp_path / "preset"))
    assert task.masked_lm_head._intermediate_layer_norm.epsilon == 1e-5
    assert TOLERANCE < _logit_difference(model, task) < 1e-3


def test_a_vocabulary_goes_along(random_model, vocabulary_file, keras_hub, tmp_path):
    model = random_model()
    folder = str(tmp_path / "preset")
    save_keras_hub(model, folder, vocabulary_file)
    text = "bade fogi kulo."
    expected = sentencepiece.SentencePieceProcessor(model_file=vocabulary_file).encode(text)
    assert list(keras_hub.models.AlbertTokenizer.from_preset(folder)(text)) == expected
    task = keras_hub.models.AlbertMaskedLM.from_preset(folder)
    assert task.preprocessor.sequence_length == model.config.max_position_embeddings
    assert np.isfinite(task.predict([text], verbose=0)).all()
    classifier = keras_hub.models.AlbertTextClassifier.from_preset(folder, num_classes=2)
    _assert_encoders_agree(model, classifier.backbone)

    task.save_to_preset(str(tmp_path / "back"))
    names = sorted(str(path.relative_to(tmp_path / "back")) for path in (tmp_path / "back").rglob("*"))
    assert names == sorted(str(path.relative_to(folder)) for path in (tmp_path / "preset").rglob("*"))
    for name, value in named_weights(load_keras_hub(str(tmp_path / "back"))).items():
        if not name.startswith("sentence_order/"):
            np.testing.assert_array_equal(value.numpy(), named_weights(model)[name].numpy(), err_msg=name)


def test_a_classifier_gives_its_encoder(random_model, keras_hub, tmp_path):
    backbone = _their_backbone(keras_hub, random_model().config)
    keras_hub.models.AlbertTextClassifier(backbone, num_classes=3).save_to_preset(str(tmp_path / "preset"))
    model = load_keras_hub(str(tmp_path / "preset"))
    assert len(model.load_report.skipped["a fine-tuning head"]) == 2
    _assert_encoders_agree(model, backbone)


def test_shards_are_put_together(random_model, keras_hub, tmp_path):
    backbone = _their_backbone(keras_hub, random_model().config)
    backbone.save_to_preset(str(tmp_path / "preset"), max_shard_size=1e-5)
    assert len(list((tmp_path / "preset").glob("model_*.weights.h5"))) > 1
    _assert_encoders_agree(load_keras_hub(str(tmp_path / "preset")), backbone)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_read_number_by_number(random_model, keras_hub, tmp_path, dtype):
    backbone = _their_backbone(keras_hub, random_model().config, dtype=dtype)
    backbone.save_to_preset(str(tmp_path / "preset"))
    model = load_keras_hub(str(tmp_path / "preset"))
    assert set(model.load_report.converted.values()) == {dtype}
    np.testing.assert_array_equal(
        named_weights(model)["albert/embeddings/word_embeddings"].numpy(),
        np.asarray(backbone.token_embedding.embeddings).astype("float32"),
    )
