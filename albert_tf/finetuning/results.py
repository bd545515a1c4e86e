"""The results of a fine-tuning run: the score of each checkpoint, then scores and predictions of the best one."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from absl import logging

from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC, DEV_SET, write_evaluation
from albert_tf.checkpoints.depth_scores import write_depth_scores
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.finetuning.data import Split
from albert_tf.finetuning.depth_scores import score_depths, tell_of_depth_scores
from albert_tf.finetuning.evaluation import predict_split
from albert_tf.finetuning.stored_outputs import Outputs, save_outputs
from albert_tf.runtime import files
from albert_tf.tasks.tables import write_table
from albert_tf.tasks.task import Task

# Of a task's options, the threshold that the user gave in training.
_GIVEN_THRESHOLD = "null_score_diff_threshold"


@dataclasses.dataclass(frozen=True)
class Judged:
    """A checkpoint whose predictions for the first dev split are kept.

    Attributes:
        step: of the checkpoint.
        score: by the task's metric.
        predictions: of the split's examples.
        outputs: of the model, where they are kept for an ensemble; else None.
    """

    step: int
    score: float
    predictions: list[Any]
    outputs: Outputs | None


@dataclasses.dataclass(frozen=True)
class Chosen:
    """The checkpoint that is scored in the end; its weights are in the model.

    Attributes:
        path: its folder, or --init_checkpoint.
        task: what the checkpoint was fine-tuned for; None where it does not say.
        evaluation: the scores that lie with it, or None.
        step: None for --init_checkpoint.
    """

    path: str
    task: FinetunedTask | None
    evaluation: Mapping[str, Any] | None
    step: int | None = None


class FinetuningResults:
    """Scores, predictions and reports of one run.

    Args:
        run: run.FinetuningRun.
    """

    def __init__(self, run):
        self._run = run
        self._settings = run.settings
        self._task: Task = run.task
        self._data = run.data
        # The best checkpoint's so far: it need not be asked again at the end.
        self._best: Judged | None = None
        # Of the last split that was asked for.
        self._outputs: Outputs | None = None

    def evaluate(self, step: int) -> dict[str, Any]:
        """The scores of the model, whose checkpoint is that of a step, on the first dev split; a signal ends that."""
        split = self._data.dev_splits()[0]
        predictions = self._predict(split)
        scores = self._task.scores(split.examples, predictions)
        score = scores[self._task.metric]
        if self._best is None or score > self._best.score:
            self._best = Judged(step, score, predictions, self._outputs)
        return self._as_evaluation(scores, split)

    def write(self, chosen: Chosen) -> dict[str, Any]:
        """Scores the dev splits and predicts the test splits, as the settings say.

        Returns:
            the parts of results.json that come of it.
        """
        settings, task = self._settings, self._task
        results: dict[str, Any] = {}
        if settings.do_eval:
            results |= {"metric": task.metric, "scores": {}}
            for split in self._data.dev_splits():
                results["scores"][split.name] = self._score(split, chosen)
            self._note_scores(results["scores"], chosen)
            if settings.early_exit and self._run.model.exits.is_untrained:
                logging.warning(
                    "%s: its exits are not fitted yet, so they are not scored; training fits them at a checkpoint by "
                    "--save_checkpoints_steps",
                    chosen.path,
                )
            elif settings.early_exit or settings.score_layers:
                results["depth"] = self._score_depths(chosen)
        if settings.do_predict:
            if task.threshold_score is not None:
                results["threshold"], told, log = self._find_threshold(results.get("scores", {}), chosen)
                task = task.with_threshold(results["threshold"])
                values = results["threshold"]
                shown = f"{values:.4g}" if isinstance(values, float) else ", ".join(f"{value:.4g}" for value in values)
                log("test predictions: %s %s, %s", task.threshold_title, shown, told)
            results["predictions"] = []
            for name in self._data.names("test"):
                self._predict_test(task, self._data.split(name), results)
        return results

    def _score(self, split: Split, chosen: Chosen) -> dict[str, float]:
        """Evaluates a split, writes its predictions and what a person looks at."""
        predictions = self._predictions_of(split, chosen)
        scores = self._task.scores(split.examples, predictions)
        if self._run.cluster.is_chief:
            folder, task = self._settings.output_dir, self._task
            self._keep_outputs(split)
            if task.threshold_score is not None:
                task = task.with_threshold(task.threshold_in(scores))
            task.write_predictions(folder, split.name, split.examples, predictions)
            report = task.report(split.examples, predictions)
            path = os.path.join(folder, f"{split.name}_report.json")
            files.write_json(path, dict(report.values))
            for name, rows in report.tables.items():
                write_table(os.path.join(folder, f"{split.name}_{name}.tsv"), rows)
            logging.info("%s, %s (more in %s):\n%s", task.name, split.name, path, report.text)
        return scores

    def _predictions_of(self, split: Split, chosen: Chosen) -> list[Any]:
        """The predictions of the chosen checkpoint; those of its evaluation, if this process made it."""
        best = self._best
        if best is not None and best.step == chosen.step and split.name == self._data.dev_splits()[0].name:
            self._outputs = best.outputs
            return best.predictions
        return self._predict(split)

    def _find_threshold(self, scores: Mapping[str, Mapping[str, float]], chosen: Chosen) -> tuple[Any, str, Any]:
        """The threshold for test splits, never fitted to them: that of dev, else that of the checkpoint, else 0.

        Returns:
            (the threshold, where it comes from, how to log that).
        """
        task = self._task
        if scores:
            split, found = next(iter(scores.items()))
            return task.threshold_in(found), f"the best on {split}", logging.info
        given = (chosen.task.options if chosen.task is not None else {}).get(_GIVEN_THRESHOLD)
        if given is not None:
            return given, f"which {chosen.path} was trained with", logging.info
        stored = task.threshold_in(chosen.evaluation or {})
        if stored is not None:
            return stored, f"the best in the evaluation of {chosen.path}", logging.info
        if self._data.names("dev"):
            split = self._data.dev_splits()[0]
            found = task.scores(split.examples, self._predict(split))
            return task.threshold_in(found), f"the best on {split.name}", logging.info
        told = "for want of a better one: there is no dev split, and none lies with the checkpoint"
        return task.usual_threshold, told, logging.warning

    def _predict_test(self, task: Task, split: Split, results: dict[str, Any]) -> None:
        """Writes the predictions of a test split; where its labels are published, its scores are results too."""
        predictions = self._predict(split)
        if not self._run.cluster.is_chief:
            return
        folder = self._settings.output_dir
        self._keep_outputs(split)
        results["predictions"] += task.write_predictions(folder, split.name, split.examples, predictions)
        if task.scores_test(split.examples):
            results.setdefault("test_scores", {})[split.name] = task.scores(split.examples, predictions)

    def _predict(self, split: Split) -> list[Any]:
        run, settings = self._run, self._settings
        shape = self._data.batch_shape(settings.eval_batch_size)
        keep = {"keep": self._remember} if settings.ensemble else {}
        return predict_split(run.steps, self._task, split, shape, settings.task_settings, run.stop_if_asked, **keep)

    def _remember(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def _keep_outputs(self, split: Split) -> None:
        """Leaves the outputs for a split in the run's folder, where there is to be an ensemble."""
        if self._outputs is not None:
            save_outputs(self._settings.output_dir, split.name, self._outputs)

    def _note_scores(self, scores: Mapping[str, Mapping[str, float]], chosen: Chosen) -> None:
        """Leaves the scores with a checkpoint of this run that has none yet."""
        split = self._data.dev_splits()[0]
        is_own = chosen.path in self._run.checkpoints.all()
        if self._run.cluster.is_chief and is_own and chosen.evaluation is None:
            write_evaluation(chosen.path, self._as_evaluation(scores[split.name], split))

    def _score_depths(self, chosen: Chosen) -> dict[str, Any]:
        """Scores the first dev split by the layers that are computed; leaves that with a checkpoint of this run."""
        run = self._run
        scores = score_depths(run, self._data.dev_splits()[0])
        if run.cluster.is_chief:
            tell_of_depth_scores(scores, self._settings.output_dir)
            if chosen.path in run.checkpoints.all():
                write_depth_scores(chosen.path, scores)
        return scores

    def _as_evaluation(self, scores: Mapping[str, float], split: Split) -> dict[str, Any]:
        facts = {"num_examples": len(split.examples), BEST_METRIC: self._task.metric, DEV_SET: self._data.dev_digest}
        return {**{name: float(value) for name, value in scores.items()}, **facts}
