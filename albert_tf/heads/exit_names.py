"""Names about exits, for who needs no Keras: heads that have them, what they read, their weights, their output."""

from albert_tf.heads.pooling import MEAN, POOLED

# Kinds of head that exits are for: one vector of a text is read, after any layer.
EXIT_HEADS = ("classification", "multi_label", "regression")
# After any layer, the vector that is read: the mean over the pieces of the text, or the pooled [CLS].
EXIT_POOLINGS = (MEAN, POOLED)
# First part of the names of their weights.
EXITS = "exits/"
# Their output, beside "logits" of the last layer.
EXIT_LOGITS = "exit_logits"
# The output that says after how many layers each text left.
LAYERS = "layers"


def exit_name(layer: int, weight: str) -> str:
    """The name of a weight, "kernel" or "bias", of the exit after a layer, from 1 to L - 1."""
    return f"{EXITS}exit_{layer}/{weight}"
