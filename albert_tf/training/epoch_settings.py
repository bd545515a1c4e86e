"""The settings of a training whose examples lie in memory, as those of fine-tuning do: its length goes by epochs."""

import dataclasses
import os
from typing import Annotated, ClassVar

from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, CountOrNone, Interval, OnlyWith, Share, StrPath, described
from albert_tf.training.settings import TrainingSettings

# Where --save_checkpoints_steps is left out: the most steps between two checkpoints, and the most checkpoints.
_MOST_STEPS_BETWEEN, _MOST_CHECKPOINTS = 1000, 50


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochSettings(TrainingSettings):
    """Settings of a training on features that are made once and gone through several times."""

    IN_PYTHON_ALONE: ClassVar[tuple[str, ...]] = ("start_warmup_step",)

    albert_config_file: Annotated[StrPath | None, "The model's JSON file; left out: the checkpoint's own."] = None
    spm_model_file: Annotated[
        StrPath | None, "The vocabulary (.model, vocab.txt); left out: that of the checkpoint."
    ] = None
    train_batch_size: int = 32
    eval_batch_size: int = 32
    optimizer: str = "adamw"
    learning_rate: float = 5e-5
    layerwise_learning_rate_decay: Annotated[float, Interval("(0, 1]"), "Factor for each depth below the head."] = 1.0
    num_train_steps: Annotated[Count | None, "Steps of training; left out: --num_train_epochs."] = None
    num_train_epochs: Annotated[
        float,
        Interval("(0, 1e9)"),
        OnlyWith("num_train_steps", None),
        "Passes over the training split, without --num_train_steps.",
    ] = 3.0
    num_warmup_steps: Annotated[CountOrNone | None, "Steps of linear warm-up; left out: --warmup_proportion."] = None
    warmup_proportion: Annotated[
        Share, OnlyWith("num_warmup_steps", None), "Share of warm-up in all steps, without --num_warmup_steps."
    ] = 0.1
    save_checkpoints_steps: Annotated[Count | None, "Steps between checkpoints; left out: an epoch."] = None
    keep_checkpoint_max: int = 1
    hidden_dropout_prob: Annotated[Share | None, "Dropout in the encoder; left out: as in the config."] = None
    attention_probs_dropout_prob: Annotated[Share | None, "Dropout of attention; left out: as in the config."] = None
    early_stopping_patience: Annotated[CountOrNone, "Evaluations without a better one to stop at; 0: never."] = 0
    num_workers: Annotated[CountOrNone, "Processes that make features; 0: one for each core."] = 0
    cache_dir: Annotated[StrPath | None, "Where features are kept; left out: OUTPUT_DIR/features."] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.early_stopping_patience and self.do_train and not self.do_eval:
            raise FlagError("--early_stopping_patience goes by the scores of --do_eval; give both")

    @property
    def run_folders(self) -> tuple[str, ...]:
        """The folders of the runs that these settings ask for."""
        return (os.fspath(self.output_dir),)

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
