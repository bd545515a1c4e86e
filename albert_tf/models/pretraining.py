"""AlbertForPretraining: the encoder with the masked-LM and the sentence-order head.

Shapes: B batch, S sequence, P predictions, V vocabulary.
"""

from typing import Any

import keras

from albert_tf.config import AlbertConfig
from albert_tf.heads.pretraining import MaskedLMHead, SentenceOrderHead
from albert_tf.models.albert import AlbertModel, ConfiguredModel
from albert_tf.models.pretraining_fit import PretrainingFit


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForPretraining(PretrainingFit, ConfiguredModel):
    """The model of pre-training (paper section 3.1): AlbertModel, masked LM tied to its word embeddings, and SOP.

    `run_pretraining` trains it on one device or many; Keras's own `compile` and `fit` train it too, see PretrainingFit.

    Args:
        config: AlbertConfig, or the dict of one.
        remat: see AlbertModel.
        constant_graph: see AlbertModel.
        dtype: see AlbertModel.
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        remat: bool = False,
        constant_graph: bool = False,
        name: str = "albert_for_pretraining",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, autocast=False, **kwargs)
        self.albert = AlbertModel(config, remat=remat, constant_graph=constant_graph, dtype=self.dtype_policy)
        self.config = self.albert.config
        self.masked_lm = MaskedLMHead(self.config, dtype=self.dtype_policy, name="masked_lm")
        self.sentence_order = SentenceOrderHead(self.config, dtype=self.dtype_policy, name="sentence_order")
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the heads' weights; the encoder has its own already."""
        self.masked_lm.build()
        self.sentence_order.build()

    def call(
        self,
        inputs: Any,
        training: bool = False,
        dropout_seed: Any = None,
        read_only_predictions: bool = False,
        add_output_bias: bool = True,
        output_attentions: bool = False,
    ) -> dict[str, Any]:
        """Encodes a batch and scores both tasks.

        Args:
            inputs: as AlbertModel takes them, and "masked_lm_positions" int32 [B, P] (left out: all S of them).
            training: whether dropout is active.
            dropout_seed: int32 [2], see AlbertModel.call.
            read_only_predictions: compute the last layer for [CLS] and the masked positions alone, with the same
                results: all that the two tasks read.
            add_output_bias: False leaves it to losses.masked_lm_sums, as MaskedLMHead says.
            output_attentions: return "attentions" too, see AlbertModel.call.

        Returns:
            what AlbertModel returns (for `positions` the masked ones, where only they are read), and
            "masked_lm_logits" float32 [B, P, V] and "sentence_order_logits" float32 [B, 2]
            (heads.pretraining.IN_ORDER, SWAPPED), both before softmax; of several sequences in a row [B, N, 2].
        """
        inputs = self._read(inputs)
        positions = inputs.get("masked_lm_positions")
        outputs = self.albert(
            inputs,
            training=training,
            dropout_seed=dropout_seed,
            positions=positions if read_only_predictions else None,
            output_attentions=output_attentions,
        )
        return {
            **outputs,
            "masked_lm_logits": self.masked_lm(
                outputs["sequence_output"],
                None if read_only_predictions else positions,
                self.albert.embeddings.word_embeddings,
                add_bias=add_output_bias,
            ),
            "sentence_order_logits": self.sentence_order(outputs["pooled_output"]),
        }

    @property
    def encoder(self) -> Any:
        """The SharedEncoder of `albert`."""
        return self.albert.encoder
