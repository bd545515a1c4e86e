"""The steps of fine-tuning: of training, and of prediction."""

from keras import ops

from albert_tf.finetuning.objectives import Objective
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, FEATURE_INDEX
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.training.engine import EngineSteps

_WITHOUT_ACCURACY = ("regression", SPAN_CATEGORIES)
_NAMES = ("loss", "accuracy", "tokens", "gradient_norm")


class FinetuningSteps(EngineSteps):
    """Steps of a model of models.finetuning.

    The metric "accuracy" is the share of right answers among those that are scored: pieces, for
    token_classification; for spans both start and end must be right. A regression has none, nor have categories of
    spans. "tokens" are the positions of the step's batch, padding included.

    Args:
        strategy, model: see Steps.
        head: the kind, one of inputs.finetuning_features.HEADS.
        optimizer, seed: see Steps.
        objective: the loss; None: that of the head, as it was published.
        all_exits: whether predictions have the outputs of all exits of the model.
        trains_exits: whether the exits, where there are any, have a part in the loss.
        **kwargs: see Steps.
    """

    def __init__(
        self,
        strategy,
        model,
        head,
        optimizer=None,
        seed=0,
        objective=None,
        all_exits=False,
        trains_exits=True,
        **kwargs,
    ):
        super().__init__(strategy, model, optimizer, seed, **kwargs)
        self.head = head
        self.objective = objective or Objective(head)
        self._all_exits = all_exits
        self._in_training = {} if trains_exits else {"all_exits": False}
        self.metrics = tuple(name for name in _NAMES if name != "accuracy" or head not in _WITHOUT_ACCURACY)

    def _predict_share(self, batch):
        if self._all_exits:
            outputs = self.model(batch, training=False, all_exits=True)
        else:
            outputs = self.model(batch, training=False, skip_padding=not self.static_shapes)
        return {**outputs, **{name: batch[name] for name in (FEATURE_INDEX, EXAMPLE_WEIGHT)}}

    def _counts(self, batch):
        return self.objective.counts(batch)

    def _losses(self, batch, counts, seed):
        outputs = self.model(batch, training=True, dropout_seed=seed, **self._in_training)
        loss, correct = self.objective.loss(outputs, batch, counts)
        tokens = ops.cast(ops.size(batch["input_ids"]), "float32")
        return loss, ops.stack([loss, *([] if correct is None else [correct]), tokens])
