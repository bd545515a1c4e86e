"""The masked-LM head: which positions it reads, and that its scores are against the encoder's own table."""

import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.heads.pretraining import MaskedLMHead
from albert_tf.kernels import gather_positions
from albert_tf.models.pretraining import AlbertForPretraining


def test_positions_are_gathered_from_their_own_sequence():
    sequence = np.arange(24, dtype="float32").reshape(2, 4, 3)
    gathered = gather_positions(sequence, np.array([[0, 3], [2, 2]]))
    np.testing.assert_array_equal(gathered, [[sequence[0, 0], sequence[0, 3]], [sequence[1, 2], sequence[1, 2]]])


def test_scores_follow_the_word_embeddings(small_config):
    model = AlbertForPretraining(small_config)
    inputs = {"input_ids": np.full((1, 4), 7, "int32"), "masked_lm_positions": np.array([[1, 2]], "int32")}
    before = np.asarray(model(inputs)["masked_lm_logits"])
    assert before.shape == (1, 2, small_config.vocab_size)
    table = model.albert.embeddings.word_embeddings
    changed = table.numpy()
    changed[33] *= 2  # a word that is not in the input: its score doubles, no other moves
    table.assign(changed)
    after = np.asarray(model(inputs)["masked_lm_logits"])
    np.testing.assert_allclose(after[..., 33], 2 * before[..., 33], rtol=1e-5)
    np.testing.assert_array_equal(np.delete(after, 33, -1), np.delete(before, 33, -1))


def test_a_config_makes_the_same_head(small_config):
    head = MaskedLMHead(small_config)
    assert MaskedLMHead.from_config(head.get_config()).get_config() == head.get_config()


def test_relu_and_gelu_heads_differ(small_config):
    inputs = {"input_ids": np.full((1, 4), 7, "int32"), "masked_lm_positions": np.array([[1, 2]], "int32")}
    logits = []
    for activation in ("gelu", "relu"):
        model = AlbertForPretraining(AlbertConfig.from_dict({**small_config.to_dict(), "hidden_act": activation}))
        for number, variable in enumerate(model.trainable_variables):
            variable.assign(np.random.default_rng(number).normal(size=variable.shape) * 0.3)
        logits.append(np.asarray(model(inputs)["masked_lm_logits"]))
    assert np.abs(logits[0] - logits[1]).max() > 1e-3
