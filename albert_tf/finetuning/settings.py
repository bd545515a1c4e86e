"""The settings of a fine-tuning run."""

import dataclasses
from typing import Annotated

from albert_tf.finetuning.recipe import RecipeSettings
from albert_tf.runtime.errors import ContradictionError, InputError
from albert_tf.runtime.settings import Count, CountOrNone, Interval, Seed, Share, StrPath, described
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning

# Where --save_checkpoints_steps is left out: the most steps between two checkpoints, and the most checkpoints.
_MOST_STEPS_BETWEEN, _MOST_CHECKPOINTS = 1000, 50


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningSettings(RecipeSettings):
    """Settings of a fine-tuning run; their names are those of the flags of run_finetuning."""

    task_name: Annotated[str, "The task, as in docs/finetuning.md: sst-2, squad_v2, classification."]
    output_dir: Annotated[StrPath, "Where checkpoints, predictions and results go."]
    data_dir: Annotated[StrPath | None, "Folder with the task's files."] = None
    albert_config_file: Annotated[StrPath | None, "The model's JSON file; left out: the checkpoint's own."] = None
    spm_model_file: Annotated[
        StrPath | None, "The vocabulary (.model, vocab.txt); left out: that of the checkpoint."
    ] = None
    allow_missing_heads: Annotated[bool, "Start the pooler afresh if --init_checkpoint lacks it."] = False
    keep_head: Annotated[bool, "Take the head of --init_checkpoint though of a different task."] = False
    task_options: Annotated[TaskOptions, "What else makes the task."] = dataclasses.field(default_factory=TaskOptions)
    task_settings: Annotated[TaskSettings, "The task's lengths."] = dataclasses.field(default_factory=TaskSettings)
    cleaning: Annotated[TextCleaning, "Of texts, as in pre-training."] = dataclasses.field(default_factory=TextCleaning)
    do_eval: Annotated[bool, "Whether to evaluate, every checkpoint and then the best."] = False
    do_predict: Annotated[bool, "Whether to write predictions for the test split."] = False
    train_batch_size: int = 32
    eval_batch_size: int = 32
    optimizer: str = "adamw"
    learning_rate: float = 5e-5
    layerwise_learning_rate_decay: Annotated[float, Interval("(0, 1]"), "Factor for each depth below the head."] = 1.0
    num_train_steps: Annotated[Count | None, "Steps of training; left out: --num_train_epochs."] = None
    num_train_epochs: Annotated[
        float, Interval("(0, 1e9)"), "Passes over the training split, without --num_train_steps."
    ] = 3.0
    num_warmup_steps: Annotated[CountOrNone | None, "Steps of linear warm-up; left out: --warmup_proportion."] = None
    warmup_proportion: Annotated[Share, "Share of warm-up in all steps, without --num_warmup_steps."] = 0.1
    save_checkpoints_steps: Annotated[Count | None, "Steps between checkpoints; left out: an epoch."] = None
    keep_checkpoint_max: int = 1
    hidden_dropout_prob: Annotated[Share | None, "Dropout in the encoder; left out: as in the config."] = None
    attention_probs_dropout_prob: Annotated[Share | None, "Dropout of attention; left out: as in the config."] = None
    classifier_dropout_prob: Annotated[Share | None, "Dropout of the head; left out: the checkpoint's or 0.1."] = None
    early_stopping_patience: Annotated[CountOrNone, "Evaluations without a better one to stop at; 0: never."] = 0
    pad_to_max_length: Annotated[bool, "Pad every batch to --max_seq_length, not to its bucket."] = False
    max_train_examples: Annotated[Count | None, "Most training examples, drawn at random; left out: all."] = None
    max_eval_examples: Annotated[Count | None, "Most examples of a dev split, drawn at random; left out: all."] = None
    num_folds: Annotated[
        Count, "Without a dev split: runs, each with another of so many parts of the training split as dev split."
    ] = 1
    learning_rates: Annotated[str | None, "Rates to compare, with commas between: 1e-5,2e-5; runs for each."] = None
    ensemble: Annotated[bool, "Score the mean of the probabilities of all runs besides: seeds, rates, folds."] = False
    restart_failed_seeds: Annotated[
        CountOrNone, "Most seeds to go on to, one after another, in place of each run that learned nothing."
    ] = 0
    num_seeds: Annotated[Count, "Runs, from --random_seed upwards, to report the median of."] = 1
    num_workers: Annotated[CountOrNone, "Processes that make features; 0: one for each core."] = 0
    cache_dir: Annotated[StrPath | None, "Where features are kept; left out: OUTPUT_DIR/features."] = None
    random_seed: Annotated[Seed, "Seed of the head, order of examples and dropout."] = RecipeSettings.random_seed

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.do_train or self.do_eval or self.do_predict):
            raise InputError("at least one of --do_train, --do_eval and --do_predict must be true")
        last = self.random_seed + self.num_seeds * (1 + self.restart_failed_seeds) - 1
        if last >= 2**32:
            raise InputError(f"--random_seed and --num_seeds: the last seed must be below 2^32. Received {last}.")
        if self.num_folds > 1 and not self.do_eval:
            raise ContradictionError("--num_folds goes with --do_eval, which scores each fold by the run without it")
        if self.restart_failed_seeds and not self.do_train:
            raise ContradictionError("--restart_failed_seeds goes with --do_train")
        if self.early_stopping_patience and self.do_train and not self.do_eval:
            raise InputError("--early_stopping_patience goes by the scores of --do_eval; give both")

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates, of which each has runs of its own.

        Raises:
            InputError: --learning_rate is no list of different rates.
        """
        if self.learning_rates is None:
            return (self.learning_rate,)
        try:
            found = tuple(float(part) for part in self.learning_rates.split(","))
        except ValueError:
            found = ()
        if not found or len(set(found)) < len(found) or not all(1e-37 <= rate <= 1e37 for rate in found):
            raise InputError(
                "--learning_rate must be a number, or different ones with commas between. "
                f"Received {self.learning_rates!r}."
            )
        return found

    @property
    def num_runs(self) -> int:
        """Runs of the command: one for each rate, seed and fold."""
        return len(self.rates) * self.num_seeds * self.num_folds

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
