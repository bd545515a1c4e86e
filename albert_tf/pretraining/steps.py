"""The two losses of pre-training and their metrics, in training and in evaluation."""

from keras import ops

from albert_tf import losses
from albert_tf.kernels import backend
from albert_tf.records.names import EXAMPLE_WEIGHTS, SEQUENCE_WEIGHTS
from albert_tf.training.engine import EngineSteps

# What a training step reports, in the order of its vector.
TRAIN_METRICS = (
    "loss",
    "masked_lm_loss",
    "masked_lm_accuracy",
    "sentence_order_loss",
    "sentence_order_accuracy",
    "gradient_norm",
)
# What an evaluation step adds up.
EVALUATION_SUMS = (
    "masked_lm_loss",
    "masked_lm_correct",
    "masked_lm_count",
    "sentence_order_loss",
    "sentence_order_correct",
    "sentence_order_count",
    "sentence_order_ones_correct",
    "sentence_order_ones",
)
# What a weight's name or path has if only the sentence task goes through it.
SENTENCE_HEAD = r"(^|/)(albert/pooler|sentence_order)/"


class PretrainingSteps(EngineSteps):
    """Steps of an AlbertForPretraining.

    Args:
        strategy, model, optimizer, seed: see Steps.
        train_sentence_order: whether the sentence-order loss takes part.
        **kwargs: see Steps.
    """

    metrics = TRAIN_METRICS

    def __init__(self, strategy, model, optimizer=None, seed=0, train_sentence_order=True, **kwargs):
        super().__init__(strategy, model, optimizer, seed, **kwargs)
        self.train_sentence_order = train_sentence_order

    def _sums(self, outputs, batch):
        """The first six of EVALUATION_SUMS."""
        predictions = (outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"])
        bias = backend.read(self.model.masked_lm.output_bias)
        order = (outputs["sentence_order_logits"], batch["sentence_order_labels"], self._pair_weights(batch))
        loss, correct, count = losses.masked_lm_sums(*predictions, bias)
        order_loss, order_count = losses.classification_loss(*order)
        order_correct = losses.classification_correct(*order)
        return loss, correct, count, order_loss, order_correct, order_count

    def _evaluate_share(self, batch):
        outputs, labels = self._outputs(batch, training=False), batch["sentence_order_labels"]
        ones, weights = ops.cast(labels, "float32"), self._pair_weights(batch)
        ones = ones if weights is None else ones * weights
        correct = losses.classification_correct(outputs["sentence_order_logits"], labels, ones)
        return ops.stack([*self._sums(outputs, batch), correct, ops.sum(ones)])

    def _pair_weights(self, batch):
        return batch.get(SEQUENCE_WEIGHTS, batch.get(EXAMPLE_WEIGHTS))

    def _outputs(self, batch, **ways):
        return self.model(batch, read_only_predictions=True, add_output_bias=False, **ways)

    def _counts(self, batch):
        weights = batch.get(SEQUENCE_WEIGHTS)
        pairs = ops.cast(ops.shape(batch["input_ids"])[0], "float32") if weights is None else ops.sum(weights)
        return [ops.sum(batch["masked_lm_weights"]), pairs]

    def _losses(self, batch, counts, seed):
        masked = counts[0] + losses.MASKED_LM_DENOMINATOR_EPSILON
        outputs = self._outputs(batch, training=True, dropout_seed=seed)
        loss, correct, _, order_loss, order_correct, _ = self._sums(outputs, batch)
        loss, order_loss = loss / masked, order_loss / counts[1]
        total_loss = loss + order_loss if self.train_sentence_order else loss
        return total_loss, ops.stack([total_loss, loss, correct / masked, order_loss, order_correct / counts[1]])
