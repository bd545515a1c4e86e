"""A step of training, under any tf.distribute strategy; what is trained on is a subclass's affair.

Gradients are summed over micro-batches and replicas, and clipped by their global norm after that, not before; losses
are divided by what the whole batch counts, not a replica's share. A step on R replicas, or in N micro-batches, is
therefore the same step as on one.

A step whose loss or gradient is not finite changes neither weights nor moments, on any replica; it is counted all
the same: its batch is used up and the learning rate goes on.
"""

import abc
import time
import typing
from collections.abc import Sequence

import tensorflow as tf

from albert_tf.kernels import backend
from albert_tf.kernels.tensorflow_gradients import forget_with_graph
from albert_tf.models.named_weights import named_weights
from albert_tf.training import batches, loss_scale


def _sum_over_replicas(replica, tensors):
    # TensorFlow gives the sum a gradient, which would keep the graph, and with it the model, for ever.
    return forget_with_graph(replica.all_reduce(tf.distribute.ReduceOp.SUM, tensors))


class Progress(typing.NamedTuple):
    """Sums over the steps of a run between two reports, and what float16 carries from one step to the next.

    Attributes:
        totals: float32 vector, sums of Steps.metrics over the steps that were finite.
        counted: float32 scalar, the number of those.
        waited: float64 scalar, seconds in which the device had nothing to do for want of a batch.
        scale: LossScale; constant where losses are not scaled.
    """

    totals: tf.Tensor
    counted: tf.Tensor
    waited: tf.Tensor
    scale: loss_scale.LossScale

    def cleared(self) -> "Progress":
        """The same after a report: nothing added up."""
        return Progress(tf.zeros_like(self.totals), tf.zeros([]), tf.zeros([], tf.float64), self.scale)

    def means(self) -> list[float]:
        """The means over the steps; not a number if no step was finite."""
        return (self.totals / self.counted).numpy().tolist()


