"""Settings of every training run, checked as far as they can be without looking at files."""

import dataclasses
import typing

import numpy as np

from albert_tf.optimization.names import OPTIMIZER_NAMES
from albert_tf.runtime.choices import check_choices
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.path_text import StrPath, paths_as_text
from albert_tf.runtime.value_types import check_types
from albert_tf.training.strategy import STRATEGIES, TpuAddress

AUTO = "auto"
_SMALLEST, _LARGEST = float(np.finfo(np.float32).smallest_normal), float(np.finfo(np.float32).max)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """The flags that run_pretraining and run_finetuning share; see there for what each means."""

    CHOICES: typing.ClassVar[dict[str, tuple[str, ...]]] = {
        "nonfinite": ("stop", "skip"),
        "precision": ("float32", "bfloat16", "float16", AUTO),
        "jit_compile": (AUTO, "true", "false"),
        "distribution_strategy": STRATEGIES,
        "optimizer": OPTIMIZER_NAMES,
    }
    # Those that must be at least 1.
    COUNTS: typing.ClassVar[tuple[str, ...]] = (
        *("train_batch_size", "eval_batch_size", "save_checkpoints_steps"),
        *("iterations_per_loop", "log_steps", "gradient_accumulation_steps", "num_train_steps"),
    )
    # Those that must not be negative.
    COUNTS_OR_NONE: typing.ClassVar[tuple[str, ...]] = (
        *("num_warmup_steps", "start_warmup_step", "keep_checkpoint_max", "max_nonfinite_steps"),
    )

    output_dir: StrPath
    init_checkpoint: StrPath | None = None
    allow_missing_heads: bool = False
    do_train: bool = True
    do_eval: bool = False
    train_batch_size: int
    eval_batch_size: int
    optimizer: str
    learning_rate: float
    poly_power: float = 1.0
    num_train_steps: int | None
    num_warmup_steps: int | None
    start_warmup_step: int = 0
    save_checkpoints_steps: int | None
    keep_checkpoint_max: int = 5
    iterations_per_loop: int = 1000
    log_steps: int = 100
    nonfinite: str = "stop"
    max_nonfinite_steps: int = 10
    gradient_accumulation_steps: int = 1
    precision: str = "float32"
    remat: bool = False
    release_memory: bool = False
    constant_graph: bool = False
    jit_compile: str = "auto"
    distribution_strategy: str = "auto"
    tpu: TpuAddress | None = None
    random_seed: int = 12345
    resolved_flags: str = ""

    @property
    def first_weights(self) -> StrPath | None:
        """The file or folder that a new run's weights come from; None where they are random."""
        return self.init_checkpoint

    def __post_init__(self) -> None:
        paths_as_text(self)
        check_types(self)
        check_choices(self)
        for names, least in ((self.COUNTS, 1), (self.COUNTS_OR_NONE, 0)):
            for name in names:
                self._check_count(name, least)
        self._check_seed(self.random_seed)
        # Both are computed with in float32.
        if not _SMALLEST <= self.learning_rate <= _LARGEST:
            raise InputError(f"--learning_rate must be a positive number. Received {self.learning_rate}.")
        if not 0 <= self.poly_power <= _LARGEST:
            raise InputError(f"--poly_power must be a number of at least 0. Received {self.poly_power}.")
        if self.num_train_steps is not None and self.num_warmup_steps is not None:
            self.check_warmup(self.num_train_steps, self.num_warmup_steps)

    def _check_count(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if value < least:
            raise InputError(f"--{name} must be at least {least}. Received {name}={value}.")
        if value >= 2**31:
            raise InputError(f"--{name} must be below 2,147,483,648 (2^31). Received {name}={value}.")

    @staticmethod
    def _check_seed(last: int) -> None:
        if not 0 <= last < 2**32:
            raise InputError(f"--random_seed must lie in 0 to 4,294,967,295 (32 bits). Received {last}.")

    def check_warmup(self, num_train_steps: int, num_warmup_steps: int) -> None:
        """Refuses a warm-up that a run of so many steps would end in; the learning rate would never be reached.

        Raises:
            InputError: it is longer than the run.
        """
        end = self.start_warmup_step + num_warmup_steps
        if self.do_train and end > num_train_steps:
            started = f" from --start_warmup_step={self.start_warmup_step}" if self.start_warmup_step else ""
            raise InputError(
                f"--num_warmup_steps={num_warmup_steps}{started} is longer than the run of {num_train_steps} steps; "
                f"give at most {max(0, num_train_steps - self.start_warmup_step)}, or a larger --num_train_steps"
            )
