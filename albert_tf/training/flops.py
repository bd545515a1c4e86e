"""The operations of a training step, counted from the model's shape."""

from albert_tf.config import AlbertConfig


def train_step_flops(config: AlbertConfig, batch_size: int, max_seq_length: int, max_predictions_per_seq: int) -> int:
    """Operations of the matrix products of one step, forward and backward; sharing parameters does not lower them.

    A product with a kernel of n numbers costs 2 n forward and 4 n backward for each token; the scores of attention
    and the sums they weigh cost 12 S H for each token and layer, H hidden_size.

    Args:
        config: of the model.
        batch_size: B.
        max_seq_length: S, padding included.
        max_predictions_per_seq: P, padding included.
    """
    hidden, embedding = config.hidden_size, config.embedding_size
    blocks = config.num_hidden_layers * config.inner_group_num
    kernels = blocks * (4 * hidden**2 + 2 * hidden * config.intermediate_size)
    if embedding != hidden:
        kernels += embedding * hidden
    tokens = batch_size * max_seq_length
    encoder = 6 * kernels * tokens + 12 * blocks * max_seq_length * hidden * tokens
    masked_lm = 6 * batch_size * max_predictions_per_seq * embedding * (hidden + config.vocab_size)
    sentence_order = 6 * batch_size * hidden * (hidden + 2)
    return encoder + masked_lm + sentence_order
