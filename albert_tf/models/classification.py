"""AlbertModel with a classifier of texts, and one after every other layer where texts may leave early.

Shapes: B batch, L layers, H hidden, C classes.
"""

from typing import Any

import keras

from albert_tf.config import AlbertConfig
from albert_tf.heads.exit_names import EXIT_LOGITS, EXIT_POOLINGS
from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB
from albert_tf.heads.pooling import MEAN, POOLED
from albert_tf.kernels import fold_in
from albert_tf.models.inputs import INPUT_MASK
from albert_tf.models.with_head import AlbertWithClassifier, mean_over_text
from albert_tf.runtime.errors import InputError

# Folded into the head's dropout seed for the exits.
_EXIT_STREAM = 1


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForSequenceClassification(AlbertWithClassifier):
    """A text or a pair to one of C classes, to any of C labels, or, with C = 1, to a number (paper section 4.1, GLUE).

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C, the number of classes.
        classifier_dropout_prob: rate of dropout on the pooled output.
        early_exit: whether a classifier stands after every other layer too; models.early_exit runs such a model.
        exit_pooling: what these read, "pooled" or "mean", see heads.exits.Exits.
        classifier_pooling: what the classifier itself reads, the "pooled" [CLS], or the "mean" over the text, as that
            of models.first_layers where the exits do. A checkpoint has no place for the latter.
        remat, constant_graph, dtype: see AlbertModel.

    Example:
        >>> model = AlbertForSequenceClassification(AlbertConfig(
        ...     vocab_size=100, embedding_size=8, hidden_size=16, num_hidden_layers=2,
        ...     num_attention_heads=2, intermediate_size=32), num_labels=3)
        >>> model({"input_ids": keras.ops.ones((1, 5), dtype="int32")})["logits"].shape
        TensorShape([1, 3])
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        num_labels: int = 2,
        classifier_dropout_prob: float = CLASSIFIER_DROPOUT_PROB,
        classifier_pooling: str = POOLED,
        name: str = "albert_for_sequence_classification",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, True, num_labels, classifier_dropout_prob, name=name, **kwargs)
        if classifier_pooling not in EXIT_POOLINGS or (classifier_pooling == MEAN and self.exits is not None):
            raise InputError(
                f"`classifier_pooling` must be pooled, or mean without `early_exit`. Received {classifier_pooling!r}."
            )
        self.classifier_pooling = classifier_pooling

    def call(
        self,
        inputs: Any,
        training: bool = False,
        dropout_seed: Any = None,
        all_exits: bool | None = None,
        skip_padding: bool = False,
    ) -> dict[str, Any]:
        """Scores the classes.

        Args:
            inputs: as AlbertModel takes them.
            training: whether dropout is active.
            dropout_seed: int32 [2], see AlbertModel.call.
            all_exits: with `early_exit`, whether the exits are computed too, padding and all; None: in training.
            skip_padding: see AlbertModel.call.

        Returns:
            {"logits": float32 [B, C]}, before softmax or sigmoid; with C = 1 the number itself. Of all exits also
            "exit_logits", float32 [B, L - 1, C], after each layer but the last.
        """
        inputs = self._read(inputs)
        seed, head_seed = self._seeds(training, dropout_seed)
        if self.exits is not None and (training if all_exits is None else all_exits):
            before, pooled = self._vectors_after_layers(inputs, training, seed, self.exits.pooling)
            exit_seed = None if head_seed is None else fold_in(head_seed, _EXIT_STREAM)
            logits = self.classifier(pooled, seed=head_seed, training=training)
            return {"logits": logits, EXIT_LOGITS: self.exits(before, seed=exit_seed, training=training)}
        if self.classifier_pooling == MEAN:
            pooled = mean_over_text(self._sequence(inputs, training, seed, skip_padding), inputs[INPUT_MASK])
        else:
            pooled = self._pooled(inputs, training, seed, skip_padding)
        return {"logits": self.classifier(pooled, seed=head_seed, training=training)}

    def read_by_exits(self, inputs: Any) -> Any:
        """The vectors that the exits read, after each layer but the last: float32 [B, L - 1, H], without dropout."""
        return self._vectors_after_layers(self._read(inputs), False, None, self.exits.pooling)[0]

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        return {**super().get_config(), "classifier_pooling": self.classifier_pooling}
