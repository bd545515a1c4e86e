"""Settings of a pre-training run."""

import dataclasses
import typing
from typing import Any

from albert_tf.optimization.names import POLYNOMIAL, SCHEDULES, STABLE_DECAY
from albert_tf.pretraining.stages import Stages, make_stages, parse_schedule
from albert_tf.records.masking_rules import MASKINGS
from albert_tf.records.sentence_tasks import SENTENCE_TASKS
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.path_text import StrPath
from albert_tf.runtime.value_types import check_types
from albert_tf.training.settings import TrainingSettings

# The share of warm-up in a run whose steps are not known beforehand.
_WARMUP_OF_PLANNED = 0.06
# An excerpt has [CLS], two times [SEP], and a few words on either side.
_SHORTEST = 8
_LONGEST_NGRAM = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingSettings(TrainingSettings):
    """The flags of run_pretraining; see there for what each means."""

    CHOICES: typing.ClassVar[dict[str, tuple[str, ...]]] = {
        **TrainingSettings.CHOICES,
        "learning_rate_schedule": SCHEDULES,
        "masking": MASKINGS,
        "sentence_task": SENTENCE_TASKS,
    }
    COUNTS: typing.ClassVar[tuple[str, ...]] = (
        *TrainingSettings.COUNTS,
        *("max_eval_steps", "max_seq_length", "max_predictions_per_seq"),
    )

    albert_config_file: StrPath
    input_file: StrPath
    eval_input_file: StrPath | None = None
    spm_model_file: StrPath | None = None
    init_embeddings: StrPath | None = None
    init_from_group0: bool = False
    init_output_bias: bool = False
    init_position_waves: bool = False
    max_seq_length: int = 512
    max_predictions_per_seq: int = 20
    train_batch_size: int = 4096
    eval_batch_size: int = 64
    optimizer: str = "lamb"
    learning_rate: float = 0.00176
    muon_rate: float = 20.0
    learning_rate_schedule: str = POLYNOMIAL
    decay_proportion: float = 0.2
    num_train_steps: int = 125_000
    num_warmup_steps: int = 3125
    warmup_proportion: float | None = None
    train_minutes: float | None = None
    save_checkpoints_steps: int = 5000
    max_eval_steps: int = 100
    sentence_task: str | None = None
    masking: str | None = None
    length_schedule: str | None = None
    batch_schedule: str | None = None
    masked_lm_prob: str | None = None
    ngram: str | None = None
    beta_2: float = 0.999
    weight_decay_rate: float = 0.01
    max_gradient_norm: float = 1.0

    @property
    def first_weights(self) -> StrPath | None:
        """--init_checkpoint or --init_embeddings, if either is given."""
        return self.init_embeddings if self.init_checkpoint is None else self.init_checkpoint

    def __post_init__(self) -> None:
        # Some are computed with before those of every run are checked.
        check_types(self)
        if self.train_minutes is not None:
            if not 0 < self.train_minutes < 1e6:
                raise InputError(f"--train_minutes must be a positive number. Received {self.train_minutes}.")
            if self.warmup_proportion is None:
                object.__setattr__(self, "warmup_proportion", _WARMUP_OF_PLANNED)
        if self.warmup_proportion is not None:
            if not 0 <= self.warmup_proportion < 1:
                raise InputError(f"--warmup_proportion must lie in [0, 1). Received {self.warmup_proportion}.")
            object.__setattr__(self, "num_warmup_steps", round(self.num_train_steps * self.warmup_proportion))
        super().__post_init__()
        self._check_schedule()
        self._check_optimizer()
        self._check_stages()
        if self.init_checkpoint is not None and self.init_embeddings is not None:
            raise InputError("give --init_checkpoint, which has embeddings of its own, or --init_embeddings, not both")
        for name in ("init_output_bias", "init_position_waves"):
            if self.init_checkpoint is not None and getattr(self, name):
                raise InputError(f"give --init_checkpoint, which has all weights, or --{name}, not both")
        if not self.do_train and not self.do_eval:
            raise InputError("at least one of --do_train and --do_eval must be true")

    @property
    def stages(self) -> Stages:
        """The stages of the run."""
        schedules = ("length_schedule", int), ("batch_schedule", int), ("masked_lm_prob", float), ("ngram", int)
        parsed: list[Any] = [parse_schedule(name, getattr(self, name), kind) for name, kind in schedules]
        return make_stages(self.num_train_steps, self.train_batch_size, self.max_seq_length, *parsed)

    def _check_stages(self) -> None:
        for stage in self.stages:
            reading = stage.reading
            if reading.seq_length is not None and not _SHORTEST <= reading.seq_length <= self.max_seq_length:
                raise InputError(
                    f"--length_schedule: lengths lie between {_SHORTEST} and --max_seq_length={self.max_seq_length}. "
                    f"Received {reading.seq_length}."
                )
            if reading.masked_lm_prob is not None and reading.masked_lm_prob >= 1:
                raise InputError(f"--masked_lm_prob must lie below 1. Received {reading.masked_lm_prob:g}.")
            if reading.ngram is not None and reading.ngram > _LONGEST_NGRAM:
                raise InputError(f"--ngram must be at most {_LONGEST_NGRAM}. Received {reading.ngram}.")

    def _check_optimizer(self) -> None:
        if not 0 <= self.beta_2 < 1:
            raise InputError(f"--beta_2 must lie in [0, 1). Received {self.beta_2}.")
        if not 0 <= self.weight_decay_rate < 1e6:
            raise InputError(f"--weight_decay_rate must be a number of at least 0. Received {self.weight_decay_rate}.")
        if not 0 < self.max_gradient_norm < 1e30:
            raise InputError(f"--max_gradient_norm must be a positive number. Received {self.max_gradient_norm}.")

    @property
    def num_decay_steps(self) -> int:
        """Steps in which a stable rate decays."""
        return max(1, round(self.num_train_steps * self.decay_proportion))

    def _check_schedule(self) -> None:
        if not 0 < self.muon_rate < 1e6:
            raise InputError(f"--muon_rate must be a positive number below 1e6. Received {self.muon_rate}.")
        if not 0 < self.decay_proportion <= 1:
            raise InputError(f"--decay_proportion must lie above 0 and not above 1. Received {self.decay_proportion}.")
        if self.do_train and self.learning_rate_schedule == STABLE_DECAY:
            if self.start_warmup_step:
                raise InputError("--start_warmup_step goes with --learning_rate_schedule=polynomial alone")
            if self.num_warmup_steps + self.num_decay_steps > self.num_train_steps:
                raise InputError(
                    f"--num_warmup_steps={self.num_warmup_steps} and the decay of {self.num_decay_steps} steps "
                    f"(--decay_proportion={self.decay_proportion}) are longer than the run of {self.num_train_steps}; "
                    "give less of either"
                )
