"""Settings of every training run, checked as far as they can be without looking at files."""

import dataclasses
from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Self

from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.optimization.names import (
    BETA_2,
    EPSILON,
    OPTIMIZER_NAMES,
    POLYNOMIAL,
    SCHEDULES,
    STABLE_DECAY,
    WEIGHT_DECAY_RATE,
)
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import (
    Count,
    CountOrNone,
    Interval,
    OneOf,
    OnlyWith,
    Seed,
    Share,
    StrPath,
    check,
    described,
)
from albert_tf.runtime.settings_flags import flag_lines
from albert_tf.training.strategy import STRATEGIES, TpuAddress

AUTO = "auto"
BACKENDS = ("tensorflow", "jax")
BACKEND_TEXT = "Library that computes; left out: tensorflow, in Python what Keras runs on."
PRECISIONS = (*DTYPE_POLICIES, AUTO)


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings that pre-training and fine-tuning share."""

    # Fields that the command has no flags for.
    IN_PYTHON_ALONE: ClassVar[tuple[str, ...]] = ()

    output_dir: Annotated[StrPath, "Where checkpoints and logs go."]
    init_checkpoint: Annotated[
        StrPath | None, "Checkpoint to start from, ours, another format's, or hf:// or official://."
    ] = None
    allow_missing_heads: Annotated[bool, "Start heads afresh that --init_checkpoint lacks."] = False
    do_train: Annotated[bool, "Whether to train."] = True
    do_eval: Annotated[bool, "Whether to evaluate every checkpoint."] = False
    train_batch_size: Annotated[Count, "Examples of a training step, over all devices."]
    eval_batch_size: Annotated[Count, "Examples of an evaluation step, over all devices."]
    optimizer: Annotated[str, OneOf(*OPTIMIZER_NAMES), "Optimizer."]
    # It is computed with in float32.
    learning_rate: Annotated[float, Interval("[1e-37, 1e37]"), "Learning rate at the end of the warm-up."]
    learning_rate_schedule: Annotated[str, OneOf(*SCHEDULES), "What follows the warm-up."] = POLYNOMIAL
    decay_proportion: Annotated[
        float,
        Interval("(0, 1]"),
        OnlyWith("learning_rate_schedule", STABLE_DECAY),
        "Share of the run in which a stable rate decays at last.",
    ] = 0.2
    poly_power: Annotated[
        float, Interval("[0, 1e37]"), OnlyWith("learning_rate_schedule", POLYNOMIAL), "Power of the polynomial decay."
    ] = 1.0
    num_train_steps: Annotated[Count | None, "Steps until the learning rate is 0 and the run ends."]
    num_warmup_steps: Annotated[CountOrNone | None, "Steps of linear warm-up."]
    start_warmup_step: Annotated[CountOrNone, "Step at which the warm-up starts."] = 0
    beta_2: Annotated[Share, "Decay of the mean of squared gradients."] = BETA_2
    adam_epsilon: Annotated[float, Interval("(0, 1]"), "What is added to the root of that mean."] = EPSILON
    bias_correction: Annotated[
        bool, "Divide the moments by what they lack in the first steps, as torch does; the official code does not."
    ] = False
    weight_decay_rate: Annotated[float, Interval("[0, 1e6)"), "Weight decay of a step, times the learning rate."] = (
        WEIGHT_DECAY_RATE
    )
    max_gradient_norm: Annotated[
        float, Interval("(0, 1e30)"), "What the norm of all gradients together is clipped to."
    ] = 1.0
    save_checkpoints_steps: Annotated[Count | None, "Steps between checkpoints."]
    keep_checkpoint_max: Annotated[CountOrNone, "Newest checkpoints to keep, besides the best; 0: all."] = 5
    iterations_per_loop: Annotated[Count, "Most steps on the device without coming back."] = 1000
    log_steps: Annotated[Count, "Steps between reports."] = 100
    nonfinite: Annotated[str, OneOf("stop", "skip"), "What a step does whose loss is not finite."] = "stop"
    max_nonfinite_steps: Annotated[
        CountOrNone, OnlyWith("nonfinite", "skip"), "Steps that --nonfinite=skip passes over before it stops."
    ] = 10
    gradient_accumulation_steps: Annotated[Count, "Parts of a device's batch, one after another."] = 1
    precision: Annotated[str, OneOf(*PRECISIONS), "Of the computations; auto: bfloat16 where it is faster."] = "float32"
    remat: Annotated[bool, "Compute layers again in the backward pass, to save memory."] = False
    release_memory: Annotated[
        bool, "Give freed memory back to the system, not keep it: less on a CPU at the peak, slower steps."
    ] = False
    constant_graph: Annotated[bool, "Loop over the layers on the device: quick to trace if deep."] = False
    jit_compile: Annotated[str, OneOf(AUTO, "true", "false"), "Whether XLA compiles a step."] = AUTO
    backend: Annotated[str | None, OneOf(*BACKENDS), BACKEND_TEXT] = None
    distribution_strategy: Annotated[str, OneOf(*STRATEGIES), "Devices to train on."] = AUTO
    tpu: Annotated[TpuAddress | None, "The TPU to train on."] = None
    random_seed: Annotated[Seed, "Seed of weights, order of records and dropout."] = 12345
    resolved_flags: Annotated[str, "The flags as they were given, for the log."] = ""

    @property
    def first_weights(self) -> StrPath | None:
        """The file or folder that a new run's weights come from; None where they are random."""
        return self.init_checkpoint

    def to_flags(self) -> str:
        """The flags by which the command would have these settings, as a flag file has them."""
        return self.own_flags()

    def own_flags(self, but: Collection[str] = ()) -> str:
        """The flags of the fields that are flags by themselves, and of the TPU.

        Args:
            but: names of fields to leave out.
        """
        own = flag_lines(self, but=("resolved_flags", *self.IN_PYTHON_ALONE, *but))
        return own if self.tpu is None else own + self.tpu.to_flags()

    def with_flags(self) -> Self:
        """These settings with `resolved_flags`, also where they were made in Python: a run's folder says how."""
        return self if self.resolved_flags else dataclasses.replace(self, resolved_flags=self.to_flags())

    def __post_init__(self) -> None:
        check(self)
        if self.num_train_steps is not None and self.num_warmup_steps is not None:
            self.check_warmup(self.num_train_steps, self.num_warmup_steps)

    def decay_steps_for(self, num_train_steps: int) -> int:
        """Steps in which a stable rate decays, of so many in all."""
        return max(1, round(num_train_steps * self.decay_proportion))

    def check_schedule(self, num_train_steps: int, num_warmup_steps: int) -> None:
        """Refuses a warm-up and a decay that do not both fit into a run of so many steps.

        Raises:
            FlagError: they are longer than the run.
        """
        if not self.do_train or self.learning_rate_schedule != STABLE_DECAY:
            return
        if self.start_warmup_step:
            raise FlagError("--start_warmup_step goes with --learning_rate_schedule=polynomial alone")
        decay = self.decay_steps_for(num_train_steps)
        if num_warmup_steps + decay > num_train_steps:
            raise FlagError(
                f"--num_warmup_steps={num_warmup_steps} and the decay of {decay} steps "
                f"(--decay_proportion={self.decay_proportion}) are longer than the run of {num_train_steps}; "
                "give less of either"
            )

    @property
    def optimizer_settings(self) -> dict[str, Any]:
        """Arguments of every optimizer that are settings."""
        names = ("beta_2", "weight_decay_rate", "bias_correction")
        return {"epsilon": self.adam_epsilon, **{name: getattr(self, name) for name in names}}

    def check_warmup(self, num_train_steps: int, num_warmup_steps: int) -> None:
        """Refuses a warm-up that a run of so many steps would end in; the learning rate would never be reached.

        Raises:
            FlagError: it is longer than the run.
        """
        end = self.start_warmup_step + num_warmup_steps
        if self.do_train and end > num_train_steps:
            started = f" from --start_warmup_step={self.start_warmup_step}" if self.start_warmup_step else ""
            raise FlagError(
                f"--num_warmup_steps={num_warmup_steps}{started} is longer than the run of {num_train_steps} steps; "
                f"give at most {max(0, num_train_steps - self.start_warmup_step)}, or a larger --num_train_steps"
            )
