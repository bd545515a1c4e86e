"""Keras's own compile, fit and evaluate for AlbertForPretraining: the two losses by their names.

Shapes: B batch, P predictions.
"""

import keras
from keras import ops

from albert_tf import losses
from albert_tf.runtime.errors import InputError

MASKED_LM, SENTENCE_ORDER = LOSSES = ("masked_lm", "sentence_order")
# The columns of a batch that hold the answers.
_LABELS = {MASKED_LM: ("masked_lm_ids", "masked_lm_weights"), SENTENCE_ORDER: ("sentence_order_labels",)}


class PretrainingFit:
    """The part of AlbertForPretraining that Keras's trainer calls.

    The answers are columns of a batch, as `make_dataset` has them: `model.compile("adam"); model.fit(batches)`. The
    losses are those of run_pretraining: a mean over the masked tokens of the batch, and one over its pairs.
    """

    def compile(self, optimizer="adam", loss=LOSSES, **kwargs):
        """Says how `fit` trains.

        Args:
            optimizer: a Keras optimizer or its name; albert_tf.LAMB, AdamW and Muon are such.
            loss: "masked_lm", "sentence_order", or both, which are added up.
            **kwargs: of keras.Model.compile.

        Raises:
            InputError: no such loss, or what Keras's compile calls loss_weights or metrics.
        """
        names = (loss,) if isinstance(loss, str) else tuple(loss or ())
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
        vars(self)["_fit_losses"] = names
        vars(self)["_fit_metrics"] = {name: keras.metrics.Mean(name=f"{name}_accuracy") for name in names}

    @property
    def metrics(self):
        """Keras's own, the loss, and the accuracy of each task that is trained."""
        return [*super().metrics, *getattr(self, "_fit_metrics", {}).values()]

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Adds up the losses that `compile` named; x is a batch with its answers, float32 scalar."""
        if y is not None or sample_weight is not None:
            raise InputError("The answers are columns of the batch, beside input_ids; fit takes no y and no weights.")
        missing = [column for name in self._fit_losses for column in _LABELS[name] if column not in x]
        if missing:
            raise InputError(f"A batch to train on has {', '.join(missing)} too; make_dataset reads such batches.")
        total = 0.0
        if MASKED_LM in self._fit_losses:
            weights = ops.cast(x["masked_lm_weights"], "float32")
            loss, correct, count = losses.masked_lm_sums(y_pred["masked_lm_logits"], x["masked_lm_ids"], weights)
            total = total + loss / (count + losses.MASKED_LM_DENOMINATOR_EPSILON)
            self._fit_metrics[MASKED_LM].update_state(correct / ops.maximum(count, 1.0), sample_weight=count)
        if SENTENCE_ORDER in self._fit_losses:
            logits, labels = y_pred["sentence_order_logits"], x["sentence_order_labels"]
            loss, count = losses.classification_loss(logits, labels)
            total = total + loss / count
            correct = losses.classification_correct(logits, labels)
            self._fit_metrics[SENTENCE_ORDER].update_state(correct / count, sample_weight=count)
        # A head that is not trained has a gradient of zero: Keras warns of weights without any.
        idle = [y_pred[f"{name}_logits"] for name in LOSSES if name not in self._fit_losses]
        return total + sum(0.0 * ops.mean(ops.cast(logits, "float32")) for logits in idle)
