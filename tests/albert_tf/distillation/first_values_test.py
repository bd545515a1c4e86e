"""First values of a student: an attention that weighs pieces by how rare they are, and what embeddings say of that."""

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.distillation.first_values import initialise_words, rareness
from albert_tf.distillation.teacher import Axes, TaughtTexts
from albert_tf.inputs.finetuning_features import Ragged
from albert_tf.models.named_weights import named_weights
from albert_tf.models.text_vectors import AlbertForEmbedding


def test_what_stands_for_a_weight_is_its_logarithm_over_nine():
    counts = np.array([0, 3, 9997])
    weights, found = 3e-4 / (3e-4 + counts / 10_000), rareness(counts)
    np.testing.assert_allclose(np.exp(9 * (found - found[0])), weights, rtol=1e-4)
    assert np.sum(counts * weights * found) == pytest.approx(0.0, abs=1e-5)
    assert rareness(np.zeros(3, np.int64)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("embedding_size, hidden_size", [(64, 64), (32, 64)])
def test_the_first_attention_gives_the_shares_of_smooth_inverse_frequency(embedding_size, hidden_size):
    rng = np.random.default_rng(0)
    shape = {"num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 8, "max_position_embeddings": 8}
    sizes = {"vocab_size": 30, "embedding_size": embedding_size, "hidden_size": hidden_size}
    model = AlbertForEmbedding(AlbertConfig(**shape, **sizes, initializer_range=1e-4))
    texts = [rng.choice(30, 4, p=np.arange(1, 31) / 465) for _ in range(200)]
    pieces = Ragged.of_lengths(np.concatenate(texts).astype(np.int32), np.full(200, 4))
    taught = TaughtTexts(["a"] * 200, np.arange(200), rng.standard_normal((200, 48)).astype(np.float32))
    initialise_words(model, taught, pieces, Axes.of(taught, hidden_size))
    for name in ("position_embeddings", "token_type_embeddings"):
        variable = named_weights(model)[f"albert/embeddings/{name}"]
        variable.assign(np.zeros(variable.shape, np.float32))
    ids = np.array([[1, 5, 29, 28]], np.int32)
    found = model.albert({"input_ids": ids}, output_attentions=True)["attentions"][0]
    counts = np.bincount(pieces.values, minlength=30)
    wanted = (3e-4 / (3e-4 + counts / counts.sum()))[ids[0]]
    np.testing.assert_allclose(np.array(found)[0, :, 2], np.tile(wanted / wanted.sum(), (4, 1)), rtol=0.35)
