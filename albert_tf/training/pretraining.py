"""A pre-training run from its settings to its last checkpoint, taken up again where it was cut off."""

import dataclasses
import math
import os

import tensorflow as tf
from absl import logging

from albert_tf import files
from albert_tf.config import AlbertConfig
from albert_tf.errors import InputError
from albert_tf.evaluation.pretraining_evaluation import evaluate
from albert_tf.inputs.manifest import check_vocabulary
from albert_tf.inputs.pretraining_dataset import RecordSet, explain_record_errors, make_dataset, open_records
from albert_tf.inputs.record_files import file_size
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.training import checkpoints
from albert_tf.training.checkpoints import CheckpointFolder, TrainingState
from albert_tf.training.pretrained import initialise
from albert_tf.training.pretraining_settings import PretrainingSettings
from albert_tf.training.reporting import TrainingReporter
from albert_tf.training.steps import TRAIN_METRICS, PretrainingSteps
from albert_tf.training.strategy import check_batch_size, describe_strategy, make_strategy

FLAGS_NAME = "run_pretraining.flags"


def run(settings: PretrainingSettings) -> None:
    """Trains, evaluates, or both, as the settings say; goes on from the newest checkpoint in output_dir.

    Raises:
        InputError: whatever is wrong with the settings, the config, the records or the checkpoints.
    """
    config = AlbertConfig.from_json_file(settings.albert_config_file)
    if settings.max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={settings.max_seq_length} exceeds max_position_embeddings="
            f"{config.max_position_embeddings} of {settings.albert_config_file}"
        )
    records, evaluation_records = _open_all_records(settings, config)
    strategy = make_strategy(settings.distribution_strategy, settings.tpu)
    check_batch_size(settings.train_batch_size, strategy, "train_batch_size")
    check_batch_size(settings.eval_batch_size, strategy, "eval_batch_size")
    describe_strategy(strategy)
    PretrainingRun(settings, config, records, evaluation_records, strategy).run()


