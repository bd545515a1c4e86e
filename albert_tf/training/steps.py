"""One step of pre-training and one of evaluation, under any tf.distribute strategy.

Gradients are summed over the replicas, and clipped by their global norm after that, not before; losses are divided
by the number of masked tokens and of pairs of the whole batch, not of a replica's share. A step on R replicas is
therefore the same step as on one.
"""

import tensorflow as tf

from albert_tf import losses
from albert_tf.inputs.pretraining_dataset import EXAMPLE_WEIGHTS
from albert_tf.layers import backend_ops
from albert_tf.models.named_weights import named_weights

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
)


class PretrainingSteps:
    """The compiled steps of one model under one strategy.

    Args:
        strategy: a tf.distribute strategy; model and optimizer were made in its scope.
        model: AlbertForPretraining.
        optimizer: built on the model's weights; None for evaluation alone.
        seed: of the dropout masks, with the step and the replica.
        train_sentence_order: whether the sentence-order loss takes part.
        max_gradient_norm: what the global norm is clipped to (1.0 in the official optimization.py).
    """

    def __init__(self, strategy, model, optimizer=None, seed=0, train_sentence_order=True, max_gradient_norm=1.0):
        self.strategy = strategy
        self.model = model
        self.optimizer = optimizer
        self.train_sentence_order = train_sentence_order
        self.max_gradient_norm = max_gradient_norm
        self._seed = seed
        self._variables = list(named_weights(model).values())

    @tf.function(reduce_retracing=True)
    def train(self, iterator, num_steps):
        """Takes steps without coming back to Python in between.

        Args:
            iterator: over a distributed training dataset.
            num_steps: int32 scalar tensor.

        Returns:
            float32 vector, the means over the steps of TRAIN_METRICS.
        """
        totals = tf.zeros([len(TRAIN_METRICS)])
        for _ in tf.range(num_steps):
            shares = self.strategy.run(self._train_replica, args=(next(iterator),))
            totals += self.strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)
        return totals / tf.cast(num_steps, tf.float32)

    @tf.function(reduce_retracing=True)
    def evaluate(self, batch):
        """Adds up one batch: float32 vector of EVALUATION_SUMS."""
        shares = self.strategy.run(self._evaluate_replica, args=(batch,))
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)

    def _sums(self, outputs, batch):
        predictions = (outputs["masked_lm_logits"], batch["masked_lm_ids"], batch["masked_lm_weights"])
        order = (outputs["sentence_order_logits"], batch["sentence_order_labels"], batch.get(EXAMPLE_WEIGHTS))
        loss, count = losses.masked_lm_loss(*predictions)
        order_loss, order_count = losses.sentence_order_loss(*order)
        correct, order_correct = losses.masked_lm_correct(*predictions), losses.sentence_order_correct(*order)
        return loss, correct, count, order_loss, order_correct, order_count

    def _evaluate_replica(self, batch):
        return tf.stack(self._sums(self.model(batch, training=False, read_only_predictions=True), batch))

    def _train_replica(self, batch):
        replica = tf.distribute.get_replica_context()
        pairs = tf.cast(tf.shape(batch["input_ids"])[0], tf.float32)
        totals = replica.all_reduce(tf.distribute.ReduceOp.SUM, [tf.reduce_sum(batch["masked_lm_weights"]), pairs])
        predictions = totals[0] + losses.MASKED_LM_DENOMINATOR_EPSILON
        with tf.GradientTape() as tape:
            outputs = self.model(
                batch, training=True, dropout_seed=self._dropout_seed(replica), read_only_predictions=True
            )
            loss, correct, _, order_loss, order_correct, _ = self._sums(outputs, batch)
            loss, order_loss = loss / predictions, order_loss / totals[1]
            total_loss = loss + order_loss if self.train_sentence_order else loss
        gradients = tape.gradient(
            total_loss,
            [variable.value for variable in self._variables],
            # Without the sentence-order loss its head, and the pooler, have no gradient.
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        # The word embeddings' gradient is that of a lookup and of a product: dense from here on, so that the norm
        # is that of their sum.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        gradients, norm = tf.clip_by_global_norm(gradients, self.max_gradient_norm)
        self._apply(replica, gradients)
        shares = (total_loss, loss, correct / predictions, order_loss, order_correct / totals[1])
        return tf.stack([*shares, norm / float(replica.num_replicas_in_sync)])

    def _dropout_seed(self, replica):
        seed = backend_ops.fold_in([self._seed, 0], tf.cast(self.optimizer.iterations.value, tf.int32))
        return backend_ops.fold_in(seed, replica.replica_id_in_sync_group)

    def _apply(self, replica, gradients):
        """Applies gradients that are the same on every replica already; `optimizer.apply` would sum them again."""
        rate = tf.convert_to_tensor(self.optimizer.learning_rate)

        def update(strategy, rate, *gradients):
            for variable, gradient in zip(self._variables, gradients, strict=True):
                strategy.extended.update(
                    variable.value,
                    lambda target, *args: self.optimizer.update_step(args[0], target, args[1]),
                    args=(gradient, rate),
                    group=False,
                )

        replica.merge_call(update, args=(rate, *gradients))
        self.optimizer.iterations.assign_add(1)
