"""AlbertModel with the head of spans: any number of them, which may overlap, each with any of C labels.

Shapes: B batch, S sequence, W pieces of the longest span, C classes.
"""

from typing import Any

import keras

from albert_tf.config import AlbertConfig
from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB
from albert_tf.heads.span_categories import SpanCategoriesHead
from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH
from albert_tf.models.with_head import AlbertWithHead


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForSpanCategories(AlbertWithHead):
    """Finds spans of a text that have labels; they may overlap, and lie in one another.

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C, the number of labels.
        max_span_length: W; longer spans are not found.
        classifier_dropout_prob: rate of dropout on the encoder's output.
        remat, constant_graph, dtype: see AlbertModel.

    Example:
        >>> model = AlbertForSpanCategories(AlbertConfig(
        ...     vocab_size=100, embedding_size=8, hidden_size=16, num_hidden_layers=2,
        ...     num_attention_heads=2, intermediate_size=32), num_labels=3, max_span_length=4)
        >>> model({"input_ids": keras.ops.ones((1, 5), dtype="int32")})["logits"].shape
        TensorShape([1, 5, 4, 3])
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        num_labels: int = 1,
        max_span_length: int = MAX_SPAN_LENGTH,
        classifier_dropout_prob: float = CLASSIFIER_DROPOUT_PROB,
        name: str = "albert_for_span_categories",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, False, name=name, **kwargs)
        self.num_labels = num_labels
        self.max_span_length = max_span_length
        self.classifier_dropout_prob = classifier_dropout_prob
        self.span_categories = SpanCategoriesHead(
            self.config, num_labels, max_span_length, classifier_dropout_prob, name="span_categories"
        )
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the head's weights; the encoder has its own already."""
        self.span_categories.build()

    def call(
        self, inputs: Any, training: bool = False, dropout_seed: Any = None, skip_padding: bool = False
    ) -> dict[str, Any]:
        """Scores the labels of every span; arguments as in AlbertForSequenceClassification.call.

        Returns:
            {"logits": float32 [B, S, W, C]}, before the sigmoid: of a span by its first piece, its pieces less one,
            and the label. Those of spans that reach beyond the end of the sequence mean nothing.
        """
        inputs = self._read(inputs)
        seed, head_seed = self._seeds(training, dropout_seed)
        sequence = self._sequence(inputs, training, seed, skip_padding)
        return {"logits": self.span_categories(sequence, seed=head_seed, training=training)}

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        more = {"num_labels": self.num_labels, "max_span_length": self.max_span_length}
        return {**super().get_config(), **more, "classifier_dropout_prob": self.classifier_dropout_prob}
