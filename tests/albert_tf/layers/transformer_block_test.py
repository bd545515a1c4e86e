"""A block made of its config, and what stands in place of a config."""

import keras
import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.heads.pretraining import MaskedLMHead
from albert_tf.kernels import View
from albert_tf.layers.attention import SelfAttention
from albert_tf.layers.embeddings import AlbertEmbeddings
from albert_tf.layers.encoder import SharedEncoder
from albert_tf.layers.feed_forward import FeedForward
from albert_tf.layers.transformer_block import TransformerBlock
from albert_tf.runtime.errors import InputError

CONFIG = AlbertConfig(vocab_size=10, hidden_size=6, num_attention_heads=2, intermediate_size=12)


def test_one_config_makes_two_blocks_with_weights_of_their_own():
    config = TransformerBlock(SelfAttention(CONFIG), FeedForward(CONFIG)).get_config()
    kept = {**config}
    first, second = (TransformerBlock.from_config(config) for _ in range(2))
    assert config == kept
    assert first.attention is not second.attention
    x, view = np.ones((1, 3, 6), "float32"), View.of(np.ones((1, 3)))
    for block in (first, second):
        block.build()
    second.set_weights(first.get_weights())
    np.testing.assert_array_equal(first(x, view=view), second(x, view=view))
    assert keras.saving.serialize_keras_object(second)["config"].keys() == config.keys()


def test_a_block_in_a_model_of_ones_own_takes_a_mask(tmp_path):
    block = TransformerBlock(SelfAttention(CONFIG), FeedForward(CONFIG))
    hidden, mask = keras.Input((None, 6)), keras.Input((None,), dtype="int32")
    model = keras.Model([hidden, mask], block(hidden, input_mask=mask))
    x, tokens = np.random.default_rng(0).normal(size=(2, 4, 6)).astype("float32"), np.array([[1] * 4, [1, 1, 0, 0]])
    expected = block(x, view=View.of(tokens))
    np.testing.assert_array_equal(model([x, tokens]), expected)
    model.save(tmp_path / "block.keras")
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "block.keras")([x, tokens]), expected)
    np.testing.assert_array_equal(block(x), block(x, view=View.of(np.ones((2, 4)))))


@pytest.mark.parametrize("layer", [AlbertEmbeddings, SelfAttention, FeedForward, SharedEncoder, MaskedLMHead])
@pytest.mark.parametrize("config", ["albert_base_v2", None, 768])
def test_what_is_no_config_is_one_line(layer, config):
    with pytest.raises(InputError, match=f"must be an AlbertConfig or the dict of one. Received {config!r}"):
        layer(config)
