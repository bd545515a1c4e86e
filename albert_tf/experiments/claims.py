"""Statements of the paper about two rows, beside what an experiment finds of them."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from albert_tf.experiments.fields import as_entries, as_text
from albert_tf.runtime.errors import InputError

SAME, OTHER, WITHIN, NOT_HERE = "same sign", "other sign", "within the error", "not measured"
# A difference of less than so many standard errors is none.
ERRORS = 2.0
_KEYS = ("text", "rows", "measure", "column")


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement about two rows.

    Attributes:
        text: the statement.
        row, than: the rows that it compares.
        measure: what of ours answers it: an evaluation or a task's name.
        paper: the paper's difference, row less than.
    """

    text: str
    row: str
    than: str
    measure: str
    paper: float


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A claim and what was found.

    Attributes:
        claim: the statement.
        difference: of our means, row less than, in points of a hundred; None where a row has no figure.
        standard_error: of the difference; None with one seed.
        word: SAME, OTHER, WITHIN or NOT_HERE.
    """

    claim: Claim
    difference: float | None
    standard_error: float | None
    word: str

    def to_json(self) -> dict[str, Any]:
        """The verdict as JSON has it."""
        found = {"difference": self.difference, "standard_error": self.standard_error, "verdict": self.word}
        return {**dataclasses.asdict(self.claim), **found}


def read_claims(
    values: Any, columns: Sequence[str], figures: Mapping[str, Sequence[float | None]], where: str
) -> tuple[Claim, ...]:
    """The claims of an experiment's file, checked.

    Args:
        values: as the file has them.
        columns: the paper's.
        figures: the paper's, by row.
        where: the file and the key, for errors.

    Raises:
        InputError: one line that names the file and the key.
    """
    claims = []
    for here, entry in as_entries(values, "claims", _KEYS, _KEYS, where):
        rows, column = entry["rows"], entry["column"]
        if not isinstance(rows, list) or len(rows) != 2 or not all(isinstance(name, str) for name in rows):
            raise InputError(f"{here}: rows: the names of two rows were expected. Received {rows!r}.")
        if column not in columns:
            raise InputError(f"{here}: column: the paper's columns are {', '.join(columns)}. Received {column!r}.")
        found = [figures.get(name, [None] * len(columns))[list(columns).index(column)] for name in rows]
        if found[0] is None or found[1] is None:
            raise InputError(f"{here}: rows: the paper has no figure of {rows[0]} or of {rows[1]} in {column!r}")
        if found[0] == found[1]:
            raise InputError(
                f"{here}: rows: the paper has the same figure of {rows[0]} and {rows[1]} in {column!r}; "
                "a claim is about a difference"
            )
        text, measure = (as_text(entry[key], f"{here}: {key}") for key in ("text", "measure"))
        claims.append(Claim(text, rows[0], rows[1], measure, found[0] - found[1]))
    return tuple(claims)


def judge(claim: Claim, row: Sequence[float] | None, than: Sequence[float] | None) -> Verdict:
    """Compares a claim with what was found, seed by seed: rows share what a seed decides, such as a bad start.

    Args:
        claim: the statement.
        row: values of its first row by seed, shares of 1; None for a row without a figure.
        than: the same of its second row, of the same seeds.

    >>> claim = Claim("a is better than b", "a", "b", "masked_lm", 1.5)
    >>> judge(claim, (0.50, 0.53), (0.49, 0.52)).word, judge(claim, (0.50, 0.53), (0.51, 0.51)).word
    ('same sign', 'within the error')
    """
    if row is None or than is None:
        return Verdict(claim, None, None, NOT_HERE)
    differences = [100 * (ours - theirs) for ours, theirs in zip(row, than, strict=True)]
    difference = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else None
    if abs(difference) <= ERRORS * (error or 0.0):
        word = WITHIN
    else:
        word = SAME if difference * claim.paper > 0 else OTHER
    return Verdict(claim, difference, error, word)


def verdict_lines(verdicts: Sequence[Verdict]) -> list[list[str]]:
    """The verdicts as they are read: titles, then a line of texts for each."""
    lines = [["the paper", "by", "there", "here", ""]]
    for verdict in verdicts:
        claim, here = verdict.claim, ""
        if verdict.difference is not None:
            error = "" if verdict.standard_error is None else f" ± {verdict.standard_error:.1f}"
            here = f"{verdict.difference:+.1f}{error}"
        measure = claim.measure.replace("_", " ").replace(" lm", " LM")
        compared = f"{claim.text} ({claim.row} less {claim.than})"
        lines.append([compared, measure, f"{claim.paper:+.1f}", here, verdict.word])
    return lines
