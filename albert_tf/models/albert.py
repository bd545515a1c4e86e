"""AlbertModel: embeddings, shared encoder, pooler.

Shapes: B batch, S sequence, P positions, E embedding, H hidden, L layers.
"""

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.layers import backend_ops
from albert_tf.layers.embeddings import AlbertEmbeddings, make_initializer
from albert_tf.layers.encoder import SharedEncoder
from albert_tf.layers.halves import in_halves

# Seeds folded into a step's dropout seed, one for each part of the model that draws.
_EMBEDDINGS_STREAM, _ENCODER_STREAM = 0, 1


class ConfiguredModel(keras.Model):
    """A model that is made of `config`, an AlbertConfig, and of how its `encoder`, a SharedEncoder, is applied."""

    def get_config(self):
        """What the model was made with."""
        return {
            **super().get_config(),
            "config": self.config.to_dict(),
            "remat": self.encoder.remat,
            "constant_graph": self.encoder.constant_graph,
        }

    @classmethod
    def from_config(cls, config):
        """The inverse of get_config."""
        return cls(**config)


@keras.saving.register_keras_serializable("albert_tf")
class AlbertModel(ConfiguredModel):
    """The ALBERT encoder (Lan et al., 2019, arXiv 1909.11942; modeling.AlbertModel of the official code).

    The weights exist as soon as the model does.

    Args:
        config: AlbertConfig, or the dict of one.
        remat: compute what happens inside a block again for its gradient, rather than keep it: the memory of one
            layer instead of L, for a third more arithmetic.
        constant_graph: apply the shared block in a loop of the device: the time to trace and to compile the model
            does not grow with L. The outputs then hold no hidden states of the layers between.
        pooler: False leaves the pooler's weights and "pooled_output" out, for heads that read every position.
        dtype: name of a Keras dtype policy, "float32", "mixed_bfloat16" or "mixed_float16": that of the matrix
            products and of what lies between them. Weights, LayerNorm, softmax and what the heads give are float32.

    Example:
        >>> model = AlbertModel(AlbertConfig(
        ...     vocab_size=100, embedding_size=8, hidden_size=16, num_hidden_layers=2,
        ...     num_attention_heads=2, intermediate_size=32))
        >>> model({"input_ids": keras.ops.ones((1, 5), dtype="int32")})["pooled_output"].shape
        TensorShape([1, 16])
    """

    def __init__(self, config, remat=False, constant_graph=False, pooler=True, name="albert", **kwargs):
        super().__init__(name=name, autocast=False, **kwargs)
        self.config = AlbertConfig.from_dict(config) if isinstance(config, dict) else config
        self.embeddings = AlbertEmbeddings(
            self.config.vocab_size,
            self.config.embedding_size,
            type_vocab_size=self.config.type_vocab_size,
            max_position_embeddings=self.config.max_position_embeddings,
            initializer_range=self.config.initializer_range,
            dropout_rate=self.config.hidden_dropout_prob,
            dtype=self.dtype_policy,
            name="embeddings",
        )
        self.encoder = SharedEncoder(
            self.config, remat=remat, constant_graph=constant_graph, dtype=self.dtype_policy, name="encoder"
        )
        self.pooler = None
        if pooler:
            self.pooler = keras.layers.Dense(
                self.config.hidden_size,
                activation="tanh",
                kernel_initializer=make_initializer(self.config.initializer_range),
                dtype=self.dtype_policy,
                name="pooler",
            )
        self.seed_generator = keras.random.SeedGenerator(seed=0)
        self.build()

    def build(self, input_shape=None):
        """Makes the weights; their shapes follow from the config alone."""
        self.embeddings.build()
        self.encoder.build()
        if self.pooler is not None:
            self.pooler.build((None, self.config.hidden_size))

    def call(self, inputs, training=False, dropout_seed=None, positions=None, skip_padding=False):
        """Encodes a batch.

        Args:
            inputs: dict of int32 [B, S]: "input_ids"; "input_mask", 1 for a token, 0 for padding (left out: all
                ones); "segment_ids" (left out: all zeros). S is at most max_position_embeddings.
            training: whether dropout is active.
            dropout_seed: int32 [2]: the same seed, the same masks. None draws the next seed of the model's own
                generator, which is what `fit` wants.
            positions: int32 [B, P]: the only positions whose output is read, besides [CLS]; [B, 0] for [CLS] alone.
                The last layer is computed for those alone, with the same results; only its dropout draws other
                masks, as there is less to draw for. None: all positions.

            skip_padding: compute nothing for padding, which takes as much less time as there is padding; not in
                training and not under XLA. "sequence_output" is zero in the padding, and there are no other
                "hidden_states".

        Returns:
            dict: "embedding_output" [B, S, E], "hidden_states" tuple of L + 1 [B, S, H] (first: after the E -> H
            projection; with `constant_graph` that and the last), "sequence_output" [B, S, H] (the last of them),
            "pooled_output" float32 [B, H]. With `positions` "sequence_output" is [B, P, H], and "hidden_states" are
            those before the last.
        """
        input_ids = inputs["input_ids"]
        input_mask = inputs.get("input_mask")
        segment_ids = inputs.get("segment_ids")
        if input_mask is None:
            input_mask = ops.ones_like(input_ids)
        if segment_ids is None:
            segment_ids = ops.zeros_like(input_ids)
        tensors = [input_ids, input_mask, segment_ids]
        if positions is not None:
            positions = ops.cast(positions, "int32")
            tensors.append(ops.concatenate([ops.zeros_like(input_ids[:, :1], dtype="int32"), positions], axis=1))
        seeds = self._dropout_seeds(training, dropout_seed)
        embedding_output, *hidden_states = self._encode(tensors, skip_padding, seeds, training)
        hidden_states = tuple(hidden_states)
        last = hidden_states[-1]
        outputs = {
            "embedding_output": embedding_output,
            "hidden_states": hidden_states if positions is None else hidden_states[:-1],
            "sequence_output": last if positions is None else last[:, 1:],
        }
        return outputs if self.pooler is None else {**outputs, "pooled_output": self._pool(last[:, 0])}

    def _encode(self, tensors, skip_padding, seeds, training):
        """[embedding_output, *hidden_states] of [input_ids, input_mask, segment_ids] and, if not all, positions."""
        embeddings_seed, encoder_seed = seeds

        def encode(is_large, input_ids, input_mask, segment_ids, positions=None):
            embedding_output = self.embeddings(input_ids, segment_ids, seed=embeddings_seed, training=training)
            hidden_states = self.encoder(
                embedding_output,
                input_mask,
                positions=positions,
                skip_padding=skip_padding,
                compose_kernels=is_large,
                seed=encoder_seed,
                training=training,
            )
            return [embedding_output, *hidden_states]

        return in_halves(encode, tensors, [self.compute_dtype] * 2) if skip_padding else encode(None, *tensors)

    def _pool(self, first):
        pooled = ops.matmul(first, ops.cast(self.pooler.kernel, self.compute_dtype))
        return ops.tanh(ops.cast(pooled, "float32") + ops.cast(self.pooler.bias, "float32"))

    def _dropout_seeds(self, training, dropout_seed):
        rates = (self.config.hidden_dropout_prob, self.config.attention_probs_dropout_prob)
        if not training or not any(rates):
            return None, None
        if dropout_seed is None:
            dropout_seed = self.seed_generator.next()
        return (
            backend_ops.fold_in(dropout_seed, _EMBEDDINGS_STREAM),
            backend_ops.fold_in(dropout_seed, _ENCODER_STREAM),
        )

    def get_config(self):
        """What the model was made with."""
        return {**super().get_config(), "pooler": self.pooler is not None}
