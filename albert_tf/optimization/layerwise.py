"""A smaller learning rate for what lies nearer to the input (Howard & Ruder, 2018, arXiv 1801.06146, section 3.2)."""

from albert_tf.config import AlbertConfig


def layerwise_factors(config: AlbertConfig, decay: float) -> list[tuple[str, float]]:
    """Factors of the learning rate for each part of an encoder: decay for each step away from the head.

    The layers of a group share their weights, so all of them have one rate. With one group of shared layers there are
    three depths: head and pooler have the whole rate, the shared block `decay` of it, embeddings and their
    projection `decay` squared. G groups make G + 2 depths; a model that shares nothing has one for each layer.

    Args:
        config: of the model.
        decay: above 0; 1 gives every weight the whole rate.

    Returns:
        (regular expression, factor) pairs for the variables' paths; what none of them fits has the whole rate.
    """
    rows = config.num_hidden_groups if config.parameter_sharing == "all" else config.num_hidden_layers
    pairs = [("(^|/)albert/(embeddings|encoder/embedding_hidden_mapping_in)/", decay ** (rows + 1))]
    pairs += [(f"(^|/)albert/encoder/block_{row}_", decay ** (rows - row)) for row in range(rows)]
    return pairs if decay != 1 else []
