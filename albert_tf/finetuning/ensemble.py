"""Several runs as one model: the mean of their probabilities, scored and written like a run's own predictions."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.checkpoints.run_checkpoints import CheckpointFolder
from albert_tf.finetuning.data import FinetuningData
from albert_tf.finetuning.results import Chosen, FinetuningResults
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.stored_outputs import OUTPUTS_SUFFIX, Outputs, load_outputs
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError
from albert_tf.tasks.task import Task
from albert_tf.tasks.text_classification import sigmoid, softmax
from albert_tf.tasks.text_windows import CUT
from albert_tf.training.cluster import Cluster

# Heads that say of each class by itself how probable it is.
_OF_EACH_CLASS = ("multi_label", SPAN_CATEGORIES)
# The smallest probability whose logarithm is taken.
_LEAST = 1e-30


def check_ensemble(settings: FinetuningSettings, task: Task) -> None:
    """Refuses an ensemble of one run, of outputs that have no mean, or with nothing to score.

    Raises:
        FlagError: it is one of these.
    """
    if not settings.ensemble:
        return
    if settings.num_runs == 1:
        raise FlagError("--ensemble is of several runs; give --num_seeds, --num_folds or several rates")
    if task.head == "span_beam":
        raise FlagError("--ensemble: the beams of several runs have no mean; give --nobeam")
    if getattr(task, "long_texts", CUT) != CUT:
        # The mean over runs of the means over windows is not the mean over windows of the means over runs.
        raise FlagError("--ensemble takes the mean of whole texts' outputs; it goes with --long_texts=cut")
    if settings.num_folds > 1 and not settings.do_predict:
        raise FlagError("--ensemble with --num_folds predicts test splits; give --do_predict")
    if not (settings.do_eval or settings.do_predict):
        raise FlagError("--ensemble scores and predicts; give --do_eval, --do_predict or both")
    if task.threshold_score is not None and not settings.do_eval:
        raise FlagError(f"--ensemble of {task.name} has a threshold of its own, found by --do_eval; give it")


def mean_outputs(head: str, members: Sequence[Outputs]) -> Outputs:
    """The outputs of a model whose probabilities are the means of those of several models.

    Args:
        head: one of inputs.finetuning_features.HEADS, other than span_beam.
        members: the outputs of each, for the same features; rows of single positions may be padded to lengths that
            differ.
    """
    return {
        name: [_mean(head, [member[name][row] for member in members]) for row in range(len(members[0][name]))]
        for name in members[0]
    }


def _mean(head: str, rows: Sequence[np.ndarray]) -> np.ndarray:
    shortest = min(len(row) for row in rows)
    stacked = np.stack([np.asarray(row[:shortest], np.float64) for row in rows])
    if head == "regression":
        return stacked.mean(axis=0)
    if head in _OF_EACH_CLASS:
        mean = np.clip(sigmoid(stacked).mean(axis=0), _LEAST, 1 - 1e-15)
        return np.log(mean) - np.log1p(-mean)
    return np.log(np.maximum(softmax(stacked).mean(axis=0), _LEAST))


@dataclasses.dataclass(frozen=True)
class _Members:
    """The part of a run that FinetuningResults asks for, of the runs of an ensemble."""

    settings: FinetuningSettings
    task: Task
    data: FinetuningData
    cluster: Cluster
    checkpoints: CheckpointFolder
    folders: Sequence[str]


class _EnsembleResults(FinetuningResults):
    """Scores and predictions of the mean of several runs."""

    def _predict(self, split):
        members = [load_outputs(folder, split.name) for folder in self._run.folders]
        outputs = mean_outputs(self._task.head, members)
        return self._task.predictions(split.examples, split.features, outputs, self._settings.task_settings)


def score_ensemble(
    settings: FinetuningSettings, data: FinetuningData, cluster: Cluster, folders: Sequence[str]
) -> dict[str, Any]:
    """Scores the dev splits by the mean of runs that left their outputs, and predicts the test splits by it.

    Of folds each has a dev split of its own, so there is none to score.

    Args:
        settings: of the command, in whose output_dir the predictions go.
        data: shared by the runs.
        cluster: the workers; only the chief writes.
        folders: of the runs.

    Returns:
        {"scores", "threshold", "predictions"}, as far as there are such: see FinetuningResults.write.
    """
    # A mean of models has no layers of its own.
    names = ("early_exit", "exit_training", "exit_pooling", "exit_rate_factor", "exit_tolerance")
    usual = {name: getattr(FinetuningSettings, name) for name in names}
    settings = dataclasses.replace(settings, **usual, score_layers=False)
    if settings.num_folds > 1:
        settings = dataclasses.replace(settings, do_eval=False, num_folds=1, early_stopping_patience=0)
    run = _Members(settings, data.task, data, cluster, CheckpointFolder(settings.output_dir), folders)
    return _EnsembleResults(run).write(Chosen(settings.output_dir, None, None))


def has_outputs(folder: str) -> bool:
    """Tells whether a run left outputs for an ensemble."""
    return any(name.endswith(OUTPUTS_SUFFIX) for name in files.list_folder(folder))
