"""Reading of the span heads' outputs: the best answers to each question, and the odds that there is none.

The rules are those of the official squad_utils.py: starts only where the window is the one with the most context, ends
not before starts, no more pieces than max_answer_length, each text once, sorted by the sum of start and end.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from albert_tf.inputs.finetuning_features import Feature
from albert_tf.tasks.squad_examples import SquadExample
from albert_tf.tasks.squad_windows import MAX_CONTEXT, TEXT_ENDS, TEXT_STARTS
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import softmax

# Score of the empty answer that stands where no span is allowed (squad_utils.py).
_NO_SPAN = -1e6


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One answer.

    Attributes:
        text: of the paragraph; "" for no answer.
        start_score, end_score: logits, or log-probabilities of the beam head.
        start, end: its characters in the paragraph, [start, end).
        probability: its share among the candidates listed.
    """

    text: str
    start_score: float
    end_score: float
    start: int = 0
    end: int = 0
    probability: float = 0.0

    @property
    def score(self) -> float:
        """The number by which candidates are compared."""
        return self.start_score + self.end_score


@dataclasses.dataclass(frozen=True)
class SquadPrediction:
    """The model's answers to a question.

    Attributes:
        best: the best answer with text; empty only if no span was allowed.
        candidates: the n best, `best` among them; with the plain head on v2.0 also the empty answer.
        null_odds: the higher, the less likely is an answer; None on v1.1.
    """

    best: Candidate
    candidates: tuple[Candidate, ...]
    null_odds: float | None = None


def best_answers(
    examples: Sequence[SquadExample],
    features: Sequence[Feature],
    outputs: Mapping[str, Sequence[np.ndarray]],
    settings: TaskSettings,
    is_beam: bool,
    with_impossible: bool,
) -> list[SquadPrediction]:
    """The predictions of all questions.

    Args:
        examples, features, outputs, settings: as in Task.predictions.
        is_beam: whether the outputs are those of the beam head.
        with_impossible: whether a question may have no answer.
    """
    features_of: list[list[int]] = [[] for _ in examples]
    parts = [features[number] for number in range(len(features))]
    for number, feature in enumerate(parts):
        features_of[feature.example].append(number)
    find = _beam_spans if is_beam else _spans
    predictions = []
    for example, numbers in zip(examples, features_of):
        spans = [span for number in numbers for span in find(parts[number], outputs, number, settings)]
        null = None
        if with_impossible:
            scores = [_null_scores(outputs, number, is_beam) for number in numbers]
            null = min(scores, key=sum)
        predictions.append(_prediction(example, spans, null, is_beam, settings))
    return predictions


def _prediction(example: SquadExample, spans, null, is_beam: bool, settings: TaskSettings) -> SquadPrediction:
    """The candidates of a question, from the spans of all its windows."""
    candidates, seen = [], set()
    for start_score, end_score, start, end in sorted(spans, key=lambda span: -(span[0] + span[1])):
        text = example.context[start:end].strip()
        if text and text not in seen:
            seen.add(text)
            candidates.append(Candidate(text, start_score, end_score, start, end))
        if len(candidates) == settings.n_best_size:
            break
    best_score = candidates[0].score if candidates else 2 * _NO_SPAN
    null_odds = None
    if null is not None:
        null_odds = float(null[0]) if is_beam else float(sum(null) - best_score)
        if not is_beam:
            candidates = [*candidates[: max(1, settings.n_best_size - 1)], Candidate("", *map(float, null))]
            candidates.sort(key=lambda candidate: -candidate.score)
    candidates = candidates or [Candidate("", _NO_SPAN, _NO_SPAN)]
    shares = softmax(np.array([candidate.score for candidate in candidates]))
    candidates = [dataclasses.replace(c, probability=float(share)) for c, share in zip(candidates, shares)]
    best = next((candidate for candidate in candidates if candidate.text), candidates[0])
    return SquadPrediction(best, tuple(candidates), null_odds)


def _null_scores(outputs, number: int, is_beam: bool) -> tuple[float, float]:
    """Scores of a window for "no answer": the answerability, or the logits at [CLS] for start and end."""
    if is_beam:
        return float(np.reshape(outputs["answerability_logits"][number], ())), 0.0
    return float(outputs["start_logits"][number][0]), float(outputs["end_logits"][number][0])


def _spans(feature: Feature, outputs, number: int, settings: TaskSettings) -> Iterator[tuple]:
    """(start score, end score, start, end) of the allowed spans between the best starts and the best ends."""
    length = len(feature.input_ids)
    is_context = _is_context(feature)
    can_start = is_context & (np.asarray(feature.notes[MAX_CONTEXT]) > 0)
    start_logits = np.asarray(outputs["start_logits"][number], np.float64)[:length]
    end_logits = np.asarray(outputs["end_logits"][number], np.float64)[:length]
    starts = _top(start_logits, can_start, settings.n_best_size)
    ends = _top(end_logits, is_context, settings.n_best_size)
    sizes = ends[None, :] - starts[:, None] + 1
    for i, j in np.argwhere((sizes >= 1) & (sizes <= settings.max_answer_length)):
        yield _span(feature, start_logits[starts[i]], end_logits[ends[j]], starts[i], ends[j])


def _beam_spans(feature: Feature, outputs, number: int, settings: TaskSettings) -> Iterator[tuple]:
    """The same of the beam head, which has chosen starts, and ends for each of them, already."""
    length, is_context = len(feature.input_ids), _is_context(feature)
    can_start = is_context & (np.asarray(feature.notes[MAX_CONTEXT]) > 0)
    starts, ends = np.asarray(outputs["start_top_index"][number]), np.asarray(outputs["end_top_index"][number])
    start_scores = np.asarray(outputs["start_top_log_probs"][number], np.float64)
    end_scores = np.asarray(outputs["end_top_log_probs"][number], np.float64)
    for i, j in np.ndindex(ends.shape):
        start, end = int(starts[i]), int(ends[i, j])
        in_order = start <= end < min(length, start + settings.max_answer_length)
        if in_order and can_start[start] and is_context[end]:
            yield _span(feature, start_scores[i], end_scores[i, j], start, end)


def _is_context(feature: Feature) -> np.ndarray:
    """Marks the positions that are pieces of the paragraph: those an answer may be at, without [CLS]."""
    is_context = np.asarray(feature.p_mask) == 0
    is_context[0] = False
    return is_context


def _top(logits: np.ndarray, allowed: np.ndarray, count: int) -> np.ndarray:
    """The allowed positions with the highest logits, highest first."""
    places = np.flatnonzero(allowed)
    return places[np.argsort(-logits[places], kind="stable")[:count]]


def _span(feature: Feature, start_score: float, end_score: float, start: int, end: int) -> tuple:
    texts = int(feature.notes[TEXT_STARTS][start]), int(feature.notes[TEXT_ENDS][end])
    return float(start_score), float(end_score), *texts
