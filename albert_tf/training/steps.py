"""A step of training, whatever engine computes it; what is trained on is a subclass's affair.

Gradients are summed over micro-batches and replicas, and clipped by their global norm after that, not before; losses
are divided by what the whole batch counts, not a replica's share. A step on R replicas, or in N micro-batches, is
therefore the same step as on one.

A step whose loss or gradient is not finite changes neither weights nor moments, on any replica; it is counted all
the same: its batch is used up and the learning rate goes on.
"""

import abc
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from albert_tf.models.named_weights import named_weights, trained_weights
from albert_tf.training import loss_scale


class Progress(typing.NamedTuple):
    """Sums over the steps of a run between two reports, and what float16 carries from one step to the next.

    Attributes:
        totals: float32 vector, sums of Steps.metrics over the steps that were finite.
        counted: float32 scalar, the number of those.
        waited: float64 scalar, seconds in which the device had nothing to do for want of a batch.
        scale: LossScale; constant where losses are not scaled.
    """

    totals: Any
    counted: Any
    waited: Any
    scale: loss_scale.LossScale

    def cleared(self) -> "Progress":
        """The same after a report: nothing added up."""
        return nothing_added_up(len(self.totals), self.scale)

    def means(self) -> list[float]:
        """The means over the steps; not a number if no step was finite."""
        with np.errstate(invalid="ignore"):
            return (np.asarray(self.totals) / np.asarray(self.counted)).tolist()


def nothing_added_up(num_metrics: int, scale: loss_scale.LossScale) -> Progress:
    """The progress of no steps yet."""
    return Progress(np.zeros(num_metrics, np.float32), np.zeros((), np.float32), np.zeros(()), scale)


class Steps(abc.ABC):
    """The compiled steps of one model on the devices of one run.

    Args:
        strategy: what training.strategy.make_strategy returns; model and optimizer were made in its scope.
        model: what is trained.
        optimizer: built on the model's weights; None for evaluation alone.
        seed: of the dropout masks, with the step, the replica and the micro-batch.
        max_gradient_norm: what the global norm is clipped to (1.0 in the official optimization.py).
        gradient_accumulation_steps: micro-batches into which each replica cuts its share of a batch.
        batch_halves: whether the halves of a batch are computed side by side; on JAX it is without effect.
        scale_loss: whether the loss is scaled, as float16 needs.
        jit_compile: whether XLA compiles forward and backward pass; JAX always does.
        static_shapes: compile the step anew for every shape of a batch, where batches differ in length; the device
            then comes back to Python after each step.
        low_rank: models.low_rank.LowRankUpdates of frozen kernels; None: none.

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
        batch_halves=False,
        scale_loss=False,
        jit_compile=False,
        static_shapes=False,
        low_rank=None,
    ):
        self.strategy = strategy
        self.model = model
        self.optimizer = optimizer
        self.max_gradient_norm = max_gradient_norm
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.batch_halves = batch_halves
        self.scale_loss = scale_loss
        self.jit_compile = jit_compile
        self.static_shapes = static_shapes
        # Bytes that a replica hands to the all-reduce in a step; known once a step was traced.
        self.all_reduce_bytes: int | None = None
        self._seed = seed
        self._low_rank = low_rank
        self._trained = list(trained_weights(model).values())
        self._variables, self._updated = self._trained, self._trained
        self._frozen = [variable for variable in named_weights(model).values() if not variable.trainable]
        if low_rank is not None:
            # The kernels have gradients, which are not theirs to use.
            self._variables = [*self._trained, *low_rank.targets, *low_rank.trained.values()]
            self._updated = list(low_rank.updated().values())
            targets = {id(variable) for variable in low_rank.targets}
            self._frozen = [variable for variable in self._frozen if id(variable) not in targets]
            self._frozen += low_rank.bases.values()

    @abc.abstractmethod
    def _counts(self, batch) -> list[Any]:
        """Counts of a share of a batch, float32 scalars: losses are divided by their sums over all shares."""

    @abc.abstractmethod
    def _losses(self, batch, counts: Sequence[Any], seed) -> tuple[Any, Any]:
        """Contributions of a share of a batch to the loss and to the metrics.

        Args:
            batch: the examples.
            counts: what _counts gives, summed over the whole batch and all replicas.
            seed: int32 [2], of the dropout masks.

        Returns:
            (float32 scalar, the loss; float32 vector of `metrics` without the norm).
        """

    def _evaluate_share(self, batch) -> Any:
        """The terms that `evaluate` adds up, of a share of a batch: a float32 vector."""
        raise NotImplementedError(f"{type(self).__name__} has no sums to evaluate by.")

    def _predict_share(self, batch) -> dict[str, Any]:
        """The outputs that `predict` returns, of a share of a batch."""
        raise NotImplementedError(f"{type(self).__name__} has no predictions.")

    def _gradients_to_apply(self, gradients: Sequence[Any]) -> list[Any]:
        """The gradients of what the optimizer updates, from those of `_variables`."""
        if self._low_rank is None:
            return list(gradients)
        first, count = len(self._trained), len(self._low_rank.targets)
        return [*gradients[:first], *self._low_rank.gradients(gradients[first : first + count])]

    def _after_update(self) -> None:
        """Computes the weights that follow from those the optimizer has updated."""
        if self._low_rank is not None:
            self._low_rank.write()

    @abc.abstractmethod
    def evaluate(self, batch) -> np.ndarray:
        """The sums of a batch of a distributed evaluation dataset, over all replicas: a float32 vector."""

    @abc.abstractmethod
    def predict(self, batch) -> dict[str, np.ndarray]:
        """The model's outputs for a batch, padding rows included: by name, those of all replicas together.

        Args:
            batch: of a distributed evaluation dataset, B rows.
        """

    @abc.abstractmethod
    def take(self, iterator: Iterator, num_steps: int, progress: Progress) -> tuple[Progress, Any, Any, Any]:
        """Takes steps, without coming back to Python in between if it can; stops after one that is not finite.

        Args:
            iterator: over a distributed training dataset.
            num_steps: at least 1.
            progress: of the steps before.

        Returns:
            (progress; int32 scalar, steps taken; float32 vector, `metrics` of the last step; bool scalar, whether
            that step was usable: finite, or an overflow of float16 that a smaller scale of the loss mends).
        """

    def start(self, scale: loss_scale.LossScale | None = None) -> Progress:
        """The progress of a run that has taken no step since a report.

        Args:
            scale: that of the checkpoint the run goes on from.
        """
        scale = scale or loss_scale.first(self.scale_loss)
        first = loss_scale.first()
        scale = loss_scale.LossScale(*(np.asarray(value, part.dtype) for value, part in zip(scale, first, strict=True)))
        return nothing_added_up(len(self.metrics), scale)

    def train(self, iterator: Iterator, num_steps: int) -> list[float]:
        """Takes steps: the means over them of `metrics`.

        Args:
            iterator: over a distributed training dataset.
            num_steps: at least 1.
        """
        progress, *_ = self.take(iterator, num_steps, self.start())
        return progress.means()
