"""Probabilities from which on an example has a label, where it may have several: given, or the best on a dev split.

Shapes: N examples, C labels.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from albert_tf.runtime.errors import FlagError

# Of --label_threshold: one threshold for all labels, or one for each, are found on the dev split.
ONE, EACH = "one", "each"
USUAL_THRESHOLD = 0.5
# Of the scores: the threshold of all labels; of one of several it is followed by the label's name.
THRESHOLD_SCORE = "threshold"


def parse_thresholds(text: str | None, labels: Sequence[str]) -> tuple[float, ...] | None:
    """The thresholds of --label_threshold, one for each label; None where they are to be found.

    Raises:
        InputError: neither "one" nor "each", and not numbers between 0 and 1, one or as many as there are labels.
    """
    if text in (ONE, EACH):
        return None
    try:
        found = tuple(float(part) for part in (text or str(USUAL_THRESHOLD)).split(","))
    except ValueError:
        found = ()
    if len(found) == 1:
        found *= len(labels)
    if len(found) != len(labels) or not all(0 <= value <= 1 for value in found):
        raise FlagError(
            f"--label_threshold must be {ONE} or {EACH}, to be found on the dev split, or a number from 0 to 1, or one "
            f"for each of the {len(labels)} labels. Received {text!r}."
        )
    return found


def best_threshold(gold: np.ndarray, probabilities: np.ndarray) -> float:
    """The threshold with the highest F1: half-way between two probabilities; 0.5 where no decision is a yes.

    Args:
        gold: 0 or 1, of any shape.
        probabilities: of the same shape.
    """
    gold, probabilities = np.ravel(gold), np.ravel(probabilities)
    if not gold.any():
        return USUAL_THRESHOLD
    order = np.argsort(-probabilities, kind="stable")
    ranked, hits = probabilities[order], np.cumsum(gold[order])
    f1 = 2 * hits / (np.arange(1, len(gold) + 1) + gold.sum())
    # Equal probabilities are on one side of any threshold.
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0
    best = int(np.argmax(f1))
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)


def find_thresholds(text: str, gold: np.ndarray, probabilities: np.ndarray) -> tuple[float, ...]:
    """The best threshold of all labels together, by micro F1, or of each, by its own F1; one for each label.

    Args:
        text: "one" or "each".
        gold: 0 or 1 [N, C].
        probabilities: [N, C].
    """
    if text == ONE:
        return (best_threshold(gold, probabilities),) * gold.shape[1]
    return tuple(best_threshold(*columns) for columns in zip(gold.T, probabilities.T, strict=True))


def thresholds_to_scores(text: str, labels: Sequence[str], thresholds: Sequence[float]) -> dict[str, float]:
    """Thresholds that were found, as scores that a checkpoint's evaluation keeps."""
    if text == ONE:
        return {THRESHOLD_SCORE: thresholds[0]}
    return {f"{THRESHOLD_SCORE} {label}": value for label, value in zip(labels, thresholds, strict=True)}


def thresholds_of_scores(text: str, labels: Sequence[str], scores: Mapping[str, float]) -> tuple[float, ...] | None:
    """The inverse of thresholds_to_scores; None where the scores hold none."""
    names = [THRESHOLD_SCORE] * len(labels) if text == ONE else [f"{THRESHOLD_SCORE} {label}" for label in labels]
    if not all(isinstance(scores.get(name), int | float) for name in names):
        return None
    return tuple(float(scores[name]) for name in names)