class PretrainingRun:
    """A run whose inputs were found good.

    Args:
        settings: the flags.
        config: the model's.
        records: to train on.
        evaluation_records: to evaluate on, None without --do_eval.
        strategy: the devices.
    """

    def __init__(self, settings, config, records: RecordSet, evaluation_records: RecordSet | None, strategy):
        self.settings = settings
        self.records = records
        self.evaluation_records = evaluation_records
        self.strategy = strategy
        self.sentence_task = _sentence_task(settings.sentence_task, records)
        self.checkpoints = CheckpointFolder(settings.output_dir, settings.keep_checkpoint_max)
        tf.keras.utils.set_random_seed(settings.random_seed)
        self.schedule = WarmupPolynomialDecay(
            settings.learning_rate,
            settings.num_train_steps,
            settings.num_warmup_steps,
            settings.start_warmup_step,
            settings.poly_power,
        )
        with strategy.scope():
            self.model = AlbertForPretraining(config)
            self.optimizer = build_optimizer(settings.optimizer, self.schedule)
            self.optimizer.build(list(named_weights(self.model).values()))
        self.steps = PretrainingSteps(
            strategy,
            self.model,
            self.optimizer,
            seed=settings.random_seed,
            train_sentence_order=self.sentence_task != "none",
        )

    def run(self) -> None:
        """Trains and evaluates."""
        if self.settings.do_train:
            self._train()
        if self.settings.do_eval:
            self._evaluate_the_rest()

    def _train(self) -> None:
        settings = self.settings
        state = self._restore_or_initialise()
        self._write_settings()
        per_step = settings.train_batch_size
        reporter = TrainingReporter(
            settings.output_dir,
            settings.num_train_steps,
            state.step,
            examples_per_step=per_step,
            tokens_per_step=per_step * settings.max_seq_length,
            examples_per_epoch=self.records.num_examples,
        )
        _describe_run(settings, self.model, self.records, state)
        try:
            with explain_record_errors(self.records.paths):
                self._train_from(state, reporter)
        finally:
            reporter.close()

    def _train_from(self, state: TrainingState, reporter: TrainingReporter) -> None:
        settings = self.settings
        iterator = iter(self.strategy.experimental_distribute_dataset(self._make_dataset(state.examples_seen)))
        reporter.start_clock()
        while state.step < settings.num_train_steps:
            count = self._steps_until_pause(state.step)
            means = self.steps.train(iterator, tf.constant(count)).numpy().tolist()
            state = dataclasses.replace(
                state, step=state.step + count, examples_seen=state.examples_seen + count * settings.train_batch_size
            )
            metrics = dict(zip(TRAIN_METRICS, means, strict=True))
            if not math.isfinite(metrics["loss"]):
                raise InputError(
                    f"the loss is {metrics['loss']} between step {state.step - count} and {state.step}, learning rate "
                    f"{self._learning_rate(state.step - 1):.3g}; lower --learning_rate or lengthen --num_warmup_steps, "
                    "and start again: the run goes on from its last checkpoint"
                )
            reporter.train(state.step, metrics, self._learning_rate(state.step - 1))
            if state.step % settings.save_checkpoints_steps == 0 or state.step == settings.num_train_steps:
                folder = self.checkpoints.save(self.model, self.optimizer, state)
                reporter.message(f"saved {folder}")
                if settings.do_eval:
                    metrics = self._evaluate()
                    checkpoints.write_evaluation(folder, metrics)
                    reporter.evaluation(state.step, metrics)
                reporter.start_clock()

    def _steps_until_pause(self, step: int) -> int:
        """Steps to the next report, checkpoint or end, whichever is first; never over --iterations_per_loop."""
        settings = self.settings
        to_report = settings.log_steps - step % settings.log_steps
        to_save = settings.save_checkpoints_steps - step % settings.save_checkpoints_steps
        return min(to_report, to_save, settings.num_train_steps - step, settings.iterations_per_loop)

    def _learning_rate(self, step: int) -> float:
        return float(self.schedule(step))

    def _make_dataset(self, start_example: int):
        settings = self.settings
        return make_dataset(
            self.records.paths,
            settings.train_batch_size,
            settings.max_seq_length,
            settings.max_predictions_per_seq,
            num_examples=self.records.num_examples,
            seed=settings.random_seed,
            start_example=start_example,
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
        if restored is not None:
            check_vocabulary(restored.vocabulary, vocabulary, settings.output_dir)
            for name in ("random_seed", "input_files", "sentence_task"):
                before, now = getattr(restored, name), getattr(fresh, name)
                if before != now:
                    logging.warning("%s was %s up to step %d, is %s now", name, before, restored.step, now)
            logging.info("going on from step %d of %s", restored.step, settings.output_dir)
            return dataclasses.replace(fresh, step=restored.step, examples_seen=restored.examples_seen)
        if settings.init_checkpoint is not None:
            known = initialise(
                self.model, settings.init_checkpoint, settings.init_from_group0, settings.allow_missing_heads
            )
            check_vocabulary(known, vocabulary, settings.init_checkpoint)
            logging.info("weights start from %s", settings.init_checkpoint)
        return fresh

    def _write_settings(self) -> None:
        files.make_folder(self.settings.output_dir)
        self.model.config.to_json_file(os.path.join(self.settings.output_dir, checkpoints.CONFIG_NAME))
        with files.replace_file(os.path.join(self.settings.output_dir, FLAGS_NAME)) as file:
            file.write(self.settings.resolved_flags.encode())

    def _evaluate(self) -> dict:
        return evaluate(
            self.steps, self.evaluation_records, self.settings.eval_batch_size, self.settings.max_eval_steps
        )

    def _evaluate_the_rest(self) -> None:
        """Evaluates the checkpoints that were not yet, then names the best."""
        found = self.checkpoints.all()
        if not found:
            raise InputError(f"--output_dir: {self.settings.output_dir} holds no checkpoint to evaluate")
        for folder in found:
            if checkpoints.read_evaluation(folder) is None:
                checkpoints.load_model_weights(folder, self.model)
                checkpoints.write_evaluation(folder, self._evaluate())
        best = self.checkpoints.best()
        metrics = ", ".join(f"{name} {value:.6g}" for name, value in checkpoints.read_evaluation(best).items())
        logging.info("best checkpoint %s: %s", best, metrics)


def _open_all_records(settings: PretrainingSettings, config: AlbertConfig) -> tuple[RecordSet, RecordSet | None]:
    lengths = (settings.max_seq_length, settings.max_predictions_per_seq, config.vocab_size)
    records = open_records(settings.input_file, *lengths)
    if not settings.do_eval:
        return records, None
    if settings.eval_input_file is None:
        logging.warning("no --eval_input_file: the evaluation reads --input_file, which the model is trained on")
        return records, records
    evaluation = open_records(settings.eval_input_file, *lengths, flag="eval_input_file")
    if records.manifest is not None and evaluation.manifest is not None:
        check_vocabulary(records.manifest.vocabulary, evaluation.manifest.vocabulary, "--eval_input_file")
    return records, evaluation


def _sentence_task(flag: str | None, records: RecordSet) -> str:
    """What the sentence labels mean; without a manifest the flag's word, or sop, is taken."""
    if records.manifest is None:
        logging.warning("the records have no manifest: vocabulary and sentence task cannot be checked")
        return flag or "sop"
    made_for = records.manifest.sentence_task
    if flag not in (None, "none", made_for):
        raise InputError(f"--sentence_task={flag}, but the records were made with --sentence_task={made_for}")
    return flag or made_for


def _describe_run(settings: PretrainingSettings, model, records: RecordSet, state: TrainingState) -> None:
    examples = settings.num_train_steps * settings.train_batch_size
    logging.info("%s parameters; %s on %s", f"{model.count_params():,}", settings.optimizer, settings.output_dir)
    logging.info(
        "%d steps of %d examples: %s examples, %.2f epochs of the %s in %d file(s); step %d is done",
        *(settings.num_train_steps, settings.train_batch_size, f"{examples:,}", examples / records.num_examples),
        *(f"{records.num_examples:,}", len(records.paths), state.step),
    )
