"""A pre-training run whose inputs were found good: model, optimizer, batches of each stage, evaluation."""

import dataclasses
import os

import keras
import numpy as np
from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import initialise
from albert_tf.inputs.pretraining_dataset import RecordSet, make_dataset
from albert_tf.inputs.record_origin import find_records
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer, build_schedule
from albert_tf.pretraining.diagnosis import Diagnosis, read_sample
from albert_tf.pretraining.earlier_evaluations import evaluate_again, evaluate_the_rest
from albert_tf.pretraining.evaluation import EVALUATED_ON, describe_records, evaluate
from albert_tf.pretraining.initial_values import initialise_embeddings, initialise_output_bias, initialise_positions
from albert_tf.pretraining.opened_records import resolve_sentence_task
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.pretraining.signs_of_trouble import signs_for
from albert_tf.pretraining.step_shapes import StepShapes
from albert_tf.pretraining.steps import SENTENCE_HEAD, PretrainingSteps
from albert_tf.pretraining.vocabulary_copy import check_given_vocabulary, keep_copy, locate_vocabulary
from albert_tf.published.local_copy import local_copy
from albert_tf.training.cluster import Cluster
from albert_tf.training.flops import train_step_flops
from albert_tf.training.machine import measure_matmul_peak
from albert_tf.training.memory import estimate_memory
from albert_tf.training.reporting import RunFacts
from albert_tf.training.run import TrainingRun
from albert_tf.training.strategy import device_kind, input_shares

# What the progress line shows of the sentence task.
_SHOWN_OF_TASK = {
    "sop": {"sentence_order_accuracy": "order"},
    "nsp": {"sentence_order_accuracy": "next sentence"},
    "none": {},
}


