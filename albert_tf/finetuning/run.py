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
from albert_tf.conversion.pretrained import initialise_finetuning
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.diagnosis import Diagnosis, chance_loss, is_stuck
from albert_tf.finetuning.earlier_runs import (
    check_own_checkpoints,
    compare_by_one_score,
    exit_pooling,
    head_dropout,
    score_those_left_out,
)
from albert_tf.finetuning.exit_fitting import fit_exits
from albert_tf.finetuning.freezing import freeze, is_lora_target
from albert_tf.finetuning.model_source import describe_origins, warn_of_own_checkpoint
from albert_tf.finetuning.objectives import make_objective
from albert_tf.finetuning.results import Chosen, FinetuningResults
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.heads.exit_names import EXITS
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.low_rank import LowRankUpdates
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.training.cluster import Cluster
from albert_tf.training.feature_run import FeatureRun
from albert_tf.training.stop_signals import StopSignals

RESULTS_NAME = "results.json"


class FinetuningRun(FeatureRun):
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
        check_own_checkpoints(settings, data.finetuned_task())
        data.read()
        rate = head_dropout(settings, data.finetuned_task())
        read_by_exits = exit_pooling(settings, data.finetuned_task())
        settings = dataclasses.replace(settings, classifier_dropout_prob=rate)
        if settings.do_train:
            number = len(data.training_split().features)
            settings = dataclasses.replace(settings, save_checkpoints_steps=settings.saving_for(number))
        self.config = config
        self.data = data
        self.task = data.task
        self.finetuned_task = dataclasses.replace(
            data.finetuned_task(),
            classifier_dropout_prob=rate,
            early_exit=settings.early_exit,
            exit_pooling=read_by_exits,
        )
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
        if chance is not None and is_stuck(settings.output_dir, self.num_train_steps(), chance):
            results["stuck"] = True
        if self.cluster.is_chief:
            files.write_json(os.path.join(settings.output_dir, RESULTS_NAME), results)
        self.agreement.mean(0.0)
        return results

    def training_features(self):
        return self.data.training_split().features

    def batch_shape(self, batch_size):
        return self.data.batch_shape(batch_size)

    def _warn_of_one_score(self) -> None:
        """Says so where the best checkpoint of a run can only be its last."""
        settings, steps = self.settings, self.num_train_steps()
        asked = self.data.settings.save_checkpoints_steps
        if settings.do_eval and asked is not None and asked >= steps:
            logging.warning(
                "the run of %d steps is scored once, at its end: --save_checkpoints_steps=%d; an epoch is %d steps",
                *(steps, asked, settings.steps_per_epoch(len(self.data.training_split().features))),
            )

    def _load_best(self) -> Chosen:
        """Puts the best checkpoint, else the newest, else --init_checkpoint into the model; says which."""
        found = self.checkpoints.choose(self._load)
        if found is not None:
            warn_of_own_checkpoint(self.settings, found)
            task = run_checkpoints.read_state(found).finetuned_task(found)
            return Chosen(found, task, read_evaluation(found), run_checkpoints.step_of(found))
        path, keep_head = self.settings.init_checkpoint, self.settings.keep_head
        if path is None:
            raise InputError(f"--output_dir: {self.settings.output_dir} holds no checkpoint, and no --init_checkpoint")
        known = initialise_finetuning(self.model, self.finetuned_task, path, keep_head=keep_head, need_head=True)
        self.check_vocabulary(known.vocabulary, path)
        return Chosen(path, known.task, read_evaluation(known.source))

    def _load(self, folder: str) -> str:
        run_checkpoints.load_model_weights(folder, self.model)
        return folder

    def evaluate(self) -> dict[str, Any]:
        """Evaluates the model as it is on the first dev split; a signal ends that at once."""
        return self.results.evaluate(int(self.optimizer.iterations.value))

    def _make_diagnosis(self):
        chance = self._chance_loss()
        warmup = self.settings.warmup_for(self.num_train_steps())
        return None if chance is None else Diagnosis(chance, warmup)

    def _chance_loss(self) -> float | None:
        """The loss of always the same answer; None with a teacher, on whom it depends."""
        if self.settings.teacher is not None:
            return None
        features = self.data.training_split().features
        return chance_loss(self.steps.objective, features, self.finetuned_task.num_labels)

    def _make_model(self, dtype):
        settings, task = self.settings, self.finetuned_task
        model = make_finetuning_model(
            self.config,
            task.head,
            task.num_labels,
            settings.classifier_dropout_prob,
            early_exit=task.early_exit,
            exit_pooling=task.exit_pooling,
            max_span_length=settings.task_settings.max_span_length,
            remat=settings.remat,
            constant_graph=settings.constant_graph,
            dtype=dtype,
        )
        freeze(model, settings.frozen_parts)
        if settings.fits_exits:
            for variable in model.exits.weights:
                variable.trainable = False
        return model

    def before_saving(self):
        if self.settings.fits_exits:
            fit_exits(self)

    def _rate_factors(self):
        return [(f"(^|/){EXITS}", self.settings.exit_rate_factor), *super()._rate_factors()]

    def _make_low_rank(self):
        settings = self.settings
        if settings.lora_rank is None:
            return None
        found = LowRankUpdates(
            self.model, is_lora_target, settings.lora_rank, settings.lora_alpha, settings.random_seed
        )
        logging.info("%s parameters of low-rank updates, with the head's, are trained", f"{found.num_trained:,}")
        return found

    def _make_steps(self, **kwargs):
        features = self.training_features() if self.settings.do_train else None
        objective = make_objective(self.settings, self.task, features)
        return FinetuningSteps(
            *(self.strategy, self.model, self.task.head, self.optimizer),
            objective=objective,
            static_shapes=self._has_static_shapes(),
            trains_exits=not self.settings.fits_exits,
            **kwargs,
        )

    def _input_files(self):
        return self.task.input_files(self.data.training_split().name)

    def fresh_state(self):
        return dataclasses.replace(super().fresh_state(), **describe_origins(self.settings))

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
        features = self.training_features()
        return self._facts_of("windows" if len(np.unique(features.examples)) < len(features) else "examples")
