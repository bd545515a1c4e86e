"""Exits fitted to a model as it is, by ridge regression, in place of being trained with it.

After the first layers what exits read is nearly the same for all texts, the pooled [CLS] more than the mean, and what
tells them apart is small beside it: gradients take thousands of steps to find it, and upset the model by the large
weights that read it.

Shapes: N texts, L layers, H hidden, C classes.
"""

from typing import Any

import numpy as np
from absl import logging

from albert_tf.finetuning.evaluation import predict_features
from albert_tf.finetuning.selection import choose_examples
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, FEATURE_INDEX
from albert_tf.inputs.finetuning_features import LABEL_IDS

# More texts make little difference, and every one of them goes through the model once.
_MOST_TEXTS = 2048
# Of the regression, as a share of the variance of each of its inputs.
_RIDGE = 0.1
_VECTORS = "vectors"


def fit_exits(run: Any) -> None:
    """Gives the exits of a run's model the weights by which its layers, as they are now, best tell the labels.

    Args:
        run: run.FinetuningRun, whose model has exits.
    """
    features = run.training_features()
    chosen = choose_examples(len(np.unique(features.examples)), _MOST_TEXTS)
    features = features if chosen is None else features.select(chosen)
    steps = _VectorSteps(run.strategy, run.model, run.task.head, static_shapes=run.steps.static_shapes)
    shape = run.data.batch_shape(run.settings.eval_batch_size)
    vectors = np.stack(predict_features(steps, features, shape)[_VECTORS])
    targets, scale = exit_targets(features.columns[LABEL_IDS].values, run.task.head, run.finetuned_task.num_labels)
    for number, head in enumerate(run.model.exits.heads):
        kernel, bias = fit_linear(vectors[:, number], targets)
        head.kernel.assign(scale * kernel)
        head.bias.assign(scale * bias)
    logging.info("the exits are fitted to %s training examples", f"{len(features):,}")


class _VectorSteps(FinetuningSteps):
    """Steps whose predictions are what the exits read: {"vectors": float32 [B, L - 1, H]}."""

    def _predict_share(self, batch):
        vectors = self.model.read_by_exits(batch)
        return {_VECTORS: vectors, **{name: batch[name] for name in (FEATURE_INDEX, EXAMPLE_WEIGHT)}}


def exit_targets(labels: np.ndarray, head: str, num_labels: int) -> tuple[np.ndarray, float]:
    """The numbers to fit, float64 [N, C], and what makes logits of them.

    Near to equal chances a logit differs from the mean of all by the number of classes times the probability's
    difference; of a label that is there or not, 1 or -1, by twice.

    Args:
        labels: of all texts, one after another.
        head: one of heads.exits.EXIT_HEADS.
        num_labels: C.
    """
    if head == "regression":
        return labels.reshape(-1, 1).astype(np.float64), 1.0
    if head == "multi_label":
        return 2.0 * labels.reshape(-1, num_labels) - 1.0, 2.0
    return np.eye(num_labels)[labels.astype(np.int64)], float(num_labels)


def fit_linear(x: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kernel [H, C] and bias [C] of least squares, with inputs of one variance and a small penalty on weights.

    Args:
        x: float [N, H].
        targets: float [N, C].
    """
    x = x.astype(np.float64)
    mean, spread, middle = x.mean(axis=0), x.std(axis=0) + 1e-6, targets.mean(axis=0)
    scaled = (x - mean) / spread
    penalty = _RIDGE * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ (targets - middle)) / spread[:, None]
    return weights.astype(np.float32), (middle - mean @ weights).astype(np.float32)
