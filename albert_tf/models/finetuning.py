"""AlbertModel with the heads of fine-tuning: texts or pairs, several choices, answers in a text, pieces.

Shapes: B batch, N options, S sequence, C classes, K width of the beam.
"""

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.heads.finetuning import ClassificationHead, MultipleChoiceHead, SpanHead
from albert_tf.heads.span_beam import SpanBeamHead
from albert_tf.kernels import backend
from albert_tf.models.albert import AlbertModel, ConfiguredModel
from albert_tf.models.inputs import INPUT_MASK, SEGMENT_IDS, encoder_inputs
from albert_tf.runtime.errors import InputError

# Folded into a step's dropout seed for the head; AlbertModel folds 0 and 1.
_HEAD_STREAM = 2


class _AlbertWithHead(ConfiguredModel):
    """An encoder and a head; what every model here has.

    Args:
        config: AlbertConfig, or the dict of one.
        pooler: whether the head reads the pooled [CLS]; without it there is no such weight.
        remat, constant_graph: see AlbertModel.
    """

    returns_hidden_states = False

    def __init__(self, config, pooler, remat=False, constant_graph=False, **kwargs):
        super().__init__(autocast=False, **kwargs)
        ways = {"remat": remat, "constant_graph": constant_graph}
        self.albert = AlbertModel(config, pooler=pooler, dtype=self.dtype_policy, **ways)
        self.config: AlbertConfig = self.albert.config

    def _pooled(self, inputs, training, dropout_seed, skip_padding):
        """The pooled [CLS], the only position of which the last layer is computed."""
        nothing_else = ops.zeros_like(inputs[SEGMENT_IDS][:, :0])
        outputs = self.albert(
            inputs, training=training, dropout_seed=dropout_seed, positions=nothing_else, skip_padding=skip_padding
        )
        return outputs["pooled_output"]

    def _sequence(self, inputs, training, dropout_seed, skip_padding, wanted=None):
        outputs = self.albert(
            inputs, training=training, dropout_seed=dropout_seed, skip_padding=skip_padding, wanted=wanted
        )
        return outputs["sequence_output"]

    def _seeds(self, training, dropout_seed):
        """(of the encoder, of the head); a seed of the model's own generator where none is given."""
        if not training:
            return None, None
        if dropout_seed is None:
            dropout_seed = self.albert.seed_generator.next()
        return dropout_seed, backend.fold_in(dropout_seed, _HEAD_STREAM)

    @property
    def encoder(self):
        """The SharedEncoder of `albert`."""
        return self.albert.encoder


class _AlbertWithClassifier(_AlbertWithHead):
    """The same with one ClassificationHead, "classifier".

    Args:
        config, pooler, remat, constant_graph: see _AlbertWithHead.
        num_labels: C.
        classifier_dropout_prob: rate of dropout in front of the head.
    """

    def __init__(self, config, pooler, num_labels, classifier_dropout_prob, **kwargs):
        super().__init__(config, pooler, **kwargs)
        self.num_labels = num_labels
        self.classifier_dropout_prob = classifier_dropout_prob
        self.classifier = ClassificationHead(self.config, num_labels, classifier_dropout_prob, name="classifier")
        self.build()

    def build(self, input_shape=None):
        """Makes the head's weights; the encoder has its own already."""
        self.classifier.build()

    def get_config(self):
        """Constructor arguments, for keras.saving."""
        more = {"num_labels": self.num_labels, "classifier_dropout_prob": self.classifier_dropout_prob}
        return {**super().get_config(), **more}


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForSequenceClassification(_AlbertWithClassifier):
    """A text or a pair to one of C classes, to any of C labels, or, with C = 1, to a number (paper section 4.1, GLUE).

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C.
        classifier_dropout_prob: rate of dropout on the pooled output.
        remat, constant_graph, dtype: see AlbertModel.

    Example:
        >>> model = AlbertForSequenceClassification(AlbertConfig(
        ...     vocab_size=100, embedding_size=8, hidden_size=16, num_hidden_layers=2,
        ...     num_attention_heads=2, intermediate_size=32), num_labels=3)
        >>> model({"input_ids": keras.ops.ones((1, 5), dtype="int32")})["logits"].shape
        TensorShape([1, 3])
    """

    def __init__(
        self, config, num_labels=2, classifier_dropout_prob=0.1, name="albert_for_sequence_classification", **kwargs
    ):
        super().__init__(config, True, num_labels, classifier_dropout_prob, name=name, **kwargs)

    def call(self, inputs, training=False, dropout_seed=None, skip_padding=False):
        """Scores the classes.

        Args:
            inputs: as AlbertModel takes them.
            training: whether dropout is active.
            dropout_seed: int32 [2], see AlbertModel.call.
            skip_padding: see AlbertModel.call.

        Returns:
            {"logits": float32 [B, C]}, before softmax or sigmoid; with C = 1 the number itself.
        """
        inputs = self._read(inputs)
        seed, head_seed = self._seeds(training, dropout_seed)
        pooled = self._pooled(inputs, training, seed, skip_padding)
        return {"logits": self.classifier(pooled, seed=head_seed, training=training)}


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForTokenClassification(_AlbertWithClassifier):
    """Assigns every piece of a text to one of C classes.

    Args:
        config: AlbertConfig, or the dict of one.
        num_labels: C.
        classifier_dropout_prob: rate of dropout on the encoder's output.
        remat, constant_graph, dtype: see AlbertModel.
    """

    def __init__(
        self, config, num_labels=2, classifier_dropout_prob=0.1, name="albert_for_token_classification", **kwargs
    ):
        super().__init__(config, False, num_labels, classifier_dropout_prob, name=name, **kwargs)

    def call(self, inputs, training=False, dropout_seed=None, skip_padding=False):
        """Scores the classes of every piece; arguments as in AlbertForSequenceClassification.call.

        Returns:
            {"logits": float32 [B, S, C]}, before softmax.
        """
        inputs = self._read(inputs)
        seed, head_seed = self._seeds(training, dropout_seed)
        sequence = self._sequence(inputs, training, seed, skip_padding)
        return {"logits": self.classifier(sequence, seed=head_seed, training=training)}


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForMultipleChoice(_AlbertWithHead):
    """Chooses the option that fits (RACE, paper section 4.1): every option is encoded with the question, and scored.

    Args:
        config: AlbertConfig, or the dict of one.
        classifier_dropout_prob: rate of dropout on the pooled output.
        remat, constant_graph, dtype: see AlbertModel.
    """

    num_axes = 3

    def __init__(self, config, classifier_dropout_prob=0.1, name="albert_for_multiple_choice", **kwargs):
        super().__init__(config, True, name=name, **kwargs)
        self.classifier_dropout_prob = classifier_dropout_prob
        self.classifier = MultipleChoiceHead(self.config, classifier_dropout_prob, name="classifier")
        self.build()

    def build(self, input_shape=None):
        """Makes the head's weights; the encoder has its own already."""
        self.classifier.build()

    def call(self, inputs, training=False, dropout_seed=None, skip_padding=False):
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

    def get_config(self):
        """Constructor arguments, for keras.saving."""
        return {**super().get_config(), "classifier_dropout_prob": self.classifier_dropout_prob}


