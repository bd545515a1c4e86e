"""Models of transformers with random weights, and how far what they compute is from what ours do."""

import numpy as np
import tensorflow as tf

BATCH, LENGTH = 6, 17
_SHAPE = {
    **{"vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 3},
    **{"num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": LENGTH},
}
# Outputs of theirs and of ours; "logits" are of the one head of a class.
_PAIRS = (
    *(("prediction_logits", "masked_lm_logits"), ("logits", "masked_lm_logits")),
    *(("sop_logits", "sentence_order_logits"), ("seq_relationship_logits", "sentence_order_logits")),
    *(("last_hidden_state", "sequence_output"), ("pooler_output", "pooled_output")),
)


def make_their_model(torch, transformers, kind, more=(), **changes):
    """A model of theirs with random weights, biases and LayerNorms.

    Args:
        torch, transformers: the packages.
        kind: of its class, such as "BertModel".
        more: arguments of the class besides the config.
        changes: of the config.
    """
    torch.manual_seed(2)
    config = getattr(transformers, f"{'Bert' if kind.startswith('Bert') else 'Albert'}Config")
    model = getattr(transformers, kind)(config(**_SHAPE | changes), **dict(more)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if name.endswith("orm.weight") or "layer_norm.weight" in name else 0.0, 0.1)
    return model


def _masks(rng):
    """A full row, padding after and before the text, every other position, holes at random, and a single position."""
    places = np.arange(LENGTH)
    rows = [places >= 0, places < 9, places > 5, places % 2 == 1, rng.random(LENGTH) < 0.5, places == 0]
    return np.stack(rows).astype("int32")


def _batch(segments):
    """Ids, masks and segments; every position is predicted."""
    rng = np.random.default_rng(3)
    return {
        "input_ids": rng.integers(0, 101, (BATCH, LENGTH)).astype("int32"),
        "input_mask": _masks(rng),
        "segment_ids": rng.integers(0, segments, (BATCH, LENGTH)).astype("int32"),
        "masked_lm_positions": np.tile(np.arange(LENGTH, dtype="int32"), (BATCH, 1)),
    }


def output_errors(our_model, their_model, torch, pairs=_PAIRS):
    """The largest absolute error of each output that their model has, of every layer and every attention.

    Args:
        our_model: an AlbertForPretraining.
        their_model: of any of their classes of pre-training.
        torch: the package.
        pairs: names of outputs, theirs and ours.
    """
    # Their faster ways have no probabilities to show.
    their_model.set_attn_implementation("eager")
    batch = _batch(our_model.config.type_vocab_size)
    outputs = our_model({name: tf.constant(value) for name, value in batch.items()}, output_attentions=True)
    arguments = {"attention_mask": "input_mask", "token_type_ids": "segment_ids", "input_ids": "input_ids"}
    with torch.no_grad():
        found = their_model.eval()(
            **{theirs: torch.tensor(batch[ours]).long() for theirs, ours in arguments.items()},
            output_hidden_states=True,
            output_attentions=True,
        )
    states = found.hidden_states
    # transformers 5 lists the output of every block, 4 that of every layer.
    if len(states) > our_model.config.num_hidden_layers + 1:
        states = states[:: our_model.config.inner_group_num]
    compared = {f"hidden_{i}": pair for i, pair in enumerate(zip(outputs["hidden_states"], states, strict=True))}
    for theirs, ours in pairs:
        if getattr(found, theirs, None) is not None:
            compared[theirs] = (outputs[ours], getattr(found, theirs))
    attentions = zip(outputs["attentions"], found.attentions, strict=True)
    compared |= {f"attentions_{i}": pair for i, pair in enumerate(attentions)}
    assert len(compared) >= our_model.config.num_hidden_layers + 2
    return {name: float(np.abs(mine.numpy() - its.numpy()).max()) for name, (mine, its) in compared.items()}


def load_whole(transformers, architecture: str, folder: str):
    """A model of transformers from a folder, of which nothing may be missing or left over."""
    model, info = getattr(transformers, architecture).from_pretrained(folder, output_loading_info=True)
    assert {key: list(names) for key, names in info.items() if names} == {}
    return model
