"""The losses of fine-tuning by the kind of head, in steps of training and of prediction."""

from collections.abc import Callable
from typing import Any

from keras import ops

from albert_tf import losses
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, FEATURE_INDEX, LABEL
from albert_tf.training.engine import EngineSteps

_NAMES = ("loss", "accuracy", "tokens", "gradient_norm")


def _classification(outputs, batch):
    scored = (outputs["logits"], batch[LABEL], batch[EXAMPLE_WEIGHT])
    return losses.classification_loss(*scored)[0], losses.classification_correct(*scored)


def _multi_label(outputs, batch):
    scored = (outputs["logits"], batch[LABEL], batch[EXAMPLE_WEIGHT])
    return losses.multi_label_loss(*scored)[0], losses.multi_label_correct(*scored)


def _regression(outputs, batch):
    return losses.regression_loss(outputs["logits"], batch[LABEL], batch[EXAMPLE_WEIGHT])[0], None


def _pieces(outputs, batch):
    scored = (outputs["logits"], ops.maximum(batch[LABEL], 0), _piece_weights(batch))
    return losses.masked_lm_sums(*scored)[:2]


def _span(outputs, batch):
    scored = (outputs["start_logits"], outputs["end_logits"], batch["start_positions"], batch["end_positions"])
    weights = batch[EXAMPLE_WEIGHT]
    return losses.span_loss(*scored, weights)[0], losses.span_correct(*scored, weights)


def _span_beam(outputs, batch):
    loss, correct = _span(outputs, batch)
    answerable = (outputs["answerability_logits"], batch["is_impossible"], batch[EXAMPLE_WEIGHT])
    return loss + losses.answerability_loss(*answerable)[0], correct


# kind of head -> function of (outputs, batch) to (sum of losses, number of right answers or None).
_OBJECTIVES: dict[str, Callable[[Any, Any], tuple]] = {
    "classification": _classification,
    "multi_label": _multi_label,
    "regression": _regression,
    "multiple_choice": _classification,
    "token_classification": _pieces,
    "span": _span,
    "span_beam": _span_beam,
}


def _piece_weights(batch):
    return ops.cast(batch[LABEL] >= 0, "float32") * batch[EXAMPLE_WEIGHT][:, None]


class FinetuningSteps(EngineSteps):
    """Steps of a model of models.finetuning.

    The metric "accuracy" is the share of right answers among those that are scored: pieces, for
    token_classification; for spans both start and end must be right. A regression has none. "tokens" are the positions
    of the step's batch, padding included.

    Args:
        strategy, model: see Steps.
        head: the kind, one of inputs.finetuning_features.HEADS.
        optimizer, seed: see Steps.
        **kwargs: see Steps.
    """

    def __init__(self, strategy, model, head, optimizer=None, seed=0, **kwargs):
        super().__init__(strategy, model, optimizer, seed, **kwargs)
        self.head = head
        self.metrics = tuple(name for name in _NAMES if name != "accuracy" or head != "regression")

    def _predict_share(self, batch):
        outputs = self.model(batch, training=False, skip_padding=not self.static_shapes)
        return {**outputs, **{name: batch[name] for name in (FEATURE_INDEX, EXAMPLE_WEIGHT)}}

    def _counts(self, batch):
        weights = _piece_weights(batch) if self.head == "token_classification" else batch[EXAMPLE_WEIGHT]
        return [ops.sum(weights)]

    def _losses(self, batch, counts, seed):
        outputs = self.model(batch, training=True, dropout_seed=seed)
        loss, correct = _OBJECTIVES[self.head](outputs, batch)
        # A batch of token classification may hold no piece that is scored.
        count = ops.maximum(counts[0], 1.0)
        tokens = ops.cast(ops.size(batch["input_ids"]), "float32")
        return loss / count, ops.stack([loss / count, *([] if correct is None else [correct / count]), tokens])
