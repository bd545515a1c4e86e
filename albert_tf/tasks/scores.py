"""Measures of predictions, by name; scikit-learn and scipy where they have them.

All are fractions of 1. A correlation with something constant is not defined; it counts as 0, no correlation at all,
so that the checkpoint of a model that always says the same never is the best one.
"""

import importlib.util
from collections.abc import Callable, Sequence

import numpy as np

from albert_tf.runtime.errors import InputError


def check_packages() -> None:
    """Raises InputError if a package is missing that scores need: before a long training, not after it."""
    for package, name in (("sklearn", "scikit-learn"), ("scipy", "scipy")):
        if importlib.util.find_spec(package) is None:
            raise _missing(name)


def _sklearn_metrics():
    try:
        from sklearn import metrics
    except ImportError:
        raise _missing("scikit-learn") from None
    return metrics


def _scipy_stats():
    try:
        from scipy import stats
    except ImportError:
        raise _missing("scipy") from None
    return stats


def _missing(package: str) -> InputError:
    return InputError(f"scores need {package}; install it with pip install 'albert_tf[finetuning]'")


def accuracy(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """The share of predictions that are right."""
    return float(_sklearn_metrics().accuracy_score(gold, predicted))


def f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """F1 of class 1 (MRPC and QQP: the two texts mean the same)."""
    return float(_sklearn_metrics().f1_score(gold, predicted, zero_division=0.0))


def macro_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """The mean of the F1 of the classes that occur."""
    return float(_sklearn_metrics().f1_score(gold, predicted, average="macro", zero_division=0.0))


def matthews_correlation(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """Matthews' correlation coefficient (CoLA)."""
    if len(set(gold)) < 2 or len(set(predicted)) < 2:
        return 0.0
    return float(_sklearn_metrics().matthews_corrcoef(gold, predicted))


def pearson(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """Pearson's correlation coefficient (STS-B)."""
    return _correlation(lambda: _scipy_stats().pearsonr, gold, predicted)


def spearman(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """Spearman's rank correlation coefficient (STS-B)."""
    return _correlation(lambda: _scipy_stats().spearmanr, gold, predicted)


def mean_squared_error(gold: Sequence[float], predicted: Sequence[float]) -> float:
    """The mean of the squared differences; smaller is better."""
    return float(np.mean((np.asarray(gold, np.float64) - np.asarray(predicted, np.float64)) ** 2))


def multi_label_scores(gold: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Scores of 0 or 1 for each class of each example.

    Args:
        gold, predicted: 0 or 1, [examples, classes].

    Returns:
        micro_f1 over all decisions, macro_f1 the mean over the classes, exact_match the share of examples with every
        class right.
    """
    gold, predicted = np.asarray(gold), np.asarray(predicted)
    exact_match = float(np.mean(np.all(gold == predicted, axis=1)))
    if gold.shape[1] == 1:
        # scikit-learn takes a single column for two classes, of which "not there" is one.
        return dict.fromkeys(("micro_f1", "macro_f1"), f1(gold[:, 0], predicted[:, 0])) | {"exact_match": exact_match}
    f1_score = _sklearn_metrics().f1_score
    return {
        "micro_f1": float(f1_score(gold, predicted, average="micro", zero_division=0.0)),
        "macro_f1": float(f1_score(gold, predicted, average="macro", zero_division=0.0)),
        "exact_match": exact_match,
    }


MULTI_LABEL_SCORES = ("micro_f1", "macro_f1", "exact_match")


def _correlation(measure: Callable, gold: Sequence[float], predicted: Sequence[float]) -> float:
    gold, predicted = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    if len(gold) < 2 or np.ptp(gold) == 0 or np.ptp(predicted) == 0:
        return 0.0
    return float(measure()(gold, predicted).statistic)


BY_NAME: dict[str, Callable[[Sequence, Sequence], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
    "matthews_correlation": matthews_correlation,
    "pearson": pearson,
    "spearman": spearman,
    "mean_squared_error": mean_squared_error,
}
