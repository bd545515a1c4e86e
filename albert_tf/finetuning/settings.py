"""The settings of a fine-tuning run."""

import dataclasses
import itertools
import os
from typing import Annotated

from albert_tf.finetuning.recipe import RecipeSettings
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import Count, CountOrNone, Seed, Share, StrPath, described
from albert_tf.runtime.settings_flags import flag_lines
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningSettings(RecipeSettings):
    """Settings of a fine-tuning run; their names are those of the flags of run_finetuning."""

    task_name: Annotated[str, "The task, as in docs/finetuning.md: sst-2, squad_v2, classification."]
    output_dir: Annotated[StrPath, "Where checkpoints, predictions and results go."]
    data_dir: Annotated[StrPath | None, "Folder with the task's files."] = None
    allow_missing_heads: Annotated[bool, "Start the pooler afresh if --init_checkpoint lacks it."] = False
    keep_head: Annotated[bool, "Take the head of --init_checkpoint though of a different task."] = False
    task_options: Annotated[TaskOptions, "What else makes the task."] = dataclasses.field(default_factory=TaskOptions)
    task_settings: Annotated[TaskSettings, "The task's lengths."] = dataclasses.field(default_factory=TaskSettings)
    cleaning: Annotated[TextCleaning, "Of texts, as in pre-training."] = dataclasses.field(default_factory=TextCleaning)
    do_eval: Annotated[bool, "Whether to evaluate, every checkpoint and then the best."] = False
    do_predict: Annotated[bool, "Whether to write predictions for the test split."] = False
    classifier_dropout_prob: Annotated[Share | None, "Dropout of the head; left out: the checkpoint's or 0.1."] = None
    pad_to_max_length: Annotated[bool, "Pad every batch to --max_seq_length, not to its bucket."] = False
    max_train_examples: Annotated[Count | None, "Most training examples, drawn at random; left out: all."] = None
    max_eval_examples: Annotated[Count | None, "Most examples of a dev split, drawn at random; left out: all."] = None
    score_layers: Annotated[
        bool, "With --do_eval: score the best checkpoint by its first layer alone, its first two, and so on, too."
    ] = False
    num_folds: Annotated[
        Count, "Without a dev split: runs, each with another of so many parts of the training split as dev split."
    ] = 1
    learning_rates: Annotated[str | None, "Rates to compare, with commas between: 1e-5,2e-5; runs for each."] = None
    ensemble: Annotated[bool, "Score the mean of the probabilities of all runs besides: seeds, rates, folds."] = False
    restart_failed_seeds: Annotated[
        CountOrNone, "Most seeds to go on to, one after another, in place of each run that learned nothing."
    ] = 0
    num_seeds: Annotated[Count, "Runs, from --random_seed upwards, to report the median of."] = 1
    random_seed: Annotated[Seed, "Seed of the head, order of examples and dropout."] = RecipeSettings.random_seed

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.do_train or self.do_eval or self.do_predict):
            raise FlagError("at least one of --do_train, --do_eval and --do_predict must be true")
        last = self.random_seed + self.num_seeds * (1 + self.restart_failed_seeds) - 1
        if last >= 2**32:
            raise FlagError(f"--random_seed and --num_seeds: the last seed must be below 2^32. Received {last}.")
        if self.num_folds > 1 and not self.do_eval:
            raise FlagError("--num_folds goes with --do_eval, which scores each fold by the run without it")
        if self.score_layers and not self.do_eval:
            raise FlagError("--score_layers goes with --do_eval, of whose dev split these scores are")
        if self.restart_failed_seeds and not self.do_train:
            raise FlagError("--restart_failed_seeds goes with --do_train")

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates, of which each has runs of its own.

        Raises:
            FlagError: --learning_rate is no list of different rates.
        """
        if self.learning_rates is None:
            return (self.learning_rate,)
        try:
            found = tuple(float(part) for part in self.learning_rates.split(","))
        except ValueError:
            found = ()
        if not found or len(set(found)) < len(found) or not all(1e-37 <= rate <= 1e37 for rate in found):
            raise FlagError(
                "--learning_rate must be a number, or different ones with commas between. "
                f"Received {self.learning_rates!r}."
            )
        return found

    def to_flags(self) -> str:
        """The flags by which run_finetuning would have these settings, as a flag file has them."""
        rate = float(self.learning_rate) if self.learning_rates is None else self.learning_rates
        own = self.own_flags(but=("learning_rate", "learning_rates")) + f"--learning_rate={rate}\n"
        return own + "".join(map(flag_lines, (self.task_options, self.task_settings, self.cleaning)))

    @property
    def num_runs(self) -> int:
        """Runs of the command: one for each rate, seed and fold."""
        return len(self.rates) * self.num_seeds * self.num_folds

    @property
    def run_folders(self) -> tuple[str, ...]:
        """Their folders: --output_dir where there is one run, else one within it for each."""
        if self.num_runs == 1 and not self.restart_failed_seeds:
            return super().run_folders
        seeds = range(self.random_seed, self.random_seed + self.num_seeds)
        return tuple(self.run_folder(*run) for run in itertools.product(self.rates, seeds, range(self.num_folds)))

    def run_folder(self, rate: float, seed: int, fold: int) -> str:
        """The folder of one of several runs."""
        of_rate = f"rate-{rate:g}-" if len(self.rates) > 1 else ""
        of_fold = f"-fold-{fold + 1}-of-{self.num_folds}" if self.num_folds > 1 else ""
        return os.path.join(self.output_dir, f"{of_rate}seed-{seed}{of_fold}")

    @property
    def max_seq_length(self) -> int:
        """The most pieces of a feature."""
        return self.task_settings.max_seq_length
