"""The head of categories of spans: every part of a text up to some length, and which labels it has.

Shapes: B batch, S sequence, W pieces of the longest span, H hidden, D size of a span's vector, C classes.
"""

import math
import numbers

import keras
from keras import ops

from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB
from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH
from albert_tf.layers.base import ConfiguredLayer, make_initializer
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.runtime.errors import InputError

# D, where the encoder is not narrower: there are S times W such vectors.
SPAN_SIZE = 128
# The share of spans that have a label, to begin with: nearly none has (Lin et al., 2017, arXiv 1708.02002, 3.3).
FIRST_PROBABILITY = 0.01


@keras.saving.register_keras_serializable("albert_tf")
class SpanCategoriesHead(ConfiguredLayer):
    """Scores every span of one to W pieces by its first piece, its last one and its width.

    tanh(first U + last V + w) K + first U' + last V' + H w' + b: the endpoints of Lee et al. (2017, arXiv 1707.07045,
    section 3) without the words between them, which the encoder has put into both. The linear terms are learnt within
    a few hundred steps, in which what passes through K has hardly left b. w' is one number where a hidden state has H;
    without the factor its steps are too small to tell a name from all that stands between two names. U and U' are one
    kernel, as are V and V'.

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C; each is judged by itself.
        max_span_length: W.
        dropout_rate: of what is projected, in training.
    """

    def __init__(
        self,
        config,
        num_labels,
        max_span_length=MAX_SPAN_LENGTH,
        dropout_rate=CLASSIFIER_DROPOUT_PROB,
        **kwargs,
    ):
        super().__init__(config, **kwargs)
        for name, value in (("num_labels", num_labels), ("max_span_length", max_span_length)):
            if not isinstance(value, numbers.Integral) or value < 1:
                raise InputError(f"`{name}` must be a whole number of at least 1. Received {value!r}.")
        self.num_labels = num_labels
        self.max_span_length = max_span_length
        self.dropout_rate = dropout_rate
        self.dropout = StatelessDropout(dropout_rate, site=0, name="dropout")

    def build(self, input_shape=None):
        hidden_size, initializer = self.config.hidden_size, make_initializer(self.config.initializer_range)
        size = min(SPAN_SIZE, hidden_size)
        for name, shape in (
            ("start_kernel", (hidden_size, size + self.num_labels)),
            ("end_kernel", (hidden_size, size + self.num_labels)),
            ("width_embeddings", (self.max_span_length, size)),
            ("kernel", (size, self.num_labels)),
        ):
            setattr(self, name, self.add_weight(name=name, shape=shape, initializer=initializer))
        rare = keras.initializers.Constant(math.log(FIRST_PROBABILITY / (1 - FIRST_PROBABILITY)))
        self.width_bias = self.add_weight(
            name="width_bias", shape=(self.max_span_length, self.num_labels), initializer="zeros"
        )
        self.bias = self.add_weight(name="bias", shape=(self.num_labels,), initializer=rare)

    def call(self, sequence_output, seed=None, training=False):
        """float [B, S, H] -> float32 [B, S, W, C], before the sigmoid: of spans by first piece, pieces less one, label.

        Spans that reach beyond the end of the sequence have scores too, which mean nothing.

        Args:
            sequence_output: one hidden state for each piece.
            seed: int32 [2] for dropout; may be None where nothing is dropped.
            training: bool.
        """
        hidden = self.dropout(ops.cast(sequence_output, "float32"), seed=seed, training=training)
        first = ops.matmul(hidden, self.start_kernel)
        last = ops.pad(ops.matmul(hidden, self.end_kernel), [[0, 0], [0, self.max_span_length - 1], [0, 0]])
        length = ops.shape(hidden)[1]
        last = ops.stack([last[:, width : width + length] for width in range(self.max_span_length)], axis=2)
        of_width = ops.concatenate([self.width_embeddings, self.config.hidden_size * self.width_bias], axis=-1)
        spans = first[:, :, None] + last + of_width
        size = self.kernel.shape[0]
        return ops.matmul(ops.tanh(spans[..., :size]), self.kernel) + spans[..., size:] + self.bias

    def get_config(self):
        more = {"num_labels": self.num_labels, "max_span_length": self.max_span_length}
        return {**super().get_config(), **more, "dropout_rate": self.dropout_rate}
