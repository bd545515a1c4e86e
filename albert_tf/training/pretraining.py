"""A pre-training run from its settings to its last checkpoint, taken up again where it was cut off."""

import dataclasses
import os

import tensorflow as tf
from absl import logging

from albert_tf import files
from albert_tf.config import AlbertConfig
from albert_tf.errors import InputError
from albert_tf.evaluation.pretraining_evaluation import evaluate
from albert_tf.inputs.manifest import check_vocabulary
from albert_tf.inputs.pretraining_dataset import RecordSet, explain_record_errors, make_dataset
from albert_tf.inputs.record_files import file_size
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.training import checkpoints, loop, run_description
from albert_tf.training.checkpoints import CheckpointFolder, TrainingState
from albert_tf.training.cluster import Cluster
from albert_tf.training.loss_scale import LossScale
from albert_tf.training.memory import explain_memory_errors
from albert_tf.training.pretrained import initialise
from albert_tf.training.pretraining_events import PretrainingEvents
from albert_tf.training.pretraining_records import open_all_records, resolve_sentence_task
from albert_tf.training.pretraining_settings import PretrainingSettings
from albert_tf.training.reporting import TrainingReporter
from albert_tf.training.steps import PretrainingSteps
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.strategy import (
    Agreement,
    check_batch_size,
    describe_strategy,
    explain_lost_worker,
    find_cluster,
    make_strategy,
)

