"""Signs of a run that is stuck in the figures of a report: the rules, and what to say. Needs no framework."""

import dataclasses
from collections.abc import Callable, Mapping

from albert_tf.records.names import NONE

# Calibrated on the runs in docs/training.md, "My loss is stuck at 7".
PLATEAU_MARGIN = 0.15  # nats
ONE_VECTOR = 0.98
LOOKS_NOWHERE = 0.98
MOST_SATURATED, CHANCE = 0.2, 0.53
# No run has learned from context before; what holds then is no sign of anything.
FEWEST_STEPS = 200


@dataclasses.dataclass(frozen=True)
class Sign:
    """Something in the figures of a report that a person should know of.

    Attributes:
        figure: the figure without which nothing can be said.
        holds: whether it holds, by all figures of the report.
        text: what to say, with the figures' names in braces.
    """

    figure: str
    holds: Callable[[Mapping[str, float]], bool]
    text: str


def _on_plateau(figures: Mapping[str, float]) -> bool:
    return figures["masked_lm_loss"] > figures["unigram_loss"] - PLATEAU_MARGIN


def _saturated(figures: Mapping[str, float]) -> bool:
    at_chance = figures.get("sentence_order_accuracy", 1.0) < CHANCE
    return at_chance and figures["pooler_saturation"] > MOST_SATURATED


SIGNS = (
    Sign(
        "unigram_loss",
        _on_plateau,
        "masked_lm_loss {masked_lm_loss:.2f} is no better than answering by how frequent pieces are (unigram_loss "
        "{unigram_loss:.2f}): nothing is learned from context yet. Small models leave this plateau after some 1,000 "
        "steps; if this one does not, try a lower --learning_rate, a longer warm-up, or --optimizer=muon "
        "(docs/training.md)",
    ),
    Sign(
        "position_similarity",
        lambda figures: figures["position_similarity"] > ONE_VECTOR,
        "position_similarity {position_similarity:.3f}: all positions of a text have nearly the same vector, so the "
        "model cannot tell them apart. Start anew with a lower --learning_rate, a longer warm-up, or "
        "--optimizer=muon (docs/training.md)",
    ),
    Sign(
        "attention_entropy",
        lambda figures: figures["attention_entropy"] > LOOKS_NOWHERE,
        "attention_entropy {attention_entropy:.3f}: attention takes the mean of all positions and looks at none in "
        "particular. If it stays so, try --optimizer=muon, a larger initializer_range, or shorter sequences first "
        "(docs/training.md)",
    ),
    Sign(
        "pooler_saturation",
        _saturated,
        "pooler_saturation {pooler_saturation:.2f}: this share of the pooler's outputs stands at -1 or 1, where it "
        "hardly learns, and the sentence task is at chance. If it stays so, start anew with --sentence_head_rate=0.1 "
        "(docs/training.md)",
    ),
)


def signs_for(sentence_task: str) -> tuple[Sign, ...]:
    """The signs that a run of this sentence task can show; without one the pooler is not trained, whatever it gives."""
    return tuple(sign for sign in SIGNS if sign.figure != "pooler_saturation" or sentence_task != NONE)
