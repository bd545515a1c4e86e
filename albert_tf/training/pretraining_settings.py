"""What a pre-training run is told, checked as far as it can be without looking at files."""

import dataclasses
import math

from albert_tf.errors import InputError
from albert_tf.training.strategy import TpuAddress

# What the flags with a few words to choose from take.
CHOICES = {
    "nonfinite": ("stop", "skip"),
    "precision": ("float32", "bfloat16", "float16"),
    "jit_compile": ("auto", "true", "false"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingSettings:
    """The flags of run_pretraining; see there for what each means."""

    albert_config_file: str
    input_file: str
    output_dir: str
    eval_input_file: str | None = None
    init_checkpoint: str | None = None
    init_from_group0: bool = False
    allow_missing_heads: bool = False
    max_seq_length: int = 512
    max_predictions_per_seq: int = 20
    do_train: bool = True
    do_eval: bool = False
    train_batch_size: int = 4096
    eval_batch_size: int = 64
    optimizer: str = "lamb"
    learning_rate: float = 0.00176
    poly_power: float = 1.0
    num_train_steps: int = 125_000
    num_warmup_steps: int = 3125
    start_warmup_step: int = 0
    save_checkpoints_steps: int = 5000
    keep_checkpoint_max: int = 5
    iterations_per_loop: int = 1000
    log_steps: int = 100
    max_eval_steps: int = 100
    nonfinite: str = "stop"
    max_nonfinite_steps: int = 10
    gradient_accumulation_steps: int = 1
    precision: str = "float32"
    remat: bool = False
    constant_graph: bool = False
    jit_compile: str = "auto"
    distribution_strategy: str = "auto"
    tpu: TpuAddress | None = None
    random_seed: int = 12345
    sentence_task: str | None = None
    masking: str | None = None
    resolved_flags: str = ""

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"--{name} must be one of {', '.join(allowed)}. Received {getattr(self, name)!r}.")
        if self.max_nonfinite_steps < 0:
            raise InputError(f"--max_nonfinite_steps must not be negative. Received {self.max_nonfinite_steps}.")
        if not self.do_train and not self.do_eval:
            raise InputError("at least one of --do_train and --do_eval must be true")
        names = ("train_batch_size", "eval_batch_size", "num_train_steps", "save_checkpoints_steps")
        for name in (*names, "iterations_per_loop", "log_steps", "max_eval_steps", "gradient_accumulation_steps"):
            if getattr(self, name) < 1:
                raise InputError(f"--{name} must be at least 1. Received {name}={getattr(self, name)}.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise InputError(f"--learning_rate must be a positive number. Received {self.learning_rate}.")
