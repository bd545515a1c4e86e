"""AlbertForPretraining: the encoder with the masked-LM and the sentence-order head.

Shapes: B batch, S sequence, P predictions, V vocabulary.
"""

import keras

from albert_tf.heads.masked_lm import MaskedLMHead
from albert_tf.heads.sentence_order import SentenceOrderHead
from albert_tf.models.albert import AlbertModel


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForPretraining(keras.Model):
    """What pre-training trains (paper section 3.1): AlbertModel, masked LM tied to its word embeddings, and SOP.

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, name="albert_for_pretraining", **kwargs):
        super().__init__(name=name, **kwargs)
        self.albert = AlbertModel(config, dtype=self.dtype_policy)
        self.config = self.albert.config
        self.masked_lm = MaskedLMHead(
            self.config.vocab_size,
            self.config.embedding_size,
            self.config.hidden_size,
            hidden_act=self.config.hidden_act,
            initializer_range=self.config.initializer_range,
            name="masked_lm",
        )
        self.sentence_order = SentenceOrderHead(
            self.config.hidden_size, initializer_range=self.config.initializer_range, name="sentence_order"
        )
        self.build()

    def build(self, input_shape=None):
        """Makes the heads' weights; the encoder has its own already."""
        self.masked_lm.build()
        self.sentence_order.build()

    def call(self, inputs, training=False, dropout_seed=None):
        """Encodes a batch and scores both tasks.

        Args:
            inputs: dict as AlbertModel takes it, and "masked_lm_positions" int32 [B, P].
            training: whether dropout is active.
            dropout_seed: int32 [2], see AlbertModel.call.

        Returns:
            what AlbertModel returns, and "masked_lm_logits" float32 [B, P, V] and "sentence_order_logits" float32
            [B, 2] (heads.sentence_order.IN_ORDER, SWAPPED), both before softmax.
        """
        outputs = self.albert(inputs, training=training, dropout_seed=dropout_seed)
        return {
            **outputs,
            "masked_lm_logits": self.masked_lm(
                outputs["sequence_output"],
                inputs["masked_lm_positions"],
                self.albert.embeddings.word_embeddings,
            ),
            "sentence_order_logits": self.sentence_order(outputs["pooled_output"]),
        }

    def get_config(self):
        """The name, dtype policy and AlbertConfig the model was made with."""
        return {**super().get_config(), "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config):
        """The inverse of get_config."""
        return cls(**config)
