"""AlbertModel with the heads of fine-tuning: texts or pairs, several choices, answers in a text, pieces.

Shapes: B batch, N options, S sequence, C classes, K width of the beam.
"""

from typing import Any

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.heads.exit_names import EXIT_HEADS
from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB, MultipleChoiceHead, SpanHead
from albert_tf.heads.pooling import POOLED
from albert_tf.heads.span_beam import SpanBeamHead
from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.inputs import INPUT_MASK, encoder_inputs
from albert_tf.models.span_categories import AlbertForSpanCategories
from albert_tf.models.with_head import AlbertWithClassifier, AlbertWithHead
from albert_tf.runtime.errors import InputError


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForTokenClassification(AlbertWithClassifier):
    """Assigns every piece of a text to one of C classes.

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C, the number of classes.
        classifier_dropout_prob: rate of dropout on the encoder's output.
        remat, constant_graph, dtype: see AlbertModel.
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        num_labels: int = 2,
        classifier_dropout_prob: float = CLASSIFIER_DROPOUT_PROB,
        name: str = "albert_for_token_classification",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, False, num_labels, classifier_dropout_prob, name=name, **kwargs)

    def call(
        self, inputs: Any, training: bool = False, dropout_seed: Any = None, skip_padding: bool = False
    ) -> dict[str, Any]:
        """Scores the classes of every piece; arguments as in AlbertForSequenceClassification.call.

        Returns:
            {"logits": float32 [B, S, C]}, before softmax.
        """
        inputs = self._read(inputs)
        seed, head_seed = self._seeds(training, dropout_seed)
        sequence = self._sequence(inputs, training, seed, skip_padding)
        return {"logits": self.classifier(sequence, seed=head_seed, training=training)}


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForMultipleChoice(AlbertWithHead):
    """Chooses the option that fits (RACE, paper section 4.1): every option is encoded with the question, and scored.

    Args:
        config: AlbertConfig, or the dict of one.
        classifier_dropout_prob: rate of dropout on the pooled output.
        remat, constant_graph, dtype: see AlbertModel.
    """

    num_axes = 3

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        classifier_dropout_prob: float = CLASSIFIER_DROPOUT_PROB,
        name: str = "albert_for_multiple_choice",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, True, name=name, **kwargs)
        self.classifier_dropout_prob = classifier_dropout_prob
        self.classifier = MultipleChoiceHead(self.config, classifier_dropout_prob, name="classifier")
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the head's weights; the encoder has its own already."""
        self.classifier.build()

    def call(
        self, inputs: Any, training: bool = False, dropout_seed: Any = None, skip_padding: bool = False
    ) -> dict[str, Any]:
        """Scores the options.

        Args:
            inputs: as AlbertModel takes them, but int32 [B, N, S] (and "inputs_embeds" float [B, N, S, E]).
            training, dropout_seed, skip_padding: as in AlbertForSequenceClassification.call.

        Returns:
            {"logits": float32 [B, N]}, before softmax.
        """
        seed, head_seed = self._seeds(training, dropout_seed)
        inputs = encoder_inputs(self._read(inputs))
        num_options = ops.shape(inputs[INPUT_MASK])[1]
        flat = {name: ops.reshape(value, (-1, *ops.shape(value)[2:])) for name, value in inputs.items()}
        pooled = self._pooled(flat, training, seed, skip_padding)
        return {"logits": self.classifier(pooled, num_options=num_options, seed=head_seed, training=training)}

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        return {**super().get_config(), "classifier_dropout_prob": self.classifier_dropout_prob}


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForSpan(AlbertWithHead):
    """Finds where in a text the answer to a question stands (SQuAD, paper section 4.1).

    Args:
        config: AlbertConfig, or the dict of one.
        beam: False scores start and end each for itself, as the official code does for SQuAD 1.1; True scores the
            end by the start, and whether there is an answer, as it does for SQuAD 2.0.
        beam_size: K, see SpanBeamHead.
        classifier_dropout_prob: rate of dropout in the answerability of the latter.
        remat, constant_graph, dtype: see AlbertModel.
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        beam: bool = False,
        beam_size: int = 5,
        classifier_dropout_prob: float = CLASSIFIER_DROPOUT_PROB,
        name: str = "albert_for_span",
        **kwargs: Any,
    ) -> None:
        super().__init__(config, False, name=name, **kwargs)
        self.span: Any
        self.beam = beam
        self.beam_size = beam_size
        self.classifier_dropout_prob = classifier_dropout_prob
        if beam:
            self.span = SpanBeamHead(self.config, beam_size, classifier_dropout_prob, name="span_beam")
        else:
            self.span = SpanHead(self.config, name="span")
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the head's weights; the encoder has its own already."""
        self.span.build()

    def call(
        self, inputs: Any, training: bool = False, dropout_seed: Any = None, skip_padding: bool = False
    ) -> dict[str, Any]:
        """Scores starts and ends.

        Args:
            inputs: as AlbertModel takes them; with `beam` also "p_mask" int32 [B, S], 1 where no answer can be (left
                out: in the padding), and in training "start_positions" int32 [B].
            training, dropout_seed, skip_padding: as in AlbertForSequenceClassification.call.

        Returns:
            {"start_logits", "end_logits"}: float32 [B, S]; with `beam` what SpanBeamHead returns.
        """
        inputs = self._read(inputs)
        seed, head_seed = self._seeds(training, dropout_seed)
        if not self.beam:
            scores: dict[str, Any] = self.span(self._sequence(inputs, training, seed, skip_padding))
            return scores
        p_mask = 1 - ops.cast(inputs[INPUT_MASK], "int32") if inputs.get("p_mask") is None else inputs["p_mask"]
        wanted = p_mask == 0 if skip_padding else None
        sequence = self._sequence(inputs, training, seed, skip_padding, wanted)
        starts = inputs.get("start_positions") if training else None
        if training and starts is None:
            raise InputError("With `beam` training needs `start_positions`, int32 [B]. Received none.")
        scores = self.span(sequence, p_mask, starts, seed=head_seed, training=training)
        return scores

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        more = {"beam": self.beam, "beam_size": self.beam_size}
        return {**super().get_config(), **more, "classifier_dropout_prob": self.classifier_dropout_prob}


