"""One transformer block: self-attention, then feed-forward. ALBERT applies the same block object L times.

Shapes: B batch, S sequence, P positions, H hidden.
"""

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.kernels.projection import Unquantized


@keras.saving.register_keras_serializable("albert_tf")
class TransformerBlock(Unquantized, keras.layers.Layer):
    """Attention and feed-forward, each a layer that another block may share.

    Two blocks made with the same `attention` object have one set of attention weights (paper, table 4,
    "shared-attention"); a block used in several layers shares everything.

    Args:
        attention: a SelfAttention.
        feed_forward: a FeedForward.
    """

    def __init__(self, attention, feed_forward, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.attention = attention
        self.feed_forward = feed_forward

    def build(self, input_shape=None):
        for part in (self.attention, self.feed_forward):
            if not part.built:
                part.build(input_shape)

    def call(self, hidden, view=None, weights=(None, None), input_mask=None):
        """Applies both parts.

        Args:
            hidden: float [B, S, H].
            view: kernels.View of the batch; None: that of input_mask, outside training.
            weights: those of the attention and of the feed-forward part, as their `call` takes them.
            input_mask: int [B, S], 1 for a token, 0 for padding, for a block in a model of one's own; None: all ones.

        Returns:
            float [B, S, H], or with view.positions [B, P, H].
        """
        if view is None:
            view = kernels.View.of(ops.ones(ops.shape(hidden)[:2]) if input_mask is None else input_mask)
        hidden = self.attention(hidden, view=view, weights=weights[0])
        return self.feed_forward(hidden, view=view, weights=weights[1])

    def get_config(self):
        parts = {"attention": self.attention, "feed_forward": self.feed_forward}
        return {
            **super().get_config(),
            **{name: keras.saving.serialize_keras_object(part) for name, part in parts.items()},
        }

    @classmethod
    def from_config(cls, config):
        # Of a copy, as the caller may make a second block of the same dict.
        parts = {name: keras.saving.deserialize_keras_object(config[name]) for name in ("attention", "feed_forward")}
        return cls(**{**config, **parts})
