"""Exact match and F1 by the rules of the public evaluation scripts of SQuAD v1.1 and v2.0."""

import collections
import re
import string
from collections.abc import Mapping, Sequence

from albert_tf.tasks.squad_examples import SquadExample

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower-cases, drops ASCII punctuation, then the articles a, an, the, then extra white space."""
    text = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(predicted: str, gold: str) -> float:
    """1 if both are the same after normalisation, else 0."""
    return float(normalize_answer(predicted) == normalize_answer(gold))


def f1(predicted: str, gold: str) -> float:
    """F1 of the words that both have in common; 0 if neither has any, as the v1.1 script has it."""
    predicted_words, gold_words = normalize_answer(predicted).split(), normalize_answer(gold).split()
    if not predicted_words or not gold_words:
        return 0.0
    common = sum((collections.Counter(predicted_words) & collections.Counter(gold_words)).values())
    return 2.0 * common / (len(predicted_words) + len(gold_words))


def f1_or_both_empty(predicted: str, gold: str) -> float:
    """The same; but 1 if neither has any words, as the v2.0 script has it."""
    return 1.0 if not normalize_answer(predicted) and not normalize_answer(gold) else f1(predicted, gold)


def gold_texts(example: SquadExample, with_impossible: bool) -> list[str]:
    """The answers that count as right; on v2.0 only those with text after normalisation, or "" if there are none."""
    texts = [answer.text for answer in example.answers]
    return ([text for text in texts if normalize_answer(text)] or [""]) if with_impossible else texts


def raw_scores(examples: Sequence[SquadExample], texts: Sequence[str], with_impossible: bool) -> dict[str, list[float]]:
    """Exact match and F1 of every question with the gold answer that fits best.

    Args:
        examples: the questions.
        texts: the answer to each.
        with_impossible: score by the rules of v2.0, else by those of v1.1; they differ where nothing is left of an
            answer after normalisation.
    """
    golds = [gold_texts(example, with_impossible) for example in examples]
    measures = {"exact": exact_match, "f1": f1_or_both_empty if with_impossible else f1}
    return {
        name: [max(measure(text, gold) for gold in several) for text, several in zip(texts, golds)]
        for name, measure in measures.items()
    }


def best_threshold(
    scores: Sequence[float], texts: Sequence[str], has_answer: Sequence[bool], null_odds: Sequence[float]
) -> tuple[float, float]:
    """The threshold of null_odds above which "no answer" is said, so that the mean score is highest.

    As find_best_thresh of the v2.0 script: questions are answered one by one, those with the lowest odds first. An
    answer to a question with an answer adds its score; one to a question without takes away the point for silence.

    Args:
        scores: exact match or F1 of the answer with text, of every question.
        texts: these answers.
        has_answer: whether there is one in truth.
        null_odds: of every question.

    Returns:
        (mean score, threshold).
    """
    score = best = float(sum(not has for has in has_answer))
    # Silence on every question: 0 in the script, whose odds are probabilities.
    threshold = min(0.0, min(null_odds) - 1.0)
    for place in sorted(range(len(scores)), key=null_odds.__getitem__):
        if has_answer[place]:
            score += scores[place]
        else:
            score -= bool(texts[place])
        if score > best:
            best, threshold = score, null_odds[place]
    return best / len(scores), threshold


def means_by_kind(scores: Mapping[str, Sequence[float]], has_answer: Sequence[bool]) -> dict[str, float]:
    """The mean of each score over all questions and, as HasAns_ and NoAns_, over those with and without an answer."""
    found = {}
    for name, values in scores.items():
        kinds = {"": values}
        if not all(has_answer):
            kinds["HasAns_"] = [value for value, has in zip(values, has_answer) if has]
            kinds["NoAns_"] = [value for value, has in zip(values, has_answer) if not has]
        found |= {kind + name: sum(part) / len(part) for kind, part in kinds.items() if part}
    return found