FLAGS_NAME = "run_pretraining.flags"
# Keras's names of what --precision means: weights, losses, softmax and LayerNorm are float32 in all of them.
DTYPE_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def run(settings: PretrainingSettings) -> None:
    """Trains, evaluates, or both, as the settings say; goes on from the newest checkpoint in output_dir.

    Raises:
        InputError: whatever is wrong with the settings, the config, the records or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    config = AlbertConfig.from_json_file(settings.albert_config_file)
    cluster = find_cluster(settings.distribution_strategy, settings.tpu)
    records, evaluation_records = open_all_records(settings, config)
    with explain_lost_worker(cluster):
        strategy = make_strategy(settings.distribution_strategy, settings.tpu)
        micro_batches = settings.gradient_accumulation_steps
        check_batch_size(settings.train_batch_size, strategy, "train_batch_size", micro_batches)
        check_batch_size(settings.eval_batch_size, strategy, "eval_batch_size")
        describe_strategy(strategy)
        with explain_memory_errors(settings), explain_record_errors(records.paths):
            PretrainingRun(settings, config, records, evaluation_records, strategy, cluster).run()


class PretrainingRun:
    """A run whose inputs were found good.

    Args:
        settings: the flags.
        config: the model's.
        records: to train on.
        evaluation_records: to evaluate on, None without --do_eval.
        strategy: the devices.
        cluster: the workers; only the chief writes.
    """

    def __init__(
        self,
        settings: PretrainingSettings,
        config: AlbertConfig,
        records: RecordSet,
        evaluation_records: RecordSet | None,
        strategy,
        cluster: Cluster,
    ):
        self.settings = settings
        self.records = records
        self.evaluation_records = evaluation_records
        self.strategy = strategy
        self.cluster = cluster
        self.agreement = Agreement(strategy, cluster)
        self.sentence_task = resolve_sentence_task(settings.sentence_task, records)
        self.checkpoints = CheckpointFolder(settings.output_dir, settings.keep_checkpoint_max)
        self.signals = StopSignals()
        tf.keras.utils.set_random_seed(settings.random_seed)
        self.schedule = WarmupPolynomialDecay(
            settings.learning_rate,
            settings.num_train_steps,
            settings.num_warmup_steps,
            settings.start_warmup_step,
            settings.poly_power,
        )
        with strategy.scope():
            self.model = AlbertForPretraining(
                config,
                remat=settings.remat,
                constant_graph=settings.constant_graph,
                dtype=DTYPE_POLICIES[settings.precision],
            )
            self.optimizer = build_optimizer(settings.optimizer, self.schedule)
            self.optimizer.build(list(named_weights(self.model).values()))
        self.steps = PretrainingSteps(
            strategy,
            self.model,
            self.optimizer,
            seed=settings.random_seed,
            train_sentence_order=self.sentence_task != "none",
            gradient_accumulation_steps=settings.gradient_accumulation_steps,
            scale_loss=settings.precision == "float16",
            jit_compile=settings.jit_compile == "true",
        )

    def run(self) -> None:
        """Trains and evaluates."""
        with self.signals:
            if self.settings.do_train:
                self._train()
            # The chief has written its last checkpoint before another worker looks for it, or leaves.
            self.agreement.mean(0.0)
            if self.settings.do_eval:
                self._evaluate_the_rest()
                self.agreement.mean(0.0)

    def _train(self) -> None:
        settings = self.settings
        state = self._restore_or_initialise()
        if self.cluster.is_chief:
            self._write_settings()
        facts = run_description.facts(settings, self.model.config, self.records, self.strategy)
        reporter = TrainingReporter(settings.output_dir if self.cluster.is_chief else None, facts, state.step)
        try:
            description = run_description.describe(settings, self.model, self.records, self.strategy, facts, state)
            reporter.start(description)
            events = PretrainingEvents(self, state, reporter)
            events.evaluate_if_left_out()
            batches = self.strategy.distribute_datasets_from_function(
                lambda context: self._make_dataset(state.examples_seen, context)
            )
            iterator = iter(batches)
            reporter.start_clock()
            loop.train(
                self._plan(),
                lambda count, progress: self.steps.take(iterator, tf.constant(count), progress),
                state.step,
                self.steps.start(LossScale(**state.loss_scale) if state.loss_scale else None),
                events,
                self.signals,
                self.agreement,
            )
        finally:
            reporter.close()

    def _plan(self) -> loop.LoopPlan:
        fields = (field.name for field in dataclasses.fields(loop.LoopPlan))
        return loop.LoopPlan(**{name: getattr(self.settings, name) for name in fields})

    def _make_dataset(self, start_example: int, context):
        settings = self.settings
        return make_dataset(
            self.records.paths,
            settings.train_batch_size,
            settings.max_seq_length,
            settings.max_predictions_per_seq,
            num_examples=self.records.num_examples,
            seed=settings.random_seed,
            start_example=start_example,
            context=context,
        )

    def _restore_or_initialise(self) -> TrainingState:
        settings, manifest = self.settings, self.records.manifest
        vocabulary = manifest.vocabulary if manifest is not None else None
        fresh = TrainingState(
            step=0,
            examples_seen=0,
            random_seed=settings.random_seed,
            input_files=[{"name": os.path.basename(p), "bytes": file_size(p)} for p in self.records.paths],
            optimizer=self.optimizer.name,
            vocabulary=vocabulary,
            sentence_task=self.sentence_task,
        )
        restored = self.checkpoints.restore_latest(self.model, self.optimizer)
        self._compare_with_other_workers(restored.step if restored is not None else 0)
        if restored is not None:
            check_vocabulary(restored.vocabulary, vocabulary, settings.output_dir)
            for name in ("random_seed", "input_files", "sentence_task"):
                before, now = getattr(restored, name), getattr(fresh, name)
                if before != now:
                    logging.warning("%s", run_description.describe_change(name, before, now, restored.step))
            logging.info("going on from step %d of %s", restored.step, settings.output_dir)
            carried = ("step", "examples_seen", "nonfinite_steps", "loss_scale")
            return dataclasses.replace(fresh, **{name: getattr(restored, name) for name in carried})
        if settings.init_checkpoint is not None:
            known = initialise(
                self.model, settings.init_checkpoint, settings.init_from_group0, settings.allow_missing_heads
            )
            check_vocabulary(known, vocabulary, settings.init_checkpoint)
            logging.info("weights start from %s", settings.init_checkpoint)
        return fresh

    def _compare_with_other_workers(self, step: int) -> None:
        (mean,) = self.agreement.mean(float(step))
        if mean != step:
            raise InputError(
                f"this worker found a checkpoint of step {step} in --output_dir={self.settings.output_dir}, others did "
                "not; --output_dir must be one folder that every worker can read, on a shared disk or in a bucket"
            )

    def _write_settings(self) -> None:
        files.make_folder(self.settings.output_dir)
        self.model.config.to_json_file(os.path.join(self.settings.output_dir, checkpoints.CONFIG_NAME))
        with files.replace_file(os.path.join(self.settings.output_dir, FLAGS_NAME)) as file:
            file.write(self.settings.resolved_flags.encode())

    def evaluate(self) -> dict:
        """Evaluates the model as it is; a signal ends that at once."""

        def stop_if_asked():
            if self.signals.received:
                self.signals.stop("the last checkpoint is saved, its evaluation was left out")

        settings = self.settings
        return evaluate(
            self.steps, self.evaluation_records, settings.eval_batch_size, settings.max_eval_steps, stop_if_asked
        )

    def _evaluate_the_rest(self) -> None:
        """Evaluates the checkpoints that were not yet, then names the best."""
        found = self.checkpoints.all()
        if not found:
            raise InputError(f"--output_dir: {self.settings.output_dir} holds no checkpoint to evaluate")
        for folder in [folder for folder in found if checkpoints.read_evaluation(folder) is None]:
            checkpoints.load_model_weights(folder, self.model)
            metrics = self.evaluate()
            if self.cluster.is_chief:
                checkpoints.write_evaluation(folder, metrics)
        self.agreement.mean(0.0)
        best = self.checkpoints.best()
        metrics = ", ".join(f"{name} {value:.6g}" for name, value in checkpoints.read_evaluation(best).items())
        logging.info("best checkpoint %s: %s", best, metrics)
