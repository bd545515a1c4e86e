"""A training run from its settings to its last checkpoint, taken up again where it was cut off.

What the model is, where its batches come from and how it is judged is a subclass's affair.
"""

import abc
import dataclasses
import os
from typing import Any, ClassVar

import keras
from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.models.low_rank import LowRankUpdates
from albert_tf.models.named_weights import trained_weights
from albert_tf.records.manifest import check_vocabulary
from albert_tf.records.record_files import file_size
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.training import loop, run_description
from albert_tf.training.cluster import Cluster
from albert_tf.training.loop import TrainingEvents
from albert_tf.training.loss_scale import LossScale
from albert_tf.training.memory import MemoryEstimate
from albert_tf.training.reporting import RunFacts, TrainingReporter
from albert_tf.training.settings import TrainingSettings
from albert_tf.training.steps import Steps
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.strategy import Agreement, share_out_batches


class TrainingRun(abc.ABC):
    """A run whose inputs were found good.

    Args:
        settings: the flags.
        strategy: the devices.
        cluster: the workers; only the chief writes.
        signals: the wish to stop; None for a run that is the only one of its process.

    Attributes:
        FLAGS_NAME: of the file in output_dir that holds the flags as they were resolved.
    """

    FLAGS_NAME: ClassVar[str]

    def __init__(self, settings: TrainingSettings, strategy, cluster: Cluster, signals: StopSignals | None = None):
        self.settings = settings
        self.strategy = strategy
        self.cluster = cluster
        self.agreement = Agreement(strategy, cluster)
        self.checkpoints = CheckpointFolder(settings.output_dir, settings.keep_checkpoint_max)
        self.signals = signals or StopSignals()
        keras.utils.set_random_seed(settings.random_seed)
        self.schedule = self._make_schedule()
        with strategy.scope():
            self.model = self._make_model(DTYPE_POLICIES[settings.precision])
            self.optimizer = self._make_optimizer()
            self.low_rank = self._make_low_rank()
            updated = trained_weights(self.model) if self.low_rank is None else self.low_rank.updated()
            self.optimizer.build(list(updated.values()))
        self.checkpoints.low_rank = self.low_rank
        self.steps = self._make_steps(
            seed=settings.random_seed,
            max_gradient_norm=settings.max_gradient_norm,
            gradient_accumulation_steps=settings.gradient_accumulation_steps,
            scale_loss=settings.precision == "float16",
            jit_compile=settings.jit_compile == "true",
            low_rank=self.low_rank,
        )

    @abc.abstractmethod
    def _make_schedule(self):
        """The learning rate by the step."""

    @abc.abstractmethod
    def _make_model(self, dtype: str):
        """The model, with first values."""

    @abc.abstractmethod
    def _make_optimizer(self):
        """The optimizer, not yet built."""

    @abc.abstractmethod
    def _make_steps(self, **kwargs) -> Steps:
        """The steps; the arguments are Steps's."""

    @abc.abstractmethod
    def _make_dataset(self, state: TrainingState, context):
        """The batches from a state on, for a tf.distribute.InputContext."""

    @abc.abstractmethod
    def _input_files(self) -> list[str]:
        """The files that examples come from."""

    def _teacher_files(self) -> list[str]:
        """Files that say what is learned of the examples besides."""
        return []

    @abc.abstractmethod
    def _state_facts(self) -> dict[str, Any]:
        """Facts that checkpoints of this run hold besides: vocabulary, task."""

    @abc.abstractmethod
    def _initialise(self, path: str) -> dict[str, Any] | None:
        """Gives the model the weights at settings.first_weights; returns what is known of their vocabulary."""

    @abc.abstractmethod
    def _facts(self) -> RunFacts:
        """The facts from which the reports' figures are computed."""

    @abc.abstractmethod
    def _estimate_memory(self) -> MemoryEstimate:
        """Estimates the memory of one replica in a step."""

    @abc.abstractmethod
    def find_batch(self, step: int, first_example: int) -> list[dict[str, Any]]:
        """Finds where the examples of a step come from, for the report about one that is not finite."""

    @abc.abstractmethod
    def evaluate(self) -> dict[str, Any]:
        """Evaluates the model as it is; a signal ends that at once."""

    def _make_low_rank(self) -> LowRankUpdates | None:
        """Makes the low-rank updates of a model whose kernels are frozen but for them; None for none."""
        return None

    def _make_diagnosis(self):
        """Makes the object that tells of a run that is stuck, one with diagnosis.Diagnosis.report; None for none."""
        return None

    def before_saving(self) -> None:  # noqa: B027
        """Does what a checkpoint needs before it is written, in most runs nothing; every worker calls it.

        A run that is told to stop saves without it. It must not end by a signal, which would cost the steps done.
        """

    def ends_early(self, step: int) -> bool:
        """Tells whether the run is over after the evaluation of a step, though it was to be longer."""
        return False

    def is_over(self, step: int) -> bool:
        """The chief's answer of ends_early, as the chief has written the evaluation; every worker must ask."""
        (said,) = self.agreement.mean(float(self.cluster.is_chief and self.ends_early(step)))
        return said > 0

    def num_train_steps(self) -> int:
        """The step at which the run ends."""
        return self.settings.num_train_steps

    def _train(self) -> None:
        settings = self.settings
        state = self._restore_or_initialise()
        if self.cluster.is_chief:
            self._write_settings()
        facts = self._facts()
        output_dir = settings.output_dir if self.cluster.is_chief else None
        reporter = TrainingReporter(output_dir, facts, state.step, state.examples_seen)
        try:
            rows = state.examples_seen + self.examples_between(state.step, max(state.step, facts.num_train_steps))
            described = (settings, self.model, self.strategy, facts, state, rows, len(self._input_files()))
            description = run_description.describe(*described, self._estimate_memory())
            reporter.start({**description, "sentence_task": self._state_facts().get("sentence_task", "none")})
            events = TrainingEvents(self, state, reporter, self._make_diagnosis() if self.cluster.is_chief else None)
            events.evaluate_if_left_out()
            if state.step and settings.do_eval and self.is_over(state.step):
                return
            take = self._make_take(state, reporter)
            reporter.start_clock()
            loop.train(
                self._plan(),
                take,
                state.step,
                self.steps.start(LossScale(**state.loss_scale) if state.loss_scale else None),
                events,
                self.signals,
                self.agreement,
            )
        finally:
            reporter.close()

    def _make_take(self, state: TrainingState, reporter: TrainingReporter):
        """Makes the function that takes the steps from a state on, as loop.train wants it."""
        iterator = self.batches_from(state)
        return lambda _, count, progress: self.steps.take(iterator, count, progress)

    def examples_between(self, first_step: int, end_step: int) -> int:
        """Rows of the batches of the steps from `first_step` up to `end_step`, which is not among them."""
        return (end_step - first_step) * self.settings.train_batch_size

    def batches_from(self, state: TrainingState):
        """An iterator over the batches from a state on, for `steps`."""
        return iter(share_out_batches(self.strategy, lambda context: self._make_dataset(state, context)))

    def fresh_state(self) -> TrainingState:
        """The state of a run that has taken no step."""
        return TrainingState(
            step=0,
            examples_seen=0,
            random_seed=self.settings.random_seed,
            input_files=self._describe_files(self._input_files()),
            teacher_files=self._describe_files(self._teacher_files()),
            optimizer=self.optimizer.name,
            precision=self.settings.precision,
            **self._state_facts(),
        )

    def _describe_files(self, paths: list[str]) -> list[dict[str, Any]]:
        return [{"name": os.path.basename(path), **self._describe_input(path)} for path in paths]

    def _describe_input(self, path: str) -> dict[str, Any]:
        """Facts of a file that a checkpoint notes beside its name; records are too large to be read for more."""
        return {"bytes": file_size(path)}

    def _plan(self) -> loop.LoopPlan:
        names = ("log_steps", "save_checkpoints_steps", "iterations_per_loop")
        return loop.LoopPlan(self.num_train_steps(), **{name: getattr(self.settings, name) for name in names})

    def _restore_or_initialise(self) -> TrainingState:
        settings = self.settings
        fresh = self.fresh_state()
        restored = self.checkpoints.restore_latest(self.model, self.optimizer)
        self._compare_with_other_workers(restored.step if restored is not None else 0)
        if restored is not None:
            check_vocabulary(restored.vocabulary, fresh.vocabulary, settings.output_dir)
            for name in ("random_seed", "input_files", "teacher_files", "init_sha256", "sentence_task"):
                before, now = getattr(restored, name), getattr(fresh, name)
                if warning := run_description.describe_change(name, before, now, restored.step):
                    logging.warning("%s", warning)
            if changed := run_description.describe_changed_flags(
                self._flags_before(), settings.resolved_flags, restored.step
            ):
                logging.warning("%s", changed)
            if settings.do_train and restored.step >= self.num_train_steps():
                tell = logging.info if restored.step == self.num_train_steps() else logging.warning
                tell("no step is left: the run is at %d, it was to have %d", restored.step, self.num_train_steps())
            logging.info("going on from step %d of %s", restored.step, settings.output_dir)
            carried = ("step", "examples_seen", "nonfinite_steps", "loss_scale", "init_sha256")
            return dataclasses.replace(fresh, **{name: getattr(restored, name) for name in carried})
        source = settings.first_weights
        if source is not None:
            check_vocabulary(self._initialise(source), fresh.vocabulary, source)
            logging.info("weights start from %s", source)
        if self.low_rank is not None:
            self.low_rank.set_bases()
        return fresh

    def _flags_before(self) -> str:
        """The flags by which the run came to its checkpoint, as it left them in its folder."""
        path = os.path.join(self.settings.output_dir, self.FLAGS_NAME)
        if not files.exists(path):
            return ""
        with files.open_binary(path) as file:
            return file.read().decode(errors="replace")

    def _compare_with_other_workers(self, step: int) -> None:
        (mean,) = self.agreement.mean(float(step))
        if mean != step:
            raise InputError(
                f"this worker found a checkpoint of step {step} in --output_dir={self.settings.output_dir}, others did "
                "not; --output_dir must be one folder that every worker can read, on a shared disk or in a bucket"
            )

    def _write_settings(self) -> None:
        files.make_folder(self.settings.output_dir)
        self.model.config.to_json_file(os.path.join(self.settings.output_dir, run_checkpoints.CONFIG_NAME))
        with files.replace_file(os.path.join(self.settings.output_dir, self.FLAGS_NAME)) as file:
            file.write(self.settings.resolved_flags.encode())

    def stop_if_asked(self) -> None:
        """Ends an evaluation when a signal came."""
        if self.signals.received:
            self.signals.stop("the last checkpoint is saved, its evaluation was left out")
