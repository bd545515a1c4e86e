"""One fine-tuning run, of one seed: training, the best checkpoint, its scores and predictions."""

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from absl import logging

from albert_tf import files
from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import copy_file
from albert_tf.errors import InputError
from albert_tf.evaluation.finetuning_evaluation import predict_split
from albert_tf.inputs.finetuning_dataset import make_training_dataset
from albert_tf.inputs.length_buckets import plan_training
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.layerwise import layerwise_factors
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.training import checkpoints
from albert_tf.training.cluster import Cluster
from albert_tf.training.finetuning_data import FinetuningData, Split
from albert_tf.training.finetuning_settings import FinetuningSettings
from albert_tf.training.finetuning_steps import FinetuningSteps
from albert_tf.training.matmul_peak import measure_matmul_peak
from albert_tf.training.memory import estimate_memory
from albert_tf.training.pretrained import initialise_finetuning
from albert_tf.training.reporting import RunFacts
from albert_tf.training.stop_signals import StopSignals
from albert_tf.training.training_run import TrainingRun

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
        self.config = config
        self.data = data
        self.task = data.task
        self.finetuned_task = data.finetuned_task()
        super().__init__(settings, strategy, cluster, signals)

    def run(self) -> dict[str, Any]:
        """Trains, evaluates and predicts, as the settings say.

        Returns:
            what RESULTS_NAME in output_dir holds.
        """
        settings = self.settings
        if settings.do_train:
            self._train()
        # The chief has written its last checkpoint before another worker looks for it, or leaves.
        self.agreement.mean(0.0)
        results: dict[str, Any] = {"task_name": self.task.name, "random_seed": settings.random_seed}
        if settings.do_eval and not settings.do_train:
            self._score_those_left_out()
        results |= self._load_best()
        if settings.do_eval:
            results |= {"metric": self.task.metric, "scores": {}}
            for split in self.data.dev_splits():
                results["scores"][split.name] = self._score(split)
            self._note_scores(results)
        if settings.do_predict:
            results["predictions"] = []
            for name in self.data.names("test"):
                self._predict_test(self.data.split(name), results)
        if self.cluster.is_chief:
            files.write_json(os.path.join(settings.output_dir, RESULTS_NAME), results)
        self.agreement.mean(0.0)
        return results

    def _score_those_left_out(self) -> None:
        """Scores the checkpoints of a training without --do_eval, so that the best is the best of all."""
        folders = self.checkpoints.all()
        left_out = [folder for folder in folders if checkpoints.read_evaluation(folder) is None]
        # No worker has begun to write a score before all have looked.
        self.agreement.mean(0.0)
        if len(folders) == 1:
            return
        for folder in left_out:
            checkpoints.load_model_weights(folder, self.model)
            found = self.evaluate()
            if self.cluster.is_chief:
                checkpoints.write_evaluation(folder, found)
                logging.info("%s: %s %.4f", folder, self.task.metric, found[self.task.metric])
        self.agreement.mean(0.0)

    def _note_scores(self, results: dict[str, Any]) -> None:
        """Leaves the scores with a checkpoint of this run that has none yet."""
        folder, split = results["checkpoint"], self.data.dev_splits()[0]
        is_own = folder in self.checkpoints.all()
        if self.cluster.is_chief and is_own and checkpoints.read_evaluation(folder) is None:
            checkpoints.write_evaluation(folder, self._as_evaluation(results["scores"][split.name], split))

    def _as_evaluation(self, scores: Mapping[str, float], split: Split) -> dict[str, Any]:
        facts = {"num_examples": len(split.examples), checkpoints.BEST_METRIC: self.task.metric}
        return {**{name: float(value) for name, value in scores.items()}, **facts}

    def _load_best(self) -> dict[str, Any]:
        """Puts the best checkpoint, else the newest, else --init_checkpoint into the model; says which."""
        found = self.checkpoints.best() or next(reversed(self.checkpoints.all()), None)
        if found is not None:
            checkpoints.load_model_weights(found, self.model)
            return {"checkpoint": found, "step": checkpoints.step_of(found)}
        path = self.settings.init_checkpoint
        if path is None:
            raise InputError(f"--output_dir: {self.settings.output_dir} holds no checkpoint, and no --init_checkpoint")
        known = initialise_finetuning(self.model, self.finetuned_task, path)
        if any(name.startswith(("classifier/", "span")) for name in self.model.load_report.missing):
            what = "was only pre-trained" if known.task is None else "was fine-tuned for another task"
            raise InputError(f"--init_checkpoint={path} {what}; give --do_train, or a checkpoint of {self.task.name}")
        return {"checkpoint": path}

    def _score(self, split: Split) -> dict[str, float]:
        """Evaluates a split, writes its predictions and what a person looks at."""
        predictions = self._predict(split)
        scores = self.task.scores(split.examples, predictions)
        if self.cluster.is_chief:
            folder = self.settings.output_dir
            self.task.write_predictions(folder, split.name, split.examples, predictions)
            report = self.task.report(split.examples, predictions)
            files.write_json(os.path.join(folder, f"{split.name}_report.json"), dict(report.values))
            logging.info("%s, %s:\n%s", self.task.name, split.name, report.text)
        return scores

    def _predict_test(self, split: Split, results: dict[str, Any]) -> None:
        """Writes the predictions of a test split; where its labels are published, its scores are results too."""
        predictions = self._predict(split)
        if not self.cluster.is_chief:
            return
        folder = self.settings.output_dir
        results["predictions"] += self.task.write_predictions(folder, split.name, split.examples, predictions)
        if self.task.scores_test(split.examples):
            results.setdefault("test_scores", {})[split.name] = self.task.scores(split.examples, predictions)

    def _predict(self, split: Split) -> list[Any]:
        shape = self.data.batch_shape(self.settings.eval_batch_size)
        return predict_split(self.steps, self.task, split, shape, self.settings.task_settings, self._stop_if_asked)

    def evaluate(self) -> dict[str, Any]:
        """Evaluates the model as it is on the first dev split; a signal ends that at once."""
        split = self.data.dev_splits()[0]
        scores = self.task.scores(split.examples, self._predict(split))
        return self._as_evaluation(scores, split)

    def ends_early(self, step):
        """Whether --early_stopping_patience evaluations in a row were no better than the best."""
        patience = self.settings.early_stopping_patience
        best = self.checkpoints.best()
        if not patience or best is None or step >= self._num_train_steps():
            return False
        since_best = -(-(step - checkpoints.step_of(best)) // self.settings.save_checkpoints_steps)
        if since_best < patience:
            return False
        logging.info("step %d: no better than %s for %d evaluations; the run ends here", step, best, since_best)
        return True

    def _num_train_steps(self):
        return self.settings.steps_for(len(self.data.training_split().features))

    def _make_schedule(self):
        settings = self.settings
        total = self._num_train_steps() if settings.do_train else 1
        return WarmupPolynomialDecay(
            settings.learning_rate,
            total,
            settings.warmup_for(total),
            settings.start_warmup_step,
            settings.poly_power,
        )

    def _make_model(self, dtype):
        settings, task = self.settings, self.finetuned_task
        return make_finetuning_model(
            self.config,
            task.head,
            task.num_labels,
            settings.classifier_dropout_prob,
            remat=settings.remat,
            constant_graph=settings.constant_graph,
            dtype=dtype,
        )

    def _make_optimizer(self):
        settings = self.settings
        factors = layerwise_factors(self.config, settings.layerwise_learning_rate_decay)
        return build_optimizer(settings.optimizer, self.schedule, factors)

    def _make_steps(self, **kwargs):
        # XLA compiles for shapes that are known; elsewhere one graph serves batches of every length.
        static = self.settings.jit_compile == "true" or isinstance(self.strategy, tf.distribute.TPUStrategy)
        return FinetuningSteps(
            self.strategy, self.model, self.task.head, self.optimizer, static_shapes=static, **kwargs
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
        copy_file(path, os.path.join(self.settings.output_dir, os.path.basename(path)))

    def _input_files(self):
        return self.task.input_files(self.data.training_split().name)

    def _state_facts(self):
        return {
            "vocabulary": self.data.vocabulary(),
            "sentence_task": "none",
            "task": self.finetuned_task.to_dict(),
        }

    def _initialise(self, path) -> Mapping[str, Any] | None:
        return initialise_finetuning(
            self.model, self.finetuned_task, path, self.settings.allow_missing_heads
        ).vocabulary

    def _facts(self):
        """Measures the matrix-product peak too, for about half a second."""
        settings = self.settings
        return RunFacts(
            num_train_steps=self._num_train_steps(),
            examples_per_step=settings.train_batch_size,
            tokens_per_step=0,
            examples_per_epoch=len(self.data.training_split().features),
            matmul_peak=measure_matmul_peak(self.strategy, settings.precision),
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