class PretrainingRun(TrainingRun):
    """A run whose inputs were found good.

    Args:
        settings: the flags.
        config: the model's.
        records: to train on.
        evaluation_records: to evaluate on, None without --do_eval.
        strategy: the devices.
        cluster: the workers; only the chief writes.
    """

    FLAGS_NAME = "run_pretraining.flags"

    def __init__(
        self,
        settings: PretrainingSettings,
        config: AlbertConfig,
        records: RecordSet,
        evaluation_records: RecordSet | None,
        strategy,
        cluster: Cluster,
    ):
        self.config = config
        self.shapes = StepShapes(settings, records, input_shares(strategy))
        self.stages = self.shapes.stages
        self.records = records
        self.evaluation_records = evaluation_records
        self.sentence_task = resolve_sentence_task(settings.sentence_task, records)
        self.vocabulary = records.manifest.vocabulary_and_cleaning if records.manifest is not None else None
        self.vocabulary_file = settings.spm_model_file
        if settings.spm_model_file is not None:
            known = self.vocabulary or {}
            described = check_given_vocabulary(settings.spm_model_file, self.vocabulary, config)
            self.vocabulary = {**known, **described}
        elif cluster.is_chief and settings.do_train:
            before = local_copy(settings.init_checkpoint or settings.output_dir)
            near = [settings.output_dir, before, os.path.dirname(before.rstrip("/"))]
            self.vocabulary_file = locate_vocabulary(self.vocabulary, records.paths, near)
        super().__init__(settings, strategy, cluster)

    def run(self) -> None:
        """Trains and evaluates."""
        with self.signals:
            if self.settings.do_eval:
                evaluate_again(self)
            if self.settings.do_train:
                self._train()
            # The chief has written its last checkpoint before another worker looks for it, or leaves.
            self.agreement.mean(0.0)
            if self.settings.do_eval:
                evaluate_the_rest(self)
                self.agreement.mean(0.0)

    def read_values(self) -> list[np.ndarray]:
        """The values of all variables of model and optimizer, for `begin_anew`."""
        return [variable.numpy() for variable in self._variables()]

    def begin_anew(self, settings: PretrainingSettings, values: list[np.ndarray]) -> None:
        """Becomes the run of other settings, with the steps that were compiled for this one.

        Args:
            settings: those of this run but for the number of steps, and what follows from it.
            values: what `read_values` gave before the first step.
        """
        self.settings = settings
        self.shapes = StepShapes(settings, self.records, input_shares(self.strategy))
        self.stages = self.shapes.stages
        self.schedule.change_lengths(self._make_schedule())
        with self.strategy.scope():
            for variable, value in zip(self._variables(), values, strict=True):
                variable.assign(value)
        keras.utils.set_random_seed(settings.random_seed)

    def _variables(self):
        return [*self.model.variables, *self.optimizer.variables]

    def _make_schedule(self):
        settings = self.settings
        return build_schedule(settings, settings.num_train_steps, settings.num_warmup_steps)

    def _make_model(self, dtype):
        settings = self.settings
        return AlbertForPretraining(
            self.config, remat=settings.remat, constant_graph=settings.constant_graph, dtype=dtype
        )

    def _make_optimizer(self):
        settings = self.settings
        # In all runs, not only in those of minutes: a division by a constant is rounded otherwise.
        self.schedule.keep_in_variables()
        own = {"matrix_rate": settings.muon_rate} if settings.optimizer == "muon" else {}
        own |= settings.optimizer_settings
        factors = [] if settings.sentence_head_rate == 1.0 else [(SENTENCE_HEAD, settings.sentence_head_rate)]
        return build_optimizer(settings.optimizer, self.schedule, factors, settings.precision, **own)

    def _make_steps(self, **kwargs):
        train_sentence_order = self.sentence_task != "none"
        return PretrainingSteps(
            self.strategy,
            self.model,
            self.optimizer,
            train_sentence_order=train_sentence_order,
            batch_halves=self.settings.batch_halves == "true",
            **kwargs,
        )

    def _plan(self):
        return dataclasses.replace(super()._plan(), stage_ends=self.stages.ends())

    def _make_take(self, state, reporter):
        """Begins a stage, at its first step, with batches of its own."""
        stage, iterator = None, None

        def take(step, count, progress):
            nonlocal stage, iterator
            if self.stages.at(step) is not stage:
                stage = self.stages.at(step)
                reporter.change_facts(self._facts_of(stage))
                if self.shapes.packing(stage):
                    logging.info("%s", self.shapes.describe(stage))
                seen = state.examples_seen + self.examples_between(state.step, step)
                iterator = self.batches_from(dataclasses.replace(state, step=step, examples_seen=seen))
            return self.steps.take(iterator, count, progress)

        return take

    def examples_between(self, first_step, end_step):
        return self.stages.examples_between(first_step, end_step)

    def _make_dataset(self, state, context):
        settings, stage = self.settings, self.stages.at(state.step)
        return make_dataset(
            self.records.paths,
            stage.batch_size,
            settings.max_seq_length,
            settings.max_predictions_per_seq,
            num_examples=self.records.num_examples,
            seed=settings.random_seed,
            start_example=state.examples_seen,
            context=context,
            reading=stage.reading,
            packing=self.shapes.packing(stage),
            steps_into_window=self.shapes.steps_into_window(state.step),
        )

    def _input_files(self):
        return list(self.records.paths)

    def _state_facts(self):
        planned = self.settings.num_train_steps if self.settings.train_minutes is not None else None
        halves = self.steps.batch_halves
        facts = {"vocabulary": self.vocabulary, "sentence_task": self.sentence_task}
        return {**facts, "planned_steps": planned, "batch_halves": halves}

    def _write_settings(self):
        super()._write_settings()
        if self.vocabulary_file is not None:
            keep_copy(self.vocabulary_file, self.settings.output_dir)

    def _initialise(self, path):
        settings = self.settings
        if settings.init_checkpoint is None:
            return initialise_embeddings(self.model, path)
        return initialise(self.model, path, settings.init_from_group0, settings.allow_missing_heads)

    def _restore_or_initialise(self):
        state = super()._restore_or_initialise()
        if not state.step and self.settings.init_position_waves:
            initialise_positions(self.model)
        if not state.step and self.settings.init_output_bias:
            initialise_output_bias(self.model, self.records, self.settings.random_seed)
        return state

    def _facts(self):
        """Measures the matrix-product peak too, for about half a second."""
        self._matmul_peak = measure_matmul_peak(self.strategy, self.settings.precision)
        return self._facts_of(self.stages.at(0))

    def _facts_of(self, stage):
        settings, (rows, length, _) = self.settings, self.shapes.of(stage)
        return RunFacts(
            num_train_steps=settings.num_train_steps,
            examples_per_step=stage.batch_size,
            batch_sizes=self.stages.batch_sizes(),
            tokens_per_step=rows * length,
            examples_per_epoch=self.records.num_examples,
            flops_per_step=train_step_flops(self.config, *self.shapes.of(stage)),
            matmul_peak=self._matmul_peak,
            shown={"masked_lm_accuracy": "masked LM", **_SHOWN_OF_TASK[self.sentence_task]},
        )

    def _estimate_memory(self):
        """Estimates the memory of the stage that takes most."""
        settings = self.settings
        estimates = [
            estimate_memory(
                self.config,
                self.model.count_params(),
                rows // self.strategy.num_replicas_in_sync,
                length,
                predictions,
                settings.precision,
                settings.remat,
                settings.gradient_accumulation_steps,
                self.steps.batch_halves,
            )
            for rows, length, predictions in map(self.shapes.of, self.stages)
        ]
        return max(estimates, key=lambda estimate: estimate.total)

    def _make_diagnosis(self):
        settings, stage = self.settings, self.stages.at(0)
        if device_kind(self.strategy) == "TPU":
            return None
        sample = read_sample(
            self.records, self.config.vocab_size, stage.batch_size, settings.random_seed, stage.reading
        )
        warmup_end = settings.start_warmup_step + settings.num_warmup_steps
        return Diagnosis(self.model, sample, warmup_end, signs_for(self.sentence_task))

    def find_batch(self, step, first_example):
        """The records of a step, or of all those that share their examples: file, number and offset of each."""
        records, stage = self.records, self.stages.at(step)
        first_example -= self.shapes.steps_into_window(step) * stage.batch_size
        count = stage.batch_size * (packing.steps if (packing := self.shapes.packing(stage)) else 1)
        return find_records(records.paths, records.num_examples, self.settings.random_seed, first_example, count)

    def evaluate(self) -> dict:
        """Evaluates the model as it is; a signal ends that at once."""
        settings, records = self.settings, self.evaluation_records
        found = evaluate(self.steps, records, settings.eval_batch_size, settings.max_eval_steps, self.stop_if_asked)
        return {**found, EVALUATED_ON: self.evaluated_on()}

    def evaluated_on(self) -> str:
        """The digest of the examples that `evaluate` reads."""
        settings = self.settings
        return describe_records(self.evaluation_records, settings.max_eval_steps * settings.eval_batch_size)
