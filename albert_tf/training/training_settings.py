"""What every training run is told, checked as far as it can be without looking at files."""

import dataclasses
import math
import typing

from albert_tf.errors import InputError
from albert_tf.training.strategy import TpuAddress

# What the flags with a few words to choose from take.
CHOICES = {
    "nonfinite": ("stop", "skip"),
    "precision": ("float32", "bfloat16", "float16"),
    "jit_compile": ("auto", "true", "false"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """The flags that run_pretraining and run_finetuning share; see there for what each means."""

    # Those that must be at least 1.
    COUNTS: typing.ClassVar[tuple[str, ...]] = (
        *("train_batch_size", "eval_batch_size", "save_checkpoints_steps"),
        *("iterations_per_loop", "log_steps", "gradient_accumulation_steps"),
    )

    output_dir: str
    init_checkpoint: str | None = None
    allow_missing_heads: bool = False
    do_train: bool = True
    do_eval: bool = False
    train_batch_size: int
    eval_batch_size: int
    optimizer: str
    learning_rate: float
    poly_power: float = 1.0
    num_train_steps: int
    num_warmup_steps: int
    start_warmup_step: int = 0
    save_checkpoints_steps: int
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
    def first_weights(self) -> str | None:
        """The file or folder that a new run's weights come from; None where they are random."""
        return self.init_checkpoint

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"--{name} must be one of {', '.join(allowed)}. Received {getattr(self, name)!r}.")
        if self.max_nonfinite_steps < 0:
            raise InputError(f"--max_nonfinite_steps must not be negative. Received {self.max_nonfinite_steps}.")
        for name in self.COUNTS:
            if getattr(self, name) < 1:
                raise InputError(f"--{name} must be at least 1. Received {name}={getattr(self, name)}.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise InputError(f"--learning_rate must be a positive number. Received {self.learning_rate}.")
