"""The span head with a beam: the end of an answer by its start, and whether there is an answer at all.

Shapes: B batch, S sequence, H hidden, K width of the beam.
"""

import numbers

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB
from albert_tf.layers.base import ConfiguredLayer, make_layer_norm
from albert_tf.layers.dropout import StatelessDropout
from albert_tf.runtime.errors import InputError

# Added to the logits where no answer can start or end (create_v2_model of the official squad_utils.py).
NEVER = -1e30


@keras.saving.register_keras_serializable("albert_tf")
class SpanBeamHead(ConfiguredLayer):
    """The head of XLNet for SQuAD 2.0, as create_v2_model of the official squad_utils.py has it.

    start:         one score for each piece.
    end:           dense, tanh, LayerNorm, dense, of each piece beside the piece where the answer starts: the right
                   one in training, else each of the K likeliest ones.
    answerability: dense, tanh, dropout, dense without bias, of the mean of all pieces by their probability of being
                   the start, beside [CLS]; above 0 where there is more likely no answer.

    Args:
        config: AlbertConfig, or the dict of one.
        beam_size: K, of starts, and of ends for each of them.
        dropout_rate: in the answerability.
    """

    def __init__(self, config, beam_size=5, dropout_rate=CLASSIFIER_DROPOUT_PROB, **kwargs):
        super().__init__(config, **kwargs)
        if not isinstance(beam_size, numbers.Integral) or beam_size < 1:
            raise InputError(f"`beam_size` must be a whole number of at least 1. Received {beam_size!r}.")
        hidden_size = self.config.hidden_size
        self.beam_size = beam_size
        self.dropout_rate = dropout_rate
        self.start = self.make_projection(1, "start")
        self.end_transform = self.make_projection(hidden_size, "end_transform")
        self.end_layer_norm = make_layer_norm(self.dtype_policy, name="end_layer_norm")
        self.end = self.make_projection(1, "end")
        self.answerability_transform = self.make_projection(hidden_size, "answerability_transform")
        self.answerability = self.make_projection(1, "answerability", use_bias=False)
        self.dropout = StatelessDropout(dropout_rate, site=0, name="dropout")

    def build(self, input_shape=None):
        for layer in (self.start, self.end):
            layer.build((None, self.config.hidden_size))
        for layer in (self.end_transform, self.answerability_transform):
            layer.build((None, 2 * self.config.hidden_size))
        self.end_layer_norm.build((None, None, self.config.hidden_size))
        self.answerability.build((None, self.config.hidden_size))

    def call(self, sequence_output, p_mask, start_positions=None, seed=None, training=False):
        """Scores.

        Args:
            sequence_output: float [B, S, H].
            p_mask: int [B, S], 1 where no answer can start or end.
            start_positions: int32 [B], the right ones, in training; None: the K likeliest ones.
            seed: int32 [2] for dropout; may be None where nothing is dropped.
            training: bool.

        Returns:
            dict of float32: "answerability_logits" [B]; with start_positions "start_logits" and "end_logits" [B, S];
            without them "start_top_log_probs" [B, K], "end_top_log_probs" [B, K, K], and, int32, "start_top_index"
            [B, K] and "end_top_index" [B, K, K]. Where S < K the beam is S wide.
        """
        hidden = ops.cast(sequence_output, "float32")
        masked = ops.cast(p_mask, "float32")
        start_logits = self._score(self.start, hidden)[..., 0] * (1.0 - masked) + NEVER * masked
        answerability = {"answerability_logits": self._answerability(hidden, start_logits, seed, training)}
        # The first half of the kernel is the piece's, the second that of the start.
        piece_part = ops.matmul(hidden, self.end_transform.kernel[: self.config.hidden_size])
        if start_positions is not None:
            starts = ops.cast(start_positions, "int32")[:, None]
            end_logits = self._end_logits(hidden, piece_part, starts, masked)[:, 0]
            return {"start_logits": start_logits, "end_logits": end_logits, **answerability}
        length = ops.shape(hidden)[1]
        beam = min(self.beam_size, length) if isinstance(length, int) else ops.minimum(self.beam_size, length)
        start_log_probs, starts = ops.top_k(ops.log_softmax(start_logits), beam)
        end_logits = self._end_logits(hidden, piece_part, starts, masked)
        end_log_probs, ends = ops.top_k(ops.log_softmax(end_logits), beam)
        return {
            "start_top_log_probs": start_log_probs,
            "start_top_index": ops.cast(starts, "int32"),
            "end_top_log_probs": end_log_probs,
            "end_top_index": ops.cast(ends, "int32"),
            **answerability,
        }

    def _score(self, dense, x):
        scores = ops.matmul(x, dense.kernel)
        return scores + dense.bias if dense.use_bias else scores

    def _end_logits(self, hidden, piece_part, starts, masked):
        """float32 [B, K, S], the scores of the ends for each of the starts, int32 [B, K]."""
        start_part = ops.matmul(
            kernels.gather_positions(hidden, starts), self.end_transform.kernel[self.config.hidden_size :]
        )
        both = ops.tanh(piece_part[:, None] + start_part[:, :, None] + self.end_transform.bias)
        norm = self.end_layer_norm
        scores = self._score(self.end, kernels.layer_norm(both, norm.gamma, norm.beta, norm.epsilon))[..., 0]
        return scores * (1.0 - masked[:, None]) + NEVER * masked[:, None]

    def _answerability(self, hidden, start_logits, seed, training):
        mean = ops.einsum("bs,bsh->bh", ops.softmax(start_logits), hidden)
        transform = self.answerability_transform
        both = ops.tanh(self._score(transform, ops.concatenate([mean, hidden[:, 0]], axis=-1)))
        dropped = self.dropout(both, seed=seed, training=training)
        return self._score(self.answerability, dropped)[:, 0]

    def get_config(self):
        return {**super().get_config(), "beam_size": self.beam_size, "dropout_rate": self.dropout_rate}