class Steps(abc.ABC):
    """The compiled steps of one model under one strategy.

    Args:
        strategy: a tf.distribute strategy; model and optimizer were made in its scope.
        model: what is trained.
        optimizer: built on the model's weights; None for evaluation alone.
        seed: of the dropout masks, with the step, the replica and the micro-batch.
        max_gradient_norm: what the global norm is clipped to (1.0 in the official optimization.py).
        gradient_accumulation_steps: micro-batches into which each replica cuts its share of a batch.
        scale_loss: whether the loss is scaled, as float16 needs.
        jit_compile: whether XLA compiles forward and backward pass.
        static_shapes: trace the step anew for every shape of a batch, as XLA needs where batches differ in length;
            the device then comes back to Python after each step.

    Attributes:
        metrics: names of what a training step reports, in the order of its vector; "loss" first, "gradient_norm" last.
    """

    metrics: typing.ClassVar[tuple[str, ...]]

    def __init__(
        self,
        strategy,
        model,
        optimizer=None,
        seed=0,
        max_gradient_norm=1.0,
        gradient_accumulation_steps=1,
        scale_loss=False,
        jit_compile=False,
        static_shapes=False,
    ):
        self.strategy = strategy
        self.model = model
        self.optimizer = optimizer
        self.max_gradient_norm = max_gradient_norm
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.scale_loss = scale_loss
        self.static_shapes = static_shapes
        # Bytes that a replica hands to the all-reduce in a step; known once a step was traced.
        self.all_reduce_bytes: int | None = None
        self._seed = seed
        self._variables = list(named_weights(model).values())
        self._forward_backward = (
            tf.function(self._forward_backward_eagerly, jit_compile=True)
            if jit_compile
            else (self._forward_backward_eagerly)
        )

    @abc.abstractmethod
    def _counts(self, batch) -> list[tf.Tensor]:
        """Counts of a replica's share of a batch, float32 scalars: losses are divided by their sums over all."""

    @abc.abstractmethod
    def _losses(self, batch, counts: Sequence[tf.Tensor], seed) -> tuple[tf.Tensor, tf.Tensor]:
        """Contributions of a replica's share, or a part of it, to the loss and to the metrics.

        Args:
            batch: the examples.
            counts: what _counts gives, summed over the whole batch and all replicas.
            seed: int32 [2], of the dropout masks.

        Returns:
            (float32 scalar, the loss; float32 vector of `metrics` without the norm).
        """

    def start(self, scale: loss_scale.LossScale | None = None) -> Progress:
        """The progress of a run that has taken no step since a report.

        Args:
            scale: that of the checkpoint the run goes on from.
        """
        scale = scale or loss_scale.first(self.scale_loss)
        scale = loss_scale.LossScale(
            *(tf.constant(value, part.dtype) for value, part in zip(scale, loss_scale.first()))
        )
        return Progress(tf.zeros([len(self.metrics)]), None, None, scale).cleared()

    def train(self, iterator, num_steps):
        """Takes steps: float32 vector, the means over them of `metrics`.

        Args:
            iterator: over a distributed training dataset.
            num_steps: int32 scalar tensor.
        """
        progress, *_ = self.take(iterator, num_steps, self.start())
        return progress.totals / progress.counted

    def take(self, iterator, num_steps, progress: Progress):
        """Takes steps, without coming back to Python in between if it can; stops after one that is not finite.

        Args:
            iterator: over a distributed training dataset.
            num_steps: int32 scalar tensor, at least 1.
            progress: of the steps before.

        Returns:
            (progress; int32 scalar, steps taken; float32 vector, `metrics` of the last step; bool scalar, whether
            that step was usable: finite, or an overflow of float16 that a smaller scale of the loss mends).
        """
        if not self.static_shapes:
            return self._take_on_device(iterator, num_steps, progress)
        taken, goes_on, last = 0, True, None
        while taken < num_steps and goes_on:
            began = time.monotonic()
            batch = next(iterator)
            waited = tf.constant(time.monotonic() - began, tf.float64)
            progress, last, goes_on = self._take_one(batch, progress)
            progress = progress._replace(waited=progress.waited + waited)
            taken += 1
        return progress, taken, last, goes_on

    @tf.function(reduce_retracing=True)
    def _take_on_device(self, iterator, num_steps, progress: Progress):
        taken, goes_on = tf.constant(0), tf.constant(True)
        last = tf.zeros([len(self.metrics)])
        while tf.logical_and(taken < num_steps, goes_on):
            free_at = tf.timestamp()
            with tf.control_dependencies([free_at]):
                batch = next(iterator)
            batch, ready_at = batches.stamp(batch)
            progress, last, goes_on = self._step(batch, progress)
            progress = progress._replace(waited=progress.waited + tf.maximum(ready_at - free_at, 0.0))
            taken += 1
        return progress, taken, last, goes_on

    @tf.function
    def _take_one(self, batch, progress: Progress):
        return self._step(batch, progress)

    def _step(self, batch, progress: Progress):
        results = self.strategy.run(self._train_replica, args=(batch, progress.scale.scale))
        # Every replica has the same.
        last, finite = (self.strategy.experimental_local_results(result)[0] for result in results)
        scale, goes_on = loss_scale.adjust(progress.scale, finite, tf.math.is_finite(last[0]), self.scale_loss)
        totals = progress.totals + tf.where(finite, last, tf.zeros_like(last))
        counted = progress.counted + tf.cast(finite, tf.float32)
        return Progress(totals, counted, progress.waited, scale), last, goes_on

    def _train_replica(self, batch, scale):
        """One step of one replica.

        Args:
            batch: its share.
            scale: float32 scalar, what the loss is multiplied with.

        Returns:
            (float32 vector of `metrics`, bool scalar whether the step was finite), the same on every replica.
        """
        replica = tf.distribute.get_replica_context()
        counts = _sum_over_replicas(replica, self._counts(batch))
        if self.gradient_accumulation_steps == 1:
            gradients, shares = self._forward_backward(batch, counts, self._dropout_seed(replica), scale)
        else:
            gradients, shares = self._accumulate(batch, counts, self._dropout_seed(replica), scale)
        self.all_reduce_bytes = sum(4 * value.shape.num_elements() for value in (*gradients, shares, *counts))
        *gradients, shares = _sum_over_replicas(replica, [*gradients, shares])
        if self.scale_loss:
            gradients = [gradient / scale for gradient in gradients]
        gradients, norm = tf.clip_by_global_norm(gradients, self.max_gradient_norm)
        finite = tf.logical_and(tf.math.is_finite(norm), tf.math.is_finite(shares[0]))
        self._apply(replica, finite, gradients)
        return tf.concat([shares, [norm]], axis=0), finite

    def _forward_backward_eagerly(self, batch, counts, seed, scale):
        """Gradients and losses of a replica's share, or a part of it.

        Args:
            batch: the examples.
            counts: float32 scalars, of the whole batch, over all replicas.
            seed: int32 [2], of the dropout masks.
            scale: float32 scalar.

        Returns:
            (list of gradients, times scale; float32 vector of `metrics` without the norm).
        """
        with tf.GradientTape() as tape:
            loss, shares = self._losses(batch, counts, seed)
            target = loss * scale if self.scale_loss else loss
        gradients = tape.gradient(
            target,
            [variable.value for variable in self._variables],
            # A head whose loss takes no part has no gradient.
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        # The word embeddings' gradient is that of a lookup and of a product: dense from here on, so that the norm
        # is that of their sum.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        for gradient, variable in zip(gradients, self._variables, strict=True):
            gradient.set_shape(variable.shape)
        return gradients, shares

    def _accumulate(self, batch, counts, seed, scale):
        """The results of _forward_backward, computed one micro-batch after another and added up."""
        number = self.gradient_accumulation_steps
        # Rows 0..b/n are the first micro-batch, and so on.
        parts = {name: batches.cut_rows(value, number) for name, value in batch.items()}

        def add(index, gradients, shares):
            part = {name: tf.ensure_shape(value[index], value.shape[1:]) for name, value in parts.items()}
            more, more_shares = self._forward_backward(part, counts, backend.fold_in(seed, index), scale)
            return index + 1, [old + new for old, new in zip(gradients, more, strict=True)], shares + more_shares

        gradients = [tf.zeros(variable.shape, variable.dtype) for variable in self._variables]
        _, gradients, shares = tf.while_loop(
            lambda index, *_: index < number,
            add,
            (tf.constant(0), gradients, tf.zeros([len(self.metrics) - 1])),
            parallel_iterations=1,
            maximum_iterations=number,
        )
        return gradients, shares

    def _dropout_seed(self, replica):
        seed = backend.fold_in([self._seed, 0], tf.cast(self.optimizer.iterations.value, tf.int32))
        return backend.fold_in(seed, replica.replica_id_in_sync_group)

    def _apply(self, replica, finite, gradients):
        """Applies gradients that are the same on every replica already; `optimizer.apply` would sum them again."""

        def on_device(_, finite, rate, *gradients):
            def update():
                for variable, gradient in zip(self._variables, gradients, strict=True):
                    self.optimizer.update_step(gradient, variable.value, rate)

            tf.cond(finite, update, lambda: None)

        def on_every_device(strategy, *args):
            strategy.extended.update(self._variables[0].value, on_device, args=args, group=False)

        replica.merge_call(
            on_every_device, args=(finite, tf.convert_to_tensor(self.optimizer.learning_rate), *gradients)
        )
        self.optimizer.iterations.assign_add(1)
