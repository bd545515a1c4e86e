"""A training of vectors whose inputs were found good: model, objective, batches, the scores of its checkpoints."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC, DEV_SET, read_evaluation, write_evaluation
from albert_tf.config import AlbertConfig
from albert_tf.conversion.pretrained import initialise_encoder
from albert_tf.embedding.features import EmbeddingData
from albert_tf.embedding.objectives import Objective
from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.embedding.steps import EmbeddingSteps
from albert_tf.finetuning.evaluation import predict_features
from albert_tf.finetuning.model_source import warn_of_own_checkpoint
from albert_tf.heads.pooling import Pooling
from albert_tf.models.text_vectors import EMBEDDING, AlbertForEmbedding
from albert_tf.runtime import files
from albert_tf.runtime.errors import DamagedError, InputError
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING
from albert_tf.training.cluster import Cluster
from albert_tf.training.feature_run import FeatureRun
from albert_tf.training.stop_signals import StopSignals

RESULTS_NAME = "results.json"


class EmbeddingRun(FeatureRun):
    """A run whose inputs were found good.

    Args:
        settings: the flags.
        config: the model's.
        pooling: how a text becomes one vector, and where it is cut.
        objective: what is learned.
        data: the texts.
        strategy, cluster, signals: see TrainingRun.
    """

    FLAGS_NAME = "train_embeddings.flags"

    def __init__(
        self,
        settings: EmbeddingSettings,
        config: AlbertConfig,
        pooling: Pooling,
        objective: Objective,
        data: EmbeddingData,
        strategy,
        cluster: Cluster,
        signals: StopSignals,
    ):
        check_own_checkpoints(settings.output_dir, pooling)
        self.config, self.pooling, self.objective, self.data = config, pooling, objective, data
        self.passes = objective.passes
        if settings.do_train:
            number = len(data.train_features)
            settings = dataclasses.replace(settings, save_checkpoints_steps=settings.saving_for(number))
        super().__init__(settings, strategy, cluster, signals)

    def run(self) -> dict[str, Any]:
        """Trains and evaluates, as the settings say.

        Returns:
            what RESULTS_NAME in output_dir holds.
        """
        settings = self.settings
        if settings.do_eval:
            self._judge_again()
        if settings.do_train:
            self._train()
        # The chief has written its last checkpoint before another worker looks for it, or leaves.
        self.agreement.mean(0.0)
        path, evaluation = self._load_best()
        if settings.do_train and not settings.do_eval and evaluation is not None:
            newest = self.checkpoints.all()[-1]
            if newest != path:
                logging.warning(
                    "%s is not evaluated; %s, the best of those that are, stays the one in use: --do_eval judges both",
                    *(newest, path),
                )
        results: dict[str, Any] = {"checkpoint": path, "random_seed": settings.random_seed}
        if settings.do_eval:
            if evaluation is None or evaluation.get(DEV_SET) != self.data.dev.digest or not settings.do_train:
                evaluation = self.evaluate()
            results |= {"metric": self.data.dev.metric, "scores": {"dev": _numbers(evaluation)}}
        if self.cluster.is_chief:
            files.make_folder(settings.output_dir)
            files.write_json(os.path.join(settings.output_dir, RESULTS_NAME), results)
        self.agreement.mean(0.0)
        return results

    def _judge_again(self) -> None:
        """Judges by this dev set the checkpoints that were judged by another, so that all are compared by one."""
        known = {folder: read_evaluation(folder) for folder in self.checkpoints.all()}
        others = [folder for folder, found in known.items() if found and found.get(DEV_SET) != self.data.dev.digest]
        # No worker has begun to write before all have looked.
        self.agreement.mean(0.0)
        for folder in others:
            try:
                run_checkpoints.load_model_weights(folder, self.model)
            except DamagedError as error:
                logging.warning("%s keeps its scores of another dev set: %s", folder, error)
                continue
            found = self.evaluate()
            if self.cluster.is_chief:
                write_evaluation(folder, found)
                logging.info("%s: %s %.4f by this dev set", folder, self.data.dev.metric, found[self.data.dev.metric])
        self.agreement.mean(0.0)

    def _load_best(self) -> tuple[str, Mapping[str, Any] | None]:
        """Puts the best checkpoint, else the newest, else --init_checkpoint into the model.

        Returns:
            (its path, its evaluation if it has one).
        """
        found = self.checkpoints.choose(self._load)
        if found is not None:
            warn_of_own_checkpoint(self.settings, found)
            return found, read_evaluation(found)
        path = self.settings.init_checkpoint
        if path is None:
            raise InputError(f"--output_dir: {self.settings.output_dir} holds no checkpoint, and no --init_checkpoint")
        known = initialise_encoder(self.model, path, self.settings.allow_missing_heads)
        self.check_vocabulary(known.vocabulary, os.fspath(path))
        return os.fspath(path), None

    def _load(self, folder: str) -> str:
        run_checkpoints.load_model_weights(folder, self.model)
        return folder

    def evaluate(self) -> dict[str, Any]:
        """Judges the vectors of the model as it is; a signal ends that at once."""
        dev, shape = self.data.dev, self.data.batch_shape(self.settings.eval_batch_size)
        found = predict_features(self.steps, self.data.dev_features, shape, self.stop_if_asked)[EMBEDDING]
        scores = dev.judge(np.concatenate(found))
        return {**scores, "num_examples": len(dev.pairs), BEST_METRIC: dev.metric, DEV_SET: dev.digest}

    def training_features(self):
        return self.data.train_features

    def batch_shape(self, batch_size):
        return self.data.batch_shape(batch_size)

    def _make_model(self, dtype):
        settings = self.settings
        return AlbertForEmbedding(
            self.config,
            self.pooling.mode,
            self.pooling.normalize,
            self.pooling.dense,
            remat=settings.remat,
            constant_graph=settings.constant_graph,
            dtype=dtype,
        )

    def _make_steps(self, **kwargs):
        return EmbeddingSteps(
            *(self.strategy, self.model, self.objective, self.optimizer),
            static_shapes=self._has_static_shapes(),
            **kwargs,
        )

    def _input_files(self):
        return [self.settings.train_file]

    def _state_facts(self):
        tokenizer = self.data.tokenizer
        vocabulary = tokenizer.describe()
        if tokenizer.cleaning != OFFICIAL_CLEANING:
            vocabulary["cleaning"] = dataclasses.asdict(tokenizer.cleaning)
        return {
            "vocabulary": vocabulary,
            "sentence_task": "none",
            "pooling": self.pooling.with_length(),
        }

    def _initialise(self, path) -> Mapping[str, Any] | None:
        return initialise_encoder(self.model, path, self.settings.allow_missing_heads).vocabulary

    def _facts(self):
        return self._facts_of("rows")


def check_own_checkpoints(output_dir: str, pooling: Pooling, any_dense: bool = False) -> None:
    """Refuses an output_dir in which something else was trained, or vectors that are made in a different way.

    Args:
        output_dir: of the run.
        pooling: how it makes vectors.
        any_dense: whether the dense layer of its checkpoints may be any, since that of the run is not known yet.
    """
    known = newest_pooling(output_dir)
    if known is not None and any_dense:
        known = dataclasses.replace(known, dense=pooling.dense)
    if known not in (None, pooling):
        raise InputError(
            f"--output_dir={output_dir} holds vectors of {_described(known)}, this run is of "
            f"{_described(pooling)}; name another folder, or give the same flags"
        )


def newest_pooling(output_dir: str) -> Pooling | None:
    """The way to vectors of the run in a folder, by its newest sound checkpoint; None where there is none.

    Raises:
        InputError: it trained no vectors.
    """
    for folder in reversed(run_checkpoints.CheckpointFolder(output_dir).all()):
        try:
            known = run_checkpoints.read_state(folder).kept_pooling(folder)
        except InputError:
            # A damaged one is passed over when the run is restored.
            continue
        if known is None:
            raise InputError(
                f"--output_dir={output_dir} holds a run that trained no vectors; name another folder, and give this "
                "one as --init_checkpoint to start from it"
            )
        return known
    return None


def _described(pooling: Pooling) -> str:
    return f"{pooling}, of at most {pooling.max_seq_length} pieces"


def _numbers(evaluation: Mapping[str, Any]) -> dict[str, float]:
    left_out = ("num_examples", BEST_METRIC, DEV_SET)
    return {name: value for name, value in evaluation.items() if name not in left_out}
