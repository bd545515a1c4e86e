"""A training run on features that lie in memory: its length, its batches, its figures; it ends early by its scores."""

import abc
import os
from collections.abc import Mapping
from typing import Any

from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.newest_state import newest_state
from albert_tf.conversion.checkpoint_format import copy_vocabulary
from albert_tf.inputs.finetuning_dataset import BatchShape, make_training_dataset
from albert_tf.inputs.finetuning_features import FeatureSet
from albert_tf.inputs.length_buckets import plan_training
from albert_tf.optimization.build import build_optimizer, build_schedule, layerwise_factors
from albert_tf.records.manifest import check_vocabulary
from albert_tf.runtime.digests import describe_file
from albert_tf.tokenization.vocabulary_file import model_name
from albert_tf.training.epoch_settings import EpochSettings
from albert_tf.training.machine import measure_matmul_peak
from albert_tf.training.memory import estimate_memory
from albert_tf.training.reporting import RunFacts
from albert_tf.training.run import TrainingRun
from albert_tf.training.strategy import compiles_for_shapes


class FeatureRun(TrainingRun):
    """A run whose inputs were found good.

    Args:
        settings, strategy, cluster, signals: see TrainingRun.

    Attributes:
        config, data: of the model, and of what it is trained on, with its `tokenizer`; a subclass sets them before it
            calls this constructor.
    """

    settings: EpochSettings
    config: Any
    data: Any
    # How often a sequence of a batch goes through the model in a step.
    passes = 1

    def __init__(self, *args: Any):
        super().__init__(*args)
        known = newest_state(self.settings.output_dir)
        if known is not None:
            self.check_vocabulary(known.vocabulary, self.settings.output_dir)

    def check_vocabulary(self, known: Mapping[str, Any] | None, where: str) -> None:
        """Raises InputError if the weights at `where` are known to be of another vocabulary than the features."""
        check_vocabulary(known, self.data.tokenizer.describe(), where)

    @abc.abstractmethod
    def training_features(self) -> FeatureSet:
        """The features to train on."""

    @abc.abstractmethod
    def batch_shape(self, batch_size: int) -> BatchShape:
        """The shape of the batches of so many rows that features become."""

    def ends_early(self, step):
        """Tells whether --early_stopping_patience evaluations in a row were no better than the best."""
        patience = self.settings.early_stopping_patience
        best = self.checkpoints.best()
        if not patience or best is None or step >= self.num_train_steps():
            return False
        # A checkpoint between two of them, where the run was stopped, has none.
        passed, at_best = (one // self.settings.save_checkpoints_steps for one in (step, run_checkpoints.step_of(best)))
        since_best = passed - at_best
        if since_best < patience:
            return False
        logging.info("step %d: no better than %s for %d evaluations; the run ends here", step, best, since_best)
        return True

    def num_train_steps(self):
        return self.settings.steps_for(len(self.training_features()))

    def _make_schedule(self):
        settings = self.settings
        total, warmup = 1, 0
        if settings.do_train:
            total = self.num_train_steps()
            warmup = settings.warmup_for(total)
            settings.check_schedule(total, warmup)
        return build_schedule(settings, total, warmup)

    def _make_optimizer(self):
        settings = self.settings
        return build_optimizer(settings.optimizer, self.schedule, self._rate_factors(), **settings.optimizer_settings)

    def _rate_factors(self) -> list[tuple[str, float]]:
        """Factors of the learning rate by the paths of variables, see AdamW."""
        return layerwise_factors(self.config, self.settings.layerwise_learning_rate_decay)

    def _has_static_shapes(self) -> bool:
        """Tells whether XLA compiles the steps, for shapes that are known; elsewhere one graph serves all batches."""
        return self.settings.jit_compile == "true" or compiles_for_shapes(self.strategy)

    def _write_settings(self) -> None:
        # The vocabulary too, so that whatever reads a checkpoint finds it.
        super()._write_settings()
        path = self.data.tokenizer.model_file
        copy_vocabulary(path, os.path.join(self.settings.output_dir, model_name(path)))

    def _describe_input(self, path: str) -> dict[str, Any]:
        return describe_file(path)

    def _make_dataset(self, state, context):
        settings = self.settings
        return make_training_dataset(
            self.training_features(),
            self.batch_shape(settings.train_batch_size),
            settings.random_seed,
            self.num_train_steps(),
            state.step,
            context,
        )

    def _facts_of(self, called: str) -> RunFacts:
        """The facts of the run, whose examples are called so; measures the matrix-product peak for half a second."""
        settings, examples = self.settings, len(self.training_features())
        rows = settings.steps_per_epoch(examples) * settings.train_batch_size
        return RunFacts(
            num_train_steps=self.num_train_steps(),
            examples_per_step=settings.train_batch_size,
            tokens_per_step=0,
            examples_per_epoch=examples,
            rows_per_epoch=rows if rows > examples else 0,
            matmul_peak=measure_matmul_peak(self.strategy, settings.precision),
            called=called,
            shown={name: name for name in self.steps.metrics if name == "accuracy"},
        )

    def _estimate_memory(self):
        settings = self.settings
        rows = settings.train_batch_size // self.strategy.num_replicas_in_sync
        return estimate_memory(
            self.config,
            self.model.count_params(),
            rows * self.training_features().num_options * self.passes,
            self.batch_shape(1).buckets[-1],
            0,
            settings.precision,
            settings.remat,
            settings.gradient_accumulation_steps,
        )

    def find_batch(self, step, first_example):
        """The features of a step, and the examples they are of."""
        settings, features = self.settings, self.training_features()
        shape = self.batch_shape(settings.train_batch_size)
        plan = plan_training(features.lengths, shape.buckets, shape.batch_size, settings.random_seed, step + 1, step)
        rows = [int(row) for row in plan.rows[0]]
        return [{"feature": row, "example": int(features[row].example)} for row in rows]
