"""The multiple-choice head: one score for each option.

Shapes: B batch, N options, H hidden.
"""

import keras
from keras import ops

from albert_tf.heads.classification import ClassificationHead


@keras.saving.register_keras_serializable("albert_tf")
class MultipleChoiceHead(ClassificationHead):
    """One projection of each option's pooled [CLS] to a score (create_model of the official race_utils.py).

    Args:
        hidden_size: H.
        dropout_rate: of the pooled output, in training.
        initializer_range: standard deviation of the initial kernel.
    """

    def __init__(self, hidden_size, dropout_rate=0.1, initializer_range=0.02, **kwargs):
        super().__init__(hidden_size, 1, dropout_rate, initializer_range, **kwargs)

    def call(self, pooled_output, num_options, seed=None, training=False):
        """float [B * N, H] -> float32 [B, N], before the softmax over the options.

        Args:
            pooled_output: the options of an example one after another.
            num_options: N.
            seed: int32 [2] for dropout; may be None where nothing is dropped.
            training: bool.
        """
        return ops.reshape(super().call(pooled_output, seed=seed, training=training), (-1, num_options))

    def get_config(self):
        config = super().get_config()
        del config["num_labels"]
        return config
