"""Keras's own compile, fit and evaluate for AlbertForPretraining: the two losses by their names.

Shapes: B batch, P predictions.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras
from keras import ops

from albert_tf import losses
from albert_tf.records.names import EXAMPLE_WEIGHTS, SEQUENCE_WEIGHTS
from albert_tf.runtime.errors import InputError

if TYPE_CHECKING:
    # The methods that PretrainingFit goes on with are those of the class that it is mixed into.
    from keras import Model as _Model
else:
    _Model = object

MASKED_LM, SENTENCE_ORDER = LOSSES = ("masked_lm", "sentence_order")
# The columns of a batch that hold the answers.
_LABELS = {
    MASKED_LM: ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"),
    SENTENCE_ORDER: ("sentence_order_labels",),
}


class PretrainingFit(_Model):
    """The part of AlbertForPretraining that Keras's trainer calls.

    The answers are columns of a batch, as `make_dataset` has them: `model.compile("adam"); model.fit(batches)`. The
    losses are those of run_pretraining: a mean over the masked tokens of the batch, and one over its pairs.
    """

    def compile(self, optimizer: Any = "adam", loss: str | Sequence[str] = LOSSES, **kwargs: Any) -> None:
        """Says how `fit` trains.

        Args:
            optimizer: a Keras optimizer or its name; albert_tf.LAMB, AdamW and Muon are such.
            loss: "masked_lm", "sentence_order", or both, which are added up.
            **kwargs: of keras.Model.compile.

        Raises:
            InputError: no such loss, or what Keras's compile calls loss_weights or metrics.
        """
        is_list = isinstance(loss, list | tuple)
        names = (loss,) if isinstance(loss, str) else tuple(loss) if is_list else ()
        if not names or any(name not in LOSSES for name in names):
            raise InputError(f"`loss` must be one or both of {', '.join(LOSSES)}. Received {loss!r}.")
        refused = [name for name in ("loss_weights", "metrics", "weighted_metrics") if kwargs.get(name)]
        if refused:
            raise InputError(
                f"{type(self).__name__} has losses and metrics of its own, which need no {', '.join(refused)}; "
                "write a loop of your own for others (albert_tf.losses has the sums)."
            )
        super().compile(optimizer=optimizer, **kwargs)
        # Past Keras's __setattr__, which lets a model that is built have no new state.
        own: dict[str, Any] = self.__dict__
        own["_fit_losses"] = names
        own["_fit_metrics"] = {name: keras.metrics.Mean(name=f"{name}_accuracy") for name in names}

    def get_compile_config(self) -> dict[str, Any] | None:
        """The arguments of `compile`, for a model that Keras saves; None before it was called."""
        if not self.compiled:
            return None
        return {"optimizer": keras.saving.serialize_keras_object(self.optimizer), "loss": list(self._fit_losses)}

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a model that Keras loads as it was when it was saved."""
        self.compile(keras.saving.deserialize_keras_object(config["optimizer"]), loss=config["loss"])
        self.optimizer.build(self.trainable_variables)

    def fit(
        self, x: Any = None, y: None = None, batch_size: int | None = None, **kwargs: Any
    ) -> keras.callbacks.History:
        """Trains as keras.Model.fit does, on batches that hold their answers."""
        _refuse_beside_the_batch(y, kwargs)
        return super().fit(x, batch_size=batch_size, **kwargs)

    def evaluate(self, x: Any = None, y: None = None, batch_size: int | None = None, **kwargs: Any) -> Any:
        """Measures as keras.Model.evaluate does, on batches that hold their answers."""
        _refuse_beside_the_batch(y, kwargs)
        return super().evaluate(x, batch_size=batch_size, **kwargs)

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        """Keras's own, the loss, and the accuracy of each task that is trained."""
        return [*super().metrics, *getattr(self, "_fit_metrics", {}).values()]

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """Adds up the losses that `compile` named; x is a batch with its answers, float32 scalar."""
        _refuse_beside_the_batch(y, {"sample_weight": sample_weight})
        if not isinstance(x, Mapping):
            raise InputError("A batch to train on is a dict with its answers, as make_dataset reads them.")
        missing = [column for name in self._fit_losses for column in _LABELS[name] if column not in x]
        if missing:
            raise InputError(f"A batch to train on has {', '.join(missing)} too; make_dataset reads such batches.")
        total = 0.0
        if MASKED_LM in self._fit_losses:
            loss, correct, count = _masked_lm_sums(y_pred["masked_lm_logits"], x)
            total = total + loss / (count + losses.MASKED_LM_DENOMINATOR_EPSILON)
            self._fit_metrics[MASKED_LM].update_state(correct / ops.maximum(count, 1.0), sample_weight=count)
        if SENTENCE_ORDER in self._fit_losses:
            # Rows that only fill a batch up, and places of a row without an example, are no pairs.
            weights = x.get(SEQUENCE_WEIGHTS, x.get(EXAMPLE_WEIGHTS))
            pairs = y_pred["sentence_order_logits"], x["sentence_order_labels"], weights
            loss, count = losses.classification_loss(*pairs)
            total = total + loss / ops.maximum(count, 1.0)
            correct = losses.classification_correct(*pairs)
            self._fit_metrics[SENTENCE_ORDER].update_state(correct / ops.maximum(count, 1.0), sample_weight=count)
        # A head that is not trained has a gradient of zero: Keras warns of weights without any.
        idle = [y_pred[f"{name}_logits"] for name in LOSSES if name not in self._fit_losses]
        return total + sum(0.0 * ops.mean(ops.cast(logits, "float32")) for logits in idle)


def _refuse_beside_the_batch(y: Any, kwargs: Mapping[str, Any]) -> None:
    """Raises InputError for answers or weights beside the batch, some of which Keras would pass over."""
    given = [name for name in ("sample_weight", "class_weight") if kwargs.get(name) is not None]
    if y is not None or given:
        raise InputError(
            "The answers are columns of the batch, beside input_ids; fit and evaluate take no y and no weights. "
            f"Received {', '.join([*(['y'] if y is not None else []), *given])}."
        )


def _masked_lm_sums(logits: Any, batch: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """losses.masked_lm_sums, in which an id below 0, as Hugging Face marks what is no answer, has no weight.

    An id beyond the vocabulary, which no answer can be, makes the loss NaN: in a compiled step nothing can be raised.
    """
    labels, weights = ops.cast(batch["masked_lm_ids"], "int32"), ops.cast(batch["masked_lm_weights"], "float32")
    weights = ops.where(labels < 0, 0.0, weights)
    loss, correct, count = losses.masked_lm_sums(logits, ops.maximum(labels, 0), weights)
    is_beyond = ops.any(ops.logical_and(labels >= logits.shape[-1], weights > 0))
    return ops.where(is_beyond, float("nan"), loss), correct, count