FinetuningModel = (
    AlbertForSequenceClassification
    | AlbertForTokenClassification
    | AlbertForMultipleChoice
    | AlbertForSpan
    | AlbertForSpanCategories
)


def make_finetuning_model(
    config: AlbertConfig | dict[str, Any],
    head: str,
    num_labels: int = 0,
    classifier_dropout_prob: float = CLASSIFIER_DROPOUT_PROB,
    early_exit: bool = False,
    exit_pooling: str = POOLED,
    max_span_length: int = MAX_SPAN_LENGTH,
    **kwargs: Any,
) -> FinetuningModel:
    """The model for a kind of head.

    Args:
        config: AlbertConfig.
        head: "classification", "multi_label", "regression", "multiple_choice", "span", "span_beam",
            "token_classification" or "span_categories".
        num_labels: C, of the kinds that have classes.
        classifier_dropout_prob: rate of dropout in front of, or in, the head.
        early_exit: whether there is a classifier after every layer; of the first three kinds.
        exit_pooling: what these read, see heads.exits.Exits.
        max_span_length: of the last kind, see AlbertForSpanCategories.
        **kwargs: remat, constant_graph, dtype: see AlbertModel.
    """
    if early_exit and head not in EXIT_HEADS:
        raise InputError(f"`early_exit` is for {', '.join(EXIT_HEADS)}. Received head={head!r}.")
    if early_exit or exit_pooling != POOLED:
        kwargs |= {"early_exit": early_exit, "exit_pooling": exit_pooling}
    kwargs["classifier_dropout_prob"] = classifier_dropout_prob
    if head in ("classification", "multi_label"):
        return AlbertForSequenceClassification(config, num_labels, **kwargs)
    if head == "regression":
        return AlbertForSequenceClassification(config, 1, **kwargs)
    if head == "token_classification":
        return AlbertForTokenClassification(config, num_labels, **kwargs)
    if head == "multiple_choice":
        return AlbertForMultipleChoice(config, **kwargs)
    if head == "span":
        return AlbertForSpan(config, **kwargs)
    if head == "span_beam":
        return AlbertForSpan(config, beam=True, **kwargs)
    if head == "span_categories":
        return AlbertForSpanCategories(config, num_labels, max_span_length, **kwargs)
    raise ValueError(f"`head` is no kind of head. Received head={head!r}.")
