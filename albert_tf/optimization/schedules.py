"""The learning rate at every step: linear warm-up, then decay to zero, from the start or at the end alone."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import keras
from keras import ops


class _Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule whose fields are the arguments that it is made of; those in _LENGTHS are numbers of steps."""

    _LENGTHS: ClassVar[tuple[str, ...]]
    _variables: Mapping[str, keras.Variable] | None = None

    def get_config(self):
        """Constructor arguments, for keras.saving."""
        return dataclasses.asdict(self)

    def keep_in_variables(self) -> None:
        """Moves the numbers of steps to variables of the backend: what was compiled with them goes by their values."""
        self._variables = {
            name: keras.Variable(float(getattr(self, name)), trainable=False, dtype="float32", name=name)
            for name in self._LENGTHS
        }

    @property
    def variables(self) -> list[keras.Variable]:
        """The variables that hold the numbers of steps; none before keep_in_variables."""
        return list((self._variables or {}).values())

    def change_lengths(self, other: "_Schedule") -> None:
        """Takes the numbers of steps of another schedule of the same kind, in its variables too."""
        for name in self._LENGTHS:
            setattr(self, name, getattr(other, name))
            if self._variables is not None:
                self._variables[name].assign(float(getattr(other, name)))

    def _lengths(self) -> list:
        """The numbers of steps, as float32 scalars."""
        if self._variables is None:
            return [float(getattr(self, name)) for name in self._LENGTHS]
        return [ops.convert_to_tensor(self._variables[name]) for name in self._LENGTHS]


@keras.saving.register_keras_serializable("albert_tf")
@dataclasses.dataclass(eq=False)
class WarmupPolynomialDecay(_Schedule):
    """The schedule of the official create_optimizer (optimization.py).

    The decay runs from step 0, whatever the warm-up: lr (1 - step / num_train_steps)^power, and 0 after the end.
    While step - start_warmup_step < num_warmup_steps it is replaced by lr (step - start_warmup_step) /
    num_warmup_steps, so that the first step's learning rate is 0, and a small drop follows the warm-up's end.

    The official code goes below zero before start_warmup_step; here those steps have a learning rate of 0.

    Args:
        initial_learning_rate: what the warm-up aims at.
        num_train_steps: step at which the decay reaches 0.
        num_warmup_steps: length of the warm-up; 0 for none.
        start_warmup_step: step at which the warm-up starts.
        power: of the decay; 1 is linear.
    """

    _LENGTHS = ("num_train_steps", "num_warmup_steps")

    initial_learning_rate: float
    num_train_steps: int
    num_warmup_steps: int = 0
    start_warmup_step: int = 0
    power: float = 1.0
    name: str | None = None

    def __post_init__(self):
        if self.num_train_steps < 1:
            raise ValueError(f"`num_train_steps` must be at least 1. Received num_train_steps={self.num_train_steps}.")

    def __call__(self, step):
        """The learning rate of a step (counted from 0): float32 scalar."""
        step = ops.cast(step, "float32")
        total, warmup = self._lengths()
        done = ops.minimum(step, total) / total
        decayed = self.initial_learning_rate * ops.power(1.0 - done, self.power)
        since_start = step - float(self.start_warmup_step)
        warming = self.initial_learning_rate * ops.maximum(since_start, 0.0) / ops.maximum(warmup, 1.0)
        return ops.where(ops.logical_and(warmup > 0.0, since_start < warmup), warming, decayed)


@keras.saving.register_keras_serializable("albert_tf")
@dataclasses.dataclass(eq=False)
class WarmupStableDecay(_Schedule):
    """Linear warm-up, a long stretch at one rate, and a linear decay to zero at the end.

    As much is learned as with a decay from the start (Hu et al., 2024, arXiv 2404.06395, section 4), and a checkpoint
    from before the decay can go on for longer than was planned.

    Args:
        initial_learning_rate: that of the stretch between warm-up and decay.
        num_train_steps: step at which the decay reaches 0.
        num_warmup_steps: length of the warm-up; 0 for none. The first step of a warm-up has a learning rate of 0.
        num_decay_steps: length of the decay.
    """

    _LENGTHS = ("num_train_steps", "num_warmup_steps", "num_decay_steps")

    initial_learning_rate: float
    num_train_steps: int
    num_warmup_steps: int
    num_decay_steps: int
    name: str | None = None

    def __post_init__(self):
        fits = self.num_warmup_steps + self.num_decay_steps <= self.num_train_steps
        if self.num_decay_steps < 1 or self.num_warmup_steps < 0 or not fits:
            raise ValueError(
                "Warm-up and decay must fit into the run. Received "
                f"num_train_steps={self.num_train_steps}, num_warmup_steps={self.num_warmup_steps}, "
                f"num_decay_steps={self.num_decay_steps}."
            )

    def __call__(self, step):
        """The learning rate of a step (counted from 0): float32 scalar."""
        step = ops.cast(step, "float32")
        total, warmup, decay = self._lengths()
        warmed = ops.where(warmup > 0.0, step / ops.maximum(warmup, 1.0), 1.0)
        left = (total - step) / decay
        return self.initial_learning_rate * ops.maximum(ops.minimum(ops.minimum(warmed, left), 1.0), 0.0)
