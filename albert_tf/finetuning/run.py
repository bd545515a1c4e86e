"""One fine-tuning run, of one seed: training, then the results of the best checkpoint."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import read_evaluation
from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import copy_vocabulary
from albert_tf.conversion.pretrained import initialise_finetuning
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.diagnosis import Diagnosis, chance_loss, is_stuck
from albert_tf.finetuning.earlier_runs import (
    check_own_checkpoints,
    compare_by_one_score,
    head_dropout,
    score_those_left_out,
)
from albert_tf.finetuning.freezing import freeze, is_lora_target
from albert_tf.finetuning.objectives import make_objective
from albert_tf.finetuning.results import Chosen, FinetuningResults
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.inputs.finetuning_dataset import make_training_dataset
from albert_tf.inputs.length_buckets import plan_training
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.low_rank import LowRankUpdates
from albert_tf.optimization.build import build_optimizer, build_schedule, layerwise_factors
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.vocabulary_file import model_name
from albert_tf.training.cluster import Cluster
from albert_tf.training.machine import measure_matmul_peak
from albert_tf.training.memory import estimate_memory
from albert_tf.training.reporting import RunFacts
from albert_tf.training.run import TrainingRun
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.strategy import compiles_for_shapes

RESULTS_NAME = "results.json"


class FinetuningRun(TrainingRun):
    """A run whose inputs were found good.

    Args:
        settings: the flags, output_dir and random_seed those of this run.
        config: the model's.
        data: of the task; shared by runs of several seeds.
        strategy: the devices.
        cluster: the workers; only the chief writes.
        signals: the wish to stop.
    """

    FLAGS_NAME = "run_finetuning.flags"

    def __init__(
        self,
        settings: FinetuningSettings,
        config: AlbertConfig,
        data: FinetuningData,
        strategy,
        cluster: Cluster,
        signals: StopSignals,
    ):
        check_own_checkpoints(settings.output_dir, data.finetuned_task())
        data.read()
        rate = head_dropout(settings, data.finetuned_task())
        settings = dataclasses.replace(settings, classifier_dropout_prob=rate)
        if settings.do_train:
            number = len(data.training_split().features)
            settings = dataclasses.replace(settings, save_checkpoints_steps=settings.saving_for(number))
        self.config = config
        self.data = data
        self.task = data.task
        self.finetuned_task = dataclasses.replace(data.finetuned_task(), classifier_dropout_prob=rate)
        super().__init__(settings, strategy, cluster, signals)
        self.checkpoints.metric = settings.best_metric
        self.results = FinetuningResults(self)

    def run(self) -> dict[str, Any]:
        """Trains, evaluates and predicts, as the settings say.

        Returns:
            what RESULTS_NAME in output_dir holds.
        """
        settings = self.settings
        if settings.do_eval and (settings.do_train or settings.best_metric is not None):
            compare_by_one_score(self)
        if settings.do_train:
            self._warn_of_one_score()
            self._train()
        # The chief has written its last checkpoint before another worker looks for it, or leaves.
        self.agreement.mean(0.0)
        if settings.do_eval and not settings.do_train:
            score_those_left_out(self)
        chosen = self._load_best()
        results: dict[str, Any] = {"task_name": self.task.name, "random_seed": settings.random_seed}
        results |= {"checkpoint": chosen.path} | ({} if chosen.step is None else {"step": chosen.step})
        results |= self.results.write(chosen)
        chance = self._chance_loss() if settings.do_train else None
        if chance is not None and is_stuck(settings.output_dir, self._num_train_steps(), chance):
            results["stuck"] = True
        if self.cluster.is_chief:
            files.write_json(os.path.join(settings.output_dir, RESULTS_NAME), results)
        self.agreement.mean(0.0)
        return results

    def _warn_of_one_score(self) -> None:
        """Says so where the best checkpoint of a run can only be its last."""
        settings, steps = self.settings, self._num_train_steps()
        asked = self.data.settings.save_checkpoints_steps
        if settings.do_eval and asked is not None and asked >= steps:
            logging.warning(
                "the run of %d steps is scored once, at its end: --save_checkpoints_steps=%d; an epoch is %d steps",
                *(steps, asked, settings.steps_per_epoch(len(self.data.training_split().features))),
            )

    def _load_best(self) -> Chosen:
        """Puts the best checkpoint, else the newest, else --init_checkpoint into the model; says which."""
        found = self.checkpoints.choose()
        if found is not None:
            run_checkpoints.load_model_weights(found, self.model)
            task = run_checkpoints.read_state(found).finetuned_task(found)
            return Chosen(found, task, read_evaluation(found), run_checkpoints.step_of(found))
        path, keep_head = self.settings.init_checkpoint, self.settings.keep_head
        if path is None:
            raise InputError(f"--output_dir: {self.settings.output_dir} holds no checkpoint, and no --init_checkpoint")
        known = initialise_finetuning(self.model, self.finetuned_task, path, keep_head=keep_head, need_head=True)
        return Chosen(path, known.task, read_evaluation(known.source))

    def evaluate(self) -> dict[str, Any]:
        """Evaluates the model as it is on the first dev split; a signal ends that at once."""
        return self.results.evaluate(int(self.optimizer.iterations.value))

    def ends_early(self, step):
        """Tells whether --early_stopping_patience evaluations in a row were no better than the best."""
        patience = self.settings.early_stopping_patience
        best = self.checkpoints.best()
        if not patience or best is None or step >= self._num_train_steps():
            return False
        since_best = -(-(step - run_checkpoints.step_of(best)) // self.settings.save_checkpoints_steps)
        if since_best < patience:
            return False
        logging.info("step %d: no better than %s for %d evaluations; the run ends here", step, best, since_best)
        return True

    def _make_diagnosis(self):
        chance = self._chance_loss()
        warmup = self.settings.warmup_for(self._num_train_steps())
        return None if chance is None else Diagnosis(chance, warmup)

    def _chance_loss(self) -> float | None:
        """The loss of always the same answer; None with a teacher, on whom it depends."""
        if self.settings.teacher is not None:
            return None
        features = self.data.training_split().features
        return chance_loss(self.steps.objective, features, self.finetuned_task.num_labels)

    def _num_train_steps(self):
        return self.settings.steps_for(len(self.data.training_split().features))

    def _make_schedule(self):
        settings = self.settings
        total, warmup = 1, 0
        if settings.do_train:
            total = self._num_train_steps()
            warmup = settings.warmup_for(total)
            settings.check_schedule(total, warmup)
        return build_schedule(settings, total, warmup)

    def _make_model(self, dtype):
        settings, task = self.settings, self.finetuned_task
        model = make_finetuning_model(
            self.config,
            task.head,
            task.num_labels,
            settings.classifier_dropout_prob,
            remat=settings.remat,
            constant_graph=settings.constant_graph,
            dtype=dtype,
        )
        freeze(model, settings.frozen_parts)
        return model

    def _make_low_rank(self):
        settings = self.settings
        if settings.lora_rank is None:
            return None
        found = LowRankUpdates(
            self.model, is_lora_target, settings.lora_rank, settings.lora_alpha, settings.random_seed
        )
        logging.info("%s parameters of low-rank updates, with the head's, are trained", f"{found.num_trained:,}")
        return found

    def _make_optimizer(self):
        settings = self.settings
        factors = layerwise_factors(self.config, settings.layerwise_learning_rate_decay)
        return build_optimizer(settings.optimizer, self.schedule, factors, **settings.optimizer_settings)

    def _make_steps(self, **kwargs):
        # XLA compiles for shapes that are known; elsewhere one graph serves batches of every length.
        static = self.settings.jit_compile == "true" or compiles_for_shapes(self.strategy)
        features = self.data.training_split().features if self.settings.do_train else None
        objective = make_objective(self.settings, self.task, features)
        return FinetuningSteps(
            *(self.strategy, self.model, self.task.head, self.optimizer),
            objective=objective,
            static_shapes=static,
            **kwargs,
        )

    def _make_dataset(self, state, context):
        settings = self.settings
        return make_training_dataset(
            self.data.training_split().features,
            self.data.batch_shape(settings.train_batch_size),
            settings.random_seed,
            self._num_train_steps(),
            state.step,
            context,
        )

    def _write_settings(self) -> None:
        super()._write_settings()
        path = self.data.tokenizer.model_file
        copy_vocabulary(path, os.path.join(self.settings.output_dir, model_name(path)))

    def _input_files(self):
        return self.task.input_files(self.data.training_split().name)

    def _state_facts(self):
        return {
            "vocabulary": self.data.tokenizer.describe(),
            "sentence_task": "none",
            "task": self.finetuned_task.to_dict(),
        }

    def _initialise(self, path) -> Mapping[str, Any] | None:
        settings = self.settings
        return initialise_finetuning(
            self.model, self.finetuned_task, path, settings.allow_missing_heads, settings.keep_head
        ).vocabulary

    def _facts(self):
        """Measures the matrix-product peak too, for about half a second."""
        settings = self.settings
        features = self.data.training_split().features
        examples = len(features)
        rows = settings.steps_per_epoch(examples) * settings.train_batch_size
        return RunFacts(
            num_train_steps=self._num_train_steps(),
            examples_per_step=settings.train_batch_size,
            tokens_per_step=0,
            examples_per_epoch=examples,
            rows_per_epoch=rows if rows > examples else 0,
            matmul_peak=measure_matmul_peak(self.strategy, settings.precision),
            called="windows" if len(np.unique(features.examples)) < examples else "examples",
            shown={name: name for name in self.steps.metrics if name == "accuracy"},
        )

    def _estimate_memory(self):
        settings = self.settings
        longest = self.data.batch_shape(1).buckets[-1]
        rows = settings.train_batch_size // self.strategy.num_replicas_in_sync
        return estimate_memory(
            self.config,
            self.model.count_params(),
            rows * self.data.training_split().features.num_options,
            longest,
            0,
            settings.precision,
            settings.remat,
            settings.gradient_accumulation_steps,
        )

    def find_batch(self, step, first_example):
        """The features of a step, and the examples they are of."""
        settings, features = self.settings, self.data.training_split().features
        shape = self.data.batch_shape(settings.train_batch_size)
        plan = plan_training(features.lengths, shape.buckets, shape.batch_size, settings.random_seed, step + 1, step)
        rows = [int(row) for row in plan.rows[0]]
        return [{"feature": row, "example": int(features[row].example)} for row in rows]
