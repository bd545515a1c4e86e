"""The parameters of a model by part, from its config alone.

V vocabulary, E embedding, H hidden, I intermediate, P positions, T segments.
"""

from albert_tf.config import AlbertConfig


def count_parts(config: AlbertConfig) -> dict[str, int]:
    """The parameters of embeddings and encoder, by part.

    Args:
        config: of the model.

    Returns:
        {part: parameters}, without pooler and heads. Of blocks that are shared each counts once.
    """
    embedding, hidden, inner = config.embedding_size, config.hidden_size, config.intermediate_size
    attention = 4 * (hidden * hidden + hidden) + 2 * hidden
    feed_forward = hidden * inner + inner + inner * hidden + hidden + 2 * hidden
    sets = {"attention": config.num_hidden_groups, "ffn": config.num_hidden_groups}
    for part in sets:
        if config.parameter_sharing not in ("all", part):
            sets[part] = config.num_hidden_layers
    blocks = {part: count * config.inner_group_num for part, count in sets.items()}
    tables = config.max_position_embeddings + config.type_vocab_size
    return {
        "word embeddings (V × E)": config.vocab_size * embedding,
        "positions, segments, LayerNorm": tables * embedding + 2 * embedding,
        "projection (E × H)": 0 if embedding == hidden else embedding * hidden + hidden,
        f"attention ({_of(blocks['attention'], config)})": blocks["attention"] * attention,
        f"feed-forward ({_of(blocks['ffn'], config)})": blocks["ffn"] * feed_forward,
    }


def count_pretraining_heads(config: AlbertConfig) -> dict[str, int]:
    """The parameters of the pooler and of both heads of pre-training."""
    embedding, hidden = config.embedding_size, config.hidden_size
    return {
        "pooler": hidden * hidden + hidden,
        "head of masked LM": hidden * embedding + embedding + 2 * embedding + config.vocab_size,
        "head of the sentence task": 2 * hidden + 2,
    }


def _of(blocks: int, config: AlbertConfig) -> str:
    applied = config.num_hidden_layers * config.inner_group_num
    return f"{blocks} of {applied}" if blocks < applied else f"{applied}"
