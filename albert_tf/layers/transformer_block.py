"""One transformer block: self-attention, then feed-forward. ALBERT applies the same block object L times.

Shapes: B batch, S sequence, P positions, H hidden.
"""

import keras

from albert_tf.layers.projection import Unquantized


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

    def call(
        self,
        hidden,
        attention_bias,
        weights=(None, None),
        positions=None,
        unpadding=None,
        seed=None,
        training=False,
    ):
        """Applies both parts.

        Args:
            hidden: float [B, S, H].
            attention_bias: float [B, 1, 1, S], see chains.make_attention_bias.
            weights: those of the attention and of the feed-forward part, as their `call` takes them.
            positions: int32 [B, P]: the only positions whose output is wanted; None: all.
            unpadding: see SelfAttention.call.
            seed: int32 [2] for dropout.
            training: bool.

        Returns:
            float [B, S, H], or [B, P, H].
        """
        hidden = self.attention(
            hidden,
            attention_bias,
            weights=weights[0],
            positions=positions,
            unpadding=unpadding,
            seed=seed,
            training=training,
        )
        return self.feed_forward(hidden, weights=weights[1], seed=seed, training=training)

    def get_config(self):
        return {
            **super().get_config(),
            "attention": keras.saving.serialize_keras_object(self.attention),
            "feed_forward": keras.saving.serialize_keras_object(self.feed_forward),
        }

    @classmethod
    def from_config(cls, config):
        parts = {
            name: keras.saving.deserialize_keras_object(config.pop(name)) for name in ("attention", "feed_forward")
        }
        return cls(**parts, **config)
