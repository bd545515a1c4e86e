"""The base classes of the models of fine-tuning: an encoder and a head.

Shapes: B batch, S sequence, C classes.
"""

from typing import Any

from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.heads.exits import Exits
from albert_tf.heads.finetuning import ClassificationHead
from albert_tf.heads.pooling import MEAN, POOLED, mean_of_pieces
from albert_tf.kernels import fold_in
from albert_tf.models.albert import AlbertModel, ConfiguredModel
from albert_tf.models.inputs import INPUT_MASK, SEGMENT_IDS
from albert_tf.runtime.errors import InputError

# Folded into a step's dropout seed for the head; AlbertModel folds 0 and 1.
_HEAD_STREAM = 2


class AlbertWithHead(ConfiguredModel):
    """An encoder and a head; what every model here has.

    Args:
        config: AlbertConfig, or the dict of one.
        pooler: whether the head reads the pooled [CLS]; without it there is no such weight.
        remat, constant_graph: see AlbertModel.
    """

    returns_hidden_states = False

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        pooler: bool,
        remat: bool = False,
        constant_graph: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.albert = AlbertModel(
            config, remat=remat, constant_graph=constant_graph, pooler=pooler, dtype=self.dtype_policy
        )
        self.config = self.albert.config

    def _pooled(self, inputs: Any, training: bool, dropout_seed: Any, skip_padding: bool) -> Any:
        """The pooled [CLS], the only position of which the last layer is computed."""
        nothing_else = ops.zeros((ops.shape(inputs[SEGMENT_IDS])[0], 0), "int32")
        outputs = self.albert(
            inputs, training=training, dropout_seed=dropout_seed, positions=nothing_else, skip_padding=skip_padding
        )
        return outputs["pooled_output"]

    def _vectors_after_layers(
        self, inputs: Any, training: bool, dropout_seed: Any, pooling: str = POOLED
    ) -> tuple[Any, Any]:
        """The vectors that exits read after each layer but the last, float32 [B, L - 1, H], and the pooled [CLS] after
        the last, [B, H]."""
        if self.encoder.constant_graph:
            raise InputError("With `constant_graph` there is nothing between the layers for exits to read.")
        nothing_else = ops.zeros((ops.shape(inputs[SEGMENT_IDS])[0], 0), "int32")
        outputs = self.albert(inputs, training=training, dropout_seed=dropout_seed, positions=nothing_else)
        states, last = outputs["hidden_states"][1:], outputs["pooled_output"]
        if pooling == MEAN:
            return ops.stack([mean_over_text(hidden, inputs[INPUT_MASK]) for hidden in states], axis=1), last
        return self.albert.pool(ops.stack([hidden[:, 0] for hidden in states], axis=1)), last

    def _sequence(self, inputs: Any, training: bool, dropout_seed: Any, skip_padding: bool, wanted: Any = None) -> Any:
        outputs = self.albert(
            inputs, training=training, dropout_seed=dropout_seed, skip_padding=skip_padding, wanted=wanted
        )
        return outputs["sequence_output"]

    def _seeds(self, training: bool, dropout_seed: Any) -> tuple[Any, Any]:
        """(of the encoder, of the head); a seed of the model's own generator where none is given."""
        if not training:
            return None, None
        if dropout_seed is None:
            dropout_seed = self.albert.seed_generator.next()
        return dropout_seed, fold_in(dropout_seed, _HEAD_STREAM)

    @property
    def encoder(self) -> Any:
        """The SharedEncoder of `albert`."""
        return self.albert.encoder


class AlbertWithClassifier(AlbertWithHead):
    """The same with one ClassificationHead, "classifier".

    Args:
        config, pooler, remat, constant_graph: see AlbertWithHead.
        num_labels: C, the number of classes.
        classifier_dropout_prob: rate of dropout in front of the head.
        early_exit: whether there is one after every other layer too, "exits".
        exit_pooling: what these read, see heads.exits.Exits.
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        pooler: bool,
        num_labels: int,
        classifier_dropout_prob: float,
        early_exit: bool = False,
        exit_pooling: str = POOLED,
        **kwargs: Any,
    ) -> None:
        super().__init__(config, pooler, **kwargs)
        self.num_labels = num_labels
        self.classifier_dropout_prob = classifier_dropout_prob
        self.classifier = ClassificationHead(self.config, num_labels, classifier_dropout_prob, name="classifier")
        self.exits: Any = None
        if exit_pooling != POOLED and not early_exit:
            raise InputError(f"`exit_pooling` goes with `early_exit`. Received exit_pooling={exit_pooling!r}.")
        if early_exit and not pooler:
            raise InputError("`early_exit` is for a head that reads the pooled [CLS].")
        if early_exit:
            self.exits = Exits(self.config, num_labels, classifier_dropout_prob, exit_pooling, name="exits")
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the heads' weights; the encoder has its own already."""
        self.classifier.build()
        if self.exits is not None:
            self.exits.build()

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        more = {"num_labels": self.num_labels, "classifier_dropout_prob": self.classifier_dropout_prob}
        more |= {} if self.exits is None else {"early_exit": True, "exit_pooling": self.exits.pooling}
        return {**super().get_config(), **more}


def mean_over_text(hidden: Any, mask: Any) -> Any:
    """The mean over the pieces of each text, in float32: float [B, S, H] and int [B, S] -> [B, H]."""
    return mean_of_pieces(ops.cast(hidden, "float32"), mask, ops)