@keras.saving.register_keras_serializable("albert_tf")
class AlbertForSpan(_AlbertWithHead):
    """Finds where in a text the answer to a question stands (SQuAD, paper section 4.1).

    Args:
        config: AlbertConfig, or the dict of one.
        beam: False scores start and end each for itself, as the official code does for SQuAD 1.1; True scores the
            end by the start, and whether there is an answer, as it does for SQuAD 2.0.
        beam_size: K, see SpanBeamHead.
        classifier_dropout_prob: rate of dropout in the answerability of the latter.
        remat, constant_graph, dtype: see AlbertModel.
    """

    def __init__(self, config, beam=False, beam_size=5, classifier_dropout_prob=0.1, name="albert_for_span", **kwargs):
        super().__init__(config, False, name=name, **kwargs)
        self.beam = beam
        self.beam_size = beam_size
        self.classifier_dropout_prob = classifier_dropout_prob
        if beam:
            self.span = SpanBeamHead(self.config, beam_size, classifier_dropout_prob, name="span_beam")
        else:
            self.span = SpanHead(self.config, name="span")
        self.build()

    def build(self, input_shape=None):
        """Makes the head's weights; the encoder has its own already."""
        self.span.build()

    def call(self, inputs, training=False, dropout_seed=None, skip_padding=False):
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
            return self.span(self._sequence(inputs, training, seed, skip_padding))
        p_mask = 1 - ops.cast(inputs[INPUT_MASK], "int32") if inputs.get("p_mask") is None else inputs["p_mask"]
        wanted = p_mask == 0 if skip_padding else None
        sequence = self._sequence(inputs, training, seed, skip_padding, wanted)
        starts = inputs.get("start_positions") if training else None
        if training and starts is None:
            raise InputError("With `beam` training needs `start_positions`, int32 [B]. Received none.")
        return self.span(sequence, p_mask, starts, seed=head_seed, training=training)

    def get_config(self):
        """Constructor arguments, for keras.saving."""
        more = {"beam": self.beam, "beam_size": self.beam_size}
        return {**super().get_config(), **more, "classifier_dropout_prob": self.classifier_dropout_prob}


def make_finetuning_model(config, head, num_labels=0, classifier_dropout_prob=0.1, **kwargs):
    """The model for a kind of head.

    Args:
        config: AlbertConfig.
        head: "classification", "multi_label", "regression", "multiple_choice", "span", "span_beam" or
            "token_classification".
        num_labels: C, of the kinds that have classes.
        classifier_dropout_prob: rate of dropout in front of, or in, the head.
        **kwargs: remat, constant_graph, dtype: see AlbertModel.
    """
    kwargs["classifier_dropout_prob"] = classifier_dropout_prob
    if head in ("classification", "multi_label"):
        return AlbertForSequenceClassification(config, num_labels, **kwargs)
    if head == "regression":
        return AlbertForSequenceClassification(config, 1, **kwargs)
    if head == "token_classification":
        return AlbertForTokenClassification(config, num_labels, **kwargs)
    if head == "multiple_choice":
        return AlbertForMultipleChoice(config, **kwargs)
    if head in ("span", "span_beam"):
        return AlbertForSpan(config, beam=head == "span_beam", **kwargs)
    raise ValueError(f"`head` is no kind of head. Received head={head!r}.")
