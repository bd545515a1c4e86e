"""The parts that a page is put together of. All text in them is plain: the templates escape it."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from albert_tf.reports.charts import Chart
from albert_tf.reports.dot_panels import Panel


@dataclasses.dataclass(frozen=True)
class Figure:
    """A number that matters, with its name and, small, what to know of it."""

    name: str
    value: str
    remark: str = ""


@dataclasses.dataclass(frozen=True)
class Notes:
    """Sentences, one below the other; as a warning, or quiet."""

    kind: ClassVar[str] = "notes"
    texts: Sequence[str]
    is_warning: bool = False


@dataclasses.dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        columns: their titles.
        rows: cells as they are to be read.
        title: above it.
        words: how many columns from the left hold words; the others hold numbers, which stand to the right.
        note: below it.
        is_folded: whether only the title is seen until somebody opens it.
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1
    note: str = ""
    is_folded: bool = False


@dataclasses.dataclass(frozen=True)
class Matrix:
    """A confusion matrix: a row for each true class, its counts by predicted class, the share of each in its row."""

    kind: ClassVar[str] = "matrix"
    labels: Sequence[str]
    counts: Sequence[Sequence[int]]
    shares: Sequence[Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Code:
    """Lines of a shell, of which only the title is seen until somebody opens them."""

    kind: ClassVar[str] = "code"
    title: str
    text: str


@dataclasses.dataclass(frozen=True)
class Entry:
    """A text or several, and what is to be known of it: (name, value)."""

    texts: Sequence[str]
    facts: Sequence[tuple[str, str]]


class Guess(NamedTuple):
    """A piece in place of a mask: itself, its probability, and whether it stood there."""

    piece: str
    probability: float
    is_right: bool


@dataclasses.dataclass(frozen=True)
class Mask:
    """A mask of a text: the piece that stood there, "" if unknown, and what the model would put there."""

    truth: str
    guesses: Sequence[Guess]


@dataclasses.dataclass(frozen=True)
class Sample:
    """A text with masks: what stands before, between and after them, and the masks."""

    parts: Sequence[str]
    masks: Sequence[Mask]


@dataclasses.dataclass(frozen=True)
class Group:
    """Parts of one kind, one after the other.

    Attributes:
        kind: "figures", "charts", "panels", "entries" or "samples".
        parts: each a Figure, a Chart, a Panel, an Entry or a Sample.
        title: above them.
    """

    kind: str
    parts: Sequence[Figure] | Sequence[Chart] | Sequence[Panel] | Sequence[Entry] | Sequence[Sample]
    title: str = ""


Block = Notes | Table | Matrix | Code | Group


class Section(NamedTuple):
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block]


class Page(NamedTuple):
    """A whole page."""

    title: str
    lead: str
    sections: Sequence[Section]


def numbers(values: Any) -> dict[str, float]:
    """The numbers among the values of a JSON object; {} of anything else."""
    if not isinstance(values, dict):
        return {}
    return {name: value for name, value in values.items() if type(value) in (int, float)}
