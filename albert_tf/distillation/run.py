"""A distillation whose inputs were found good: the run of a training of vectors, with a teacher's beside the texts."""

import os
from typing import Any

import numpy as np
from absl import logging

from albert_tf.distillation.first_values import initialise_words
from albert_tf.distillation.objective import TEACHER_VECTOR, TeacherVectors
from albert_tf.distillation.settings import DistillationSettings
from albert_tf.distillation.teacher import Axes, TaughtTexts, keep_axes
from albert_tf.embedding.run import EmbeddingRun
from albert_tf.heads.vector_dense import KERNEL
from albert_tf.inputs.finetuning_dataset import FEATURE_INDEX
from albert_tf.inputs.host_batches import ready_ahead
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.build import build_optimizer, layerwise_factors
from albert_tf.pretraining.initial_values import initialise_positions
from albert_tf.runtime.errors import InputError

AXES_NAME = "teacher_axes.npy"


class DistillationRun(EmbeddingRun):
    """A run whose inputs were found good.

    Args:
        settings: the flags.
        taught: the texts of the data, in the same order; None without training.
        *others: of EmbeddingRun, after its settings, without the objective.
    """

    FLAGS_NAME = "distil_vectors.flags"
    settings: DistillationSettings

    def __init__(self, settings: DistillationSettings, taught: TaughtTexts | None, config, pooling, data, *devices):
        self.taught = taught
        objective = TeacherVectors(settings.cosine_weight, settings.relation_weight, settings.temperature)
        super().__init__(settings, config, pooling, objective, data, *devices)

    def _train(self):
        self._axes = self._find_axes()
        super()._train()

    @property
    def _width(self) -> int:
        """The numbers of the student's vectors."""
        return self.pooling.size(self.config.hidden_size)

    def _find_axes(self) -> Axes:
        """The axes of the run, kept for when it goes on."""
        path, width = os.path.join(self.settings.output_dir, AXES_NAME), self._width
        is_begun = bool(self.checkpoints.all())
        axes = keep_axes(path, lambda: Axes.of(self.taught, width), is_begun, self.cluster.is_chief)
        if axes.matrix.shape != (self.taught.size, width):
            raise InputError(
                f"{path} is of a teacher of {axes.matrix.shape[0]} numbers, this one gives {self.taught.size}; name "
                "another --output_dir, or the teacher of before"
            )
        if axes.share is not None and self.taught.size > width:
            logging.info(
                "of the teacher's %d numbers the student learns %d axes, with %.1f %% of their squares",
                *(self.taught.size, width, 100 * axes.share),
            )
        return axes

    def _restore_or_initialise(self):
        state, settings = super()._restore_or_initialise(), self.settings
        if not state.step and settings.init_checkpoint is None:
            if settings.init_position_waves:
                initialise_positions(self.model)
            if settings.init_words:
                self._initialise_words()
        dense = self.pooling.dense
        if not state.step and dense is not None and not dense.to_weights():
            # None came with --init_checkpoint: the first one turns the student's axes back into the teacher's.
            named_weights(self.model)[KERNEL].assign(self._hidden_axes().matrix.T)
        return state

    def _hidden_axes(self) -> Axes:
        """The axes of as many numbers as the student has hidden units."""
        if self.pooling.dense is None:
            return self._axes
        return Axes.of(self.taught, self.config.hidden_size)

    def _initialise_words(self) -> None:
        tokenizer, pieces = self.data.tokenizer, self.training_features().sequences
        special = tuple(getattr(tokenizer, f"{name}_id") for name in ("pad", "unk", "cls", "sep", "mask"))
        initialise_words(self.model, self.taught, pieces, self._hidden_axes(), special)

    def _make_optimizer(self):
        settings = self.settings
        own = {"matrix_rate": settings.muon_rate} if settings.optimizer == "muon" else {}
        factors = layerwise_factors(self.config, settings.layerwise_learning_rate_decay)
        own |= settings.optimizer_settings
        return build_optimizer(settings.optimizer, self.schedule, factors, settings.precision, **own)

    def _make_dataset(self, state, context):
        import tensorflow as tf

        def look_up(places: np.ndarray) -> np.ndarray:
            return self._axes.apply(self.taught.vectors(places))

        def add(batch: dict[str, Any]) -> dict[str, Any]:
            places = batch[FEATURE_INDEX]
            found = tf.numpy_function(look_up, [places], tf.float32, stateful=False)
            return {**batch, TEACHER_VECTOR: tf.ensure_shape(found, [places.shape[0], self._width])}

        # They lie in a file, outside of the graph: a batch at a time is in memory.
        return ready_ahead(super()._make_dataset(state, context).map(add))

    def _teacher_files(self):
        # The teacher's vectors are mapped from their file.
        return [] if self.taught is None else [os.fspath(self.taught.kept.filename)]

    def _facts(self):
        return self._facts_of("texts")
