"""AlbertForEmbedding: one vector for each text, to be trained as such.

Shapes: B batch, S sequence, H hidden.
"""

from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.heads.pooling import CLS, MEAN, POOLED, Pooling
from albert_tf.models.inputs import INPUT_MASK, SEGMENT_IDS
from albert_tf.models.with_head import AlbertWithHead

EMBEDDING = "embedding"


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForEmbedding(AlbertWithHead):
    """An encoder whose outputs are pooled to one vector of each text, as heads.pooling.Pooling says.

    It has no weights beside the encoder's, and a pooler only where that is read.

    Args:
        config: AlbertConfig, or the dict of one.
        pooling: "mean", "cls" or "pooled".
        normalize: whether vectors have length 1.
        remat, constant_graph, dtype: see AlbertModel.
    """

    def __init__(
        self, config: AlbertConfig | dict[str, Any], pooling: str = MEAN, normalize: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(config, pooling == POOLED, **{"name": "albert_for_embedding", **kwargs})
        self.pooling = Pooling(pooling, normalize)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes nothing: the encoder has its weights already."""

    def call(
        self, inputs: Any, training: bool = False, dropout_seed: Any = None, skip_padding: bool = False
    ) -> dict[str, Any]:
        """Makes the vectors.

        Args:
            inputs: as AlbertModel takes them.
            training, dropout_seed, skip_padding: see AlbertModel.call.

        Returns:
            {"embedding": float32 [B, H]}.
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
        return {EMBEDDING: self.pooling.pool({**read, INPUT_MASK: mask}, ops)}

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        return {**super().get_config(), "pooling": self.pooling.mode, "normalize": self.pooling.normalize}
