"""The span head: where an answer starts and where it ends, each for itself.

Shapes: B batch, S sequence, H hidden.
"""

import keras

from albert_tf.heads.classification import ClassificationHead


@keras.saving.register_keras_serializable("albert_tf")
class SpanHead(ClassificationHead):
    """Two scores for each piece (create_v1_model of the official squad_utils.py, which has no dropout here).

    Args:
        hidden_size: H.
        initializer_range: standard deviation of the initial kernel.
    """

    def __init__(self, hidden_size, initializer_range=0.02, **kwargs):
        super().__init__(hidden_size, 2, 0.0, initializer_range, **kwargs)

    def call(self, sequence_output):
        """float [B, S, H] -> "start_logits" and "end_logits", float32 [B, S], before the softmax over the pieces."""
        logits = super().call(sequence_output)
        return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

    def get_config(self):
        config = super().get_config()
        return {name: value for name, value in config.items() if name not in ("num_labels", "dropout_rate")}
