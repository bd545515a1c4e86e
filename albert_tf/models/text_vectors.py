"""AlbertForEmbedding: one vector for each text, to be trained as such.

Shapes: B batch, S sequence, H hidden, T numbers of a vector.
"""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.heads.pooling import CLS, MEAN, POOLED, Pooling, of_length_one
from albert_tf.heads.vector_dense import VECTOR_DENSE, VectorDense, activate
from albert_tf.layers.base import ConfiguredLayer, make_initializer
from albert_tf.models.inputs import INPUT_MASK, SEGMENT_IDS
from albert_tf.models.with_head import AlbertWithHead

EMBEDDING = "embedding"


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForEmbedding(AlbertWithHead):
    """An encoder whose outputs are pooled to one vector of each text, as heads.pooling.Pooling says.

    It has no weights beside the encoder's but those of a dense layer, and a pooler only where that is read.

    Args:
        config: AlbertConfig, or the dict of one.
        pooling: "mean", "cls" or "pooled".
        normalize: whether vectors have length 1.
        dense: VectorDense after the pooling, or the dict of one; its numbers are weights of this model. None: none.
        remat, constant_graph, dtype: see AlbertModel.
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        pooling: str = MEAN,
        normalize: bool = True,
        dense: VectorDense | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, pooling == POOLED, **{"name": "albert_for_embedding", **kwargs})
        shape = VectorDense(**dense) if isinstance(dense, Mapping) else dense
        self.pooling = Pooling(pooling, normalize, dense=shape)
        self.vector_dense: Any = None
        if shape is not None:
            self.vector_dense = _DenseWeights(self.config, shape.size, shape.activation, name=VECTOR_DENSE)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights of the dense layer; the encoder has its own already."""
        if self.vector_dense is not None:
            self.vector_dense.build()

    def call(
        self, inputs: Any, training: bool = False, dropout_seed: Any = None, skip_padding: bool = False
    ) -> dict[str, Any]:
        """Makes the vectors.

        Args:
            inputs: as AlbertModel takes them.
            training, dropout_seed, skip_padding: see AlbertModel.call.

        Returns:
            {"embedding": float32 [B, T]}.
        """
        inputs = self._read(inputs)
        if self.pooling.mode == POOLED:
            read = {"pooled_output": self._pooled(inputs, training, dropout_seed, skip_padding)}
        elif self.pooling.mode == CLS:
            first = ops.zeros_like(inputs[SEGMENT_IDS][:, :1])
            outputs = self.albert(
                inputs, training=training, dropout_seed=dropout_seed, positions=first, skip_padding=skip_padding
            )
            read = {"sequence_output": outputs["sequence_output"]}
        else:
            read = {"sequence_output": self._sequence(inputs, training, dropout_seed, skip_padding)}
        # Sums over pieces are rounded by the precision of a model.
        read = {name: ops.cast(value, "float32") for name, value in read.items()}
        mask = ops.cast(inputs[INPUT_MASK], "int32")
        vectors = Pooling(self.pooling.mode, normalize=False).pool({**read, INPUT_MASK: mask}, ops)
        if self.vector_dense is not None:
            vectors = self.vector_dense(vectors)
        return {EMBEDDING: of_length_one(vectors, ops) if self.pooling.normalize else vectors}

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        dense = None if self.pooling.dense is None else self.pooling.dense.to_dict()
        told = {"pooling": self.pooling.mode, "normalize": self.pooling.normalize, "dense": dense}
        return {**super().get_config(), **told}


@keras.saving.register_keras_serializable("albert_tf")
class _DenseWeights(ConfiguredLayer):
    """The layer of heads.vector_dense with weights that are trained.

    Args:
        config: AlbertConfig, or the dict of one.
        size: T.
        activation: one of heads.vector_dense.ACTIVATIONS.
    """

    def __init__(self, config: AlbertConfig | dict[str, Any], size: int, activation: str, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.size, self.activation = size, activation

    def build(self, input_shape: Any = None) -> None:
        shape, initializer = (self.config.hidden_size, self.size), make_initializer(self.config.initializer_range)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer=initializer)
        self.bias = self.add_weight(name="bias", shape=(self.size,), initializer="zeros")

    def call(self, vectors: Any) -> Any:
        """float32 [B, H] -> float32 [B, T]."""
        return activate(ops.matmul(vectors, self.kernel) + self.bias, self.activation, ops)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size, "activation": self.activation}
