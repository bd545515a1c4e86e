"""Steps on TensorFlow, under any tf.distribute strategy."""

import time

import tensorflow as tf

from albert_tf.kernels import fold_in
from albert_tf.kernels.tensorflow_gradients import forget_with_graph
from albert_tf.training import batches, loss_scale
from albert_tf.training.steps import Progress, Steps


def _sum_over_replicas(replica, tensors):
    # TensorFlow gives the sum a gradient, which would keep the graph, and with it the model, for ever.
    return forget_with_graph(replica.all_reduce(tf.distribute.ReduceOp.SUM, tensors))


class TensorFlowSteps(Steps):
    """Steps in graphs of TensorFlow: one for a step, or for as many as the device takes without coming back."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._forward_backward = (
            tf.function(self._forward_backward_eagerly, jit_compile=True, autograph=False)
            if self.jit_compile
            else self._forward_backward_eagerly
        )

    def evaluate(self, batch):
        """Adds up what `_evaluate_share` gives; see Steps."""
        return self._evaluate(batch).numpy()

    @tf.function(reduce_retracing=True)
    def _evaluate(self, batch):
        shares = self._on_replicas(self._evaluate_in_parts, batch)
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)

    def _evaluate_in_parts(self, batch):
        rows = next(iter(batch.values())).shape[0]
        if not self.batch_halves or rows is None or rows % 2:
            return self._evaluate_share(batch)
        parts = batches.cut_batch(batch, 2)
        return sum(self._evaluate_share(batches.part_of(parts, index)) for index in range(2))

    def predict(self, batch):
        """Gathers what `_predict_share` gives; see Steps."""
        found = (self._predict_static if self.static_shapes else self._predict_any)(batch)
        return {name: value.numpy() for name, value in found.items()}

    @tf.function(reduce_retracing=True)
    def _predict_any(self, batch):
        return self._predict(batch)

    @tf.function
    def _predict_static(self, batch):
        return self._predict(batch)

    def _predict(self, batch):
        results = self._on_replicas(self._predict_share, batch)
        return {name: self.strategy.gather(value, axis=0) for name, value in results.items()}

    def take(self, iterator, num_steps, progress: Progress):
        """Takes steps; see Steps."""
        if not self.static_shapes:
            return self._take_on_device(iterator, tf.constant(num_steps), progress)
        taken, goes_on, last = 0, True, None
        while taken < num_steps and goes_on:
            began = time.monotonic()
            batch = next(iterator)
            waited = time.monotonic() - began
            progress, last, goes_on = self._take_one(batch, progress)
            progress = progress._replace(waited=progress.waited + waited)
            taken += 1
        return progress, taken, last, goes_on

    # Traced anew for the batches of each stage: with relaxed shapes their numbers would be rounded otherwise than in a
    # process that begins with that stage.
    @tf.function
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
        results = self._on_replicas(self._train_replica, batch, progress.scale.scale)
        # Every replica has the same.
        last, finite = (self.strategy.experimental_local_results(result)[0] for result in results)
        scale, goes_on = loss_scale.adjust(progress.scale, finite, tf.math.is_finite(last[0]), self.scale_loss)
        totals = progress.totals + tf.where(finite, last, tf.zeros_like(last))
        counted = progress.counted + tf.cast(finite, tf.float32)
        return Progress(totals, counted, progress.waited, scale), last, goes_on

    def _on_replicas(self, function, *args):
        """Runs a function on every replica. Model and optimizer are traced as they are, in half of the time: none of
        their Python branches on a tensor, so there is nothing for autograph to rewrite.
        """
        return self.strategy.run(tf.autograph.experimental.do_not_convert(function), args=args)

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
        gradients, shares = self._all_of(batch, counts, self._dropout_seed(replica), scale)
        self.all_reduce_bytes = sum(4 * value.shape.num_elements() for value in (*gradients, shares, *counts))
        *gradients, shares = _sum_over_replicas(replica, [*gradients, shares])
        if self.scale_loss:
            gradients = [gradient / scale for gradient in gradients]
        gradients = self._gradients_to_apply(gradients)
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

    def _all_of(self, batch, counts, seed, scale):
        """The results of _forward_backward for a replica's share, which may be computed in parts."""
        if self.gradient_accumulation_steps > 1:
            return self._accumulate(batch, counts, seed, scale)
        if not self.batch_halves:
            return self._forward_backward(batch, counts, seed, scale)
        parts = batches.cut_batch(batch, 2)
        # Neither waits for anything of the other, so that TensorFlow computes operations of both at a time.
        (gradients, shares), (more, more_shares) = (
            self._forward_backward(batches.part_of(parts, index), counts, fold_in(seed, index), scale)
            for index in range(2)
        )
        return [one + other for one, other in zip(gradients, more, strict=True)], shares + more_shares

    def _accumulate(self, batch, counts, seed, scale):
        """The results of _forward_backward, computed one micro-batch after another and added up."""
        number = self.gradient_accumulation_steps
        # Rows 0..b/n are the first micro-batch, and so on.
        parts = batches.cut_batch(batch, number)

        def add(index, gradients, shares):
            part = batches.part_of(parts, index)
            more, more_shares = self._forward_backward(part, counts, fold_in(seed, index), scale)
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
        seed = fold_in([self._seed, 0], tf.cast(self.optimizer.iterations.value, tf.int32))
        return fold_in(seed, replica.replica_id_in_sync_group)

    def _apply(self, replica, finite, gradients):
        """Applies gradients that are the same on every replica already; `optimizer.apply` would sum them again."""

        def on_device(_, finite, rate, *gradients):
            def update():
                for variable, gradient in zip(self._updated, gradients, strict=True):
                    self.optimizer.update_step(gradient, variable.value, rate)
                self._after_update()

            tf.cond(finite, update, lambda: None)

        def on_every_device(strategy, *args):
            strategy.extended.update(self._variables[0].value, on_device, args=args, group=False)

        replica.merge_call(
            on_every_device, args=(finite, tf.convert_to_tensor(self.optimizer.learning_rate), *gradients)
        )
        self.optimizer.iterations.assign_add(1)
