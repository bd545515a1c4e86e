"""The count of operations against a model small enough to count by hand."""

from albert_tf.config import AlbertConfig
from albert_tf.training.flops import train_step_flops


def test_a_small_model_counted_by_hand():
    config = AlbertConfig(
        vocab_size=10, embedding_size=2, hidden_size=4, num_hidden_layers=3, num_attention_heads=2, intermediate_size=8
    )
    # Kernels a token meets: 2 * 4 once, and (4 * 16 + 2 * 4 * 8) in each of 3 layers: 8 + 384 = 392.
    # Attention: 12 * 3 layers * S 6 * H 4 a token. B 5, so 30 tokens; P 7, so 35 predictions.
    encoder = 6 * 392 * 30 + 12 * 3 * 6 * 4 * 30
    masked_lm = 6 * 35 * (4 * 2 + 2 * 10)
    sentence_order = 6 * 5 * (4 * 4 + 4 * 2)
    assert train_step_flops(config, 5, 6, 7) == encoder + masked_lm + sentence_order


def test_sharing_parameters_does_not_lower_the_count():
    shape = {"vocab_size": 10, "hidden_size": 4, "num_attention_heads": 2, "num_hidden_layers": 4}
    shared = AlbertConfig(**shape)
    unshared = AlbertConfig(**shape, parameter_sharing="none")
    assert train_step_flops(shared, 1, 8, 2) == train_step_flops(unshared, 1, 8, 2)
