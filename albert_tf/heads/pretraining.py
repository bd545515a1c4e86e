"""The heads of pre-training: the words that stood where [MASK] stands, and the order of two segments.

Shapes: B batch, S sequence, P predictions, V vocabulary, E embedding, H hidden.
"""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.layers.base import ConfiguredLayer, get_activation, make_layer_norm

IN_ORDER, SWAPPED = 0, 1


@keras.saving.register_keras_serializable("albert_tf")
class MaskedLMHead(ConfiguredLayer):
    """Dense H -> E, activation, LayerNorm, then scores against the word embeddings, plus a bias for each word.

    From get_masked_lm_output of the official run_pretraining.py. The scores are computed for the asked positions
    only; the table is the encoder's own (tied weights), so it is handed in at each call.

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.activation = get_activation(self.config.hidden_act)
        self.transform = self.make_projection(self.config.embedding_size, "transform")
        self.layer_norm = make_layer_norm(self.dtype_policy)

    def build(self, input_shape=None):
        self.transform.build((None, None, self.config.hidden_size))
        self.layer_norm.build((None, None, self.config.embedding_size))
        self.output_bias = self.add_weight(name="output_bias", shape=(self.config.vocab_size,), initializer="zeros")

    def call(self, sequence_output, masked_lm_positions, word_embeddings, add_bias=True):
        """Scores every word at every asked position.

        Args:
            sequence_output: float [B, S, H].
            masked_lm_positions: int [B, P], below S; None where sequence_output holds those positions alone.
            word_embeddings: float [V, E], the encoder's table.
            add_bias: whether `output_bias` is in the result. Without it, losses.masked_lm_sums adds it, and what
                stands between is half the size in half the precision.

        Returns:
            float32 [B, P, V], before softmax; in the compute dtype without the bias.
        """
        hidden = ops.cast(sequence_output, self.compute_dtype)
        if masked_lm_positions is not None:
            hidden = kernels.gather_positions(hidden, masked_lm_positions)
        hidden = kernels.project(hidden, ops.cast(self.transform.kernel, self.compute_dtype))
        hidden = self.activation(ops.cast(hidden, "float32") + ops.cast(self.transform.bias, "float32"))
        norm = self.layer_norm
        hidden = kernels.layer_norm(hidden, norm.gamma, norm.beta, norm.epsilon)
        table = ops.cast(word_embeddings, self.compute_dtype)
        flat = ops.reshape(ops.cast(hidden, self.compute_dtype), (-1, self.config.embedding_size))
        logits = ops.matmul(flat, ops.transpose(table))
        if add_bias:
            # To the two-dimensional product, of which TensorFlow makes it a part.
            logits = ops.cast(logits, "float32") + ops.cast(self.output_bias, "float32")
        return ops.reshape(logits, (*ops.shape(hidden)[:-1], self.config.vocab_size))


@keras.saving.register_keras_serializable("albert_tf")
class SentenceOrderHead(ConfiguredLayer):
    """Did the two segments stand in this order? Two scores of the pooled [CLS] (official get_sentence_order_output).

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.classifier = self.make_projection(2, "classifier")

    def build(self, input_shape=None):
        self.classifier.build((None, self.config.hidden_size))

    def call(self, pooled_output):
        """float [..., H] -> float32 [..., 2], before softmax: the scores of IN_ORDER and of SWAPPED."""
        kernel, bias = (ops.cast(weight, "float32") for weight in (self.classifier.kernel, self.classifier.bias))
        return ops.matmul(ops.cast(pooled_output, "float32"), kernel) + bias
