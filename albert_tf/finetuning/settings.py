"""The settings of a fine-tuning run."""

import dataclasses
import typing

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.path_text import StrPath
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.settings import TrainingSettings

_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout_prob")
_MOST_EPOCHS = 1e9
# Where --save_checkpoints_steps is left out: the most steps between two checkpoints, and the most checkpoints.
_MOST_STEPS_BETWEEN, _MOST_CHECKPOINTS = 1000, 50


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningSettings(TrainingSettings):
    """The flags of run_finetuning; see there for what each means.

    Attributes:
        task_options: what else makes the task.
        task_settings: its lengths.
        cleaning: of texts; the switches that the pre-training records were made with.
    """

    COUNTS: typing.ClassVar[tuple[str, ...]] = (*TrainingSettings.COUNTS, "num_seeds")
    COUNTS_OR_NONE: typing.ClassVar[tuple[str, ...]] = (
        *TrainingSettings.COUNTS_OR_NONE,
        *("early_stopping_patience", "num_workers"),
    )

    task_name: str
    data_dir: StrPath | None = None
    albert_config_file: StrPath | None = None
    spm_model_file: StrPath | None = None
    task_options: TaskOptions = dataclasses.field(default_factory=TaskOptions)
    task_settings: TaskSettings = dataclasses.field(default_factory=TaskSettings)
    cleaning: TextCleaning = dataclasses.field(default_factory=TextCleaning)
    do_predict: bool = False
    train_batch_size: int = 32
    eval_batch_size: int = 32
    optimizer: str = "adamw"
    learning_rate: float = 5e-5
    num_train_steps: int | None = None
    num_train_epochs: float = 3.0
    num_warmup_steps: int | None = None
    warmup_proportion: float = 0.1
    save_checkpoints_steps: int | None = None
    keep_checkpoint_max: int = 1
    hidden_dropout_prob: float | None = None
    attention_probs_dropout_prob: float | None = None
    classifier_dropout_prob: float | None = None
    keep_head: bool = False
    layerwise_learning_rate_decay: float = 1.0
    early_stopping_patience: int = 0
    pad_to_max_length: bool = False
    num_seeds: int = 1
    num_workers: int = 0
    cache_dir: StrPath | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.do_train or self.do_eval or self.do_predict):
            raise InputError("at least one of --do_train, --do_eval and --do_predict must be true")
        self._check_seed(self.random_seed + self.num_seeds - 1)
        if self.early_stopping_patience and self.do_train and not self.do_eval:
            raise InputError("--early_stopping_patience goes by the scores of --do_eval; give both")
        if not 0 < self.layerwise_learning_rate_decay <= 1:
            raise InputError(
                f"--layerwise_learning_rate_decay must lie in (0, 1]. Received {self.layerwise_learning_rate_decay}."
            )
        if not 0 < self.num_train_epochs < _MOST_EPOCHS:
            raise InputError(f"--num_train_epochs must be a number above 0. Received {self.num_train_epochs}.")
        if not 0 <= self.warmup_proportion < 1:
            raise InputError(f"--warmup_proportion must lie in [0, 1). Received {self.warmup_proportion}.")
        for name in _RATES:
            rate = getattr(self, name)
            if rate is not None and not 0 <= rate < 1:
                raise InputError(f"--{name} must lie in [0, 1). Received {rate}.")

    @property
    def max_seq_length(self) -> int:
        """The most pieces of a feature."""
        return self.task_settings.max_seq_length

    def steps_for(self, num_features: int) -> int:
        """Steps of training, for so many features in an epoch."""
        if self.num_train_steps is not None:
            return self.num_train_steps
        return max(1, round(self.steps_per_epoch(num_features) * self.num_train_epochs))

    def steps_per_epoch(self, num_features: int) -> int:
        """Steps in which every one of so many features comes once; the last batch may not be full."""
        return -(-num_features // self.train_batch_size)

    def saving_for(self, num_features: int) -> int:
        """Steps between two checkpoints, for so many features in an epoch.

        Left open, it is an epoch: a long one is cut into several parts, short ones are put together.
        """
        if self.save_checkpoints_steps is not None:
            return self.save_checkpoints_steps
        epoch = self.steps_per_epoch(num_features)
        if epoch > _MOST_STEPS_BETWEEN:
            return _MOST_STEPS_BETWEEN
        return epoch * max(1, -(-self.steps_for(num_features) // (epoch * _MOST_CHECKPOINTS)))

    def warmup_for(self, num_train_steps: int) -> int:
        """Steps of warm-up, for so many steps in all."""
        if self.num_warmup_steps is None:
            # Rounded down, as run_squad_v2.py does.
            return int(num_train_steps * self.warmup_proportion)
        self.check_warmup(num_train_steps, self.num_warmup_steps)
        return self.num_warmup_steps
