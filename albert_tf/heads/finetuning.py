"""The heads of one projection: classes of a text or of its pieces, options, where an answer starts and ends.

Shapes: B batch, N options, S sequence, H hidden, C classes.
"""

import numbers

import keras
from keras import ops

from albert_tf.layers.base import ConfiguredLayer, make_initializer
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.runtime.errors import InputError

# Of what a head projects, in training (create_model of the official classifier_utils.py, the dropout_prob of
# run_race.py and run_squad).
CLASSIFIER_DROPOUT_PROB = 0.1


@keras.saving.register_keras_serializable("albert_tf")
class ClassificationHead(ConfiguredLayer):
    """One projection, of the pooled [CLS] (create_model of the official classifier_utils.py) or of every piece.

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C; 1 for regression.
        dropout_rate: of what is projected, in training.
    """

    def __init__(self, config, num_labels, dropout_rate=CLASSIFIER_DROPOUT_PROB, **kwargs):
        super().__init__(config, **kwargs)
        if not isinstance(num_labels, numbers.Integral) or num_labels < 1:
            raise InputError(f"`num_labels` must be a whole number of at least 1. Received {num_labels!r}.")
        self.num_labels = num_labels
        self.dropout_rate = dropout_rate
        self.dropout = StatelessDropout(dropout_rate, site=0, name="dropout")

    def build(self, input_shape=None):
        shape, initializer = (self.config.hidden_size, self.num_labels), make_initializer(self.config.initializer_range)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=initializer)
        self.bias = self.add_weight(name="bias", shape=(self.num_labels,), initializer="zeros")

    def call(self, hidden, seed=None, training=False):
        """float [..., H] -> float32 [..., C], before softmax.

        Args:
            hidden: pooled output, or one hidden state for each piece.
            seed: int32 [2] for dropout; may be None where nothing is dropped.
            training: bool.
        """
        dropped = self.dropout(ops.cast(hidden, "float32"), seed=seed, training=training)
        return ops.matmul(dropped, self.kernel) + self.bias

    def get_config(self):
        return {**super().get_config(), "num_labels": self.num_labels, "dropout_rate": self.dropout_rate}


@keras.saving.register_keras_serializable("albert_tf")
class MultipleChoiceHead(ClassificationHead):
    """One projection of each option's pooled [CLS] to a score (create_model of the official race_utils.py).

    Args:
        config: AlbertConfig, or the dict of one.
        dropout_rate: of the pooled output, in training.
    """

    def __init__(self, config, dropout_rate=CLASSIFIER_DROPOUT_PROB, **kwargs):
        super().__init__(config, 1, dropout_rate, **kwargs)

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


@keras.saving.register_keras_serializable("albert_tf")
class SpanHead(ClassificationHead):
    """Two scores for each piece (create_v1_model of the official squad_utils.py, which has no dropout here).

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, 2, 0.0, **kwargs)

    def call(self, sequence_output):
        """float [B, S, H] -> "start_logits" and "end_logits", float32 [B, S], before the softmax over the pieces."""
        logits = super().call(sequence_output)
        return {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}

    def get_config(self):
        config = super().get_config()
        return {name: value for name, value in config.items() if name not in ("num_labels", "dropout_rate")}
