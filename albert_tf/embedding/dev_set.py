"""Pairs of texts by which vectors are judged: how alike they are, or which text answers which query."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from albert_tf.embedding.retrieval import MRR, products, ranks, retrieval_scores
from albert_tf.embedding.text_tables import TextTable
from albert_tf.heads.pooling import of_length_one
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks import scores

SPEARMAN = "spearman"


@dataclasses.dataclass(frozen=True)
class DevSet:
    """The distinct texts of a table of pairs, and how they belong together.

    Of pairs with scores, cosines are compared with these. Of others the first text is a query, which is to find its
    second among the second texts of all rows, and third and further ones.

    Attributes:
        path: of the file.
        texts: every text once.
        pairs: int [rows, K], the places of a row's texts among them.
        scores: of each row; None for a search.
    """

    path: str
    texts: Sequence[str]
    pairs: np.ndarray
    scores: np.ndarray | None

    @classmethod
    def from_table(cls, table: TextTable) -> "DevSet":
        """The set of a file's rows.

        Raises:
            InputError: they have a single text, or scores of more than two.
        """
        count = len(table.columns)
        if count < 2:
            raise InputError(f"{table.path}: an evaluation needs two columns of texts; there is {table.columns[0]!r}")
        if table.scores is not None and count > 2:
            raise InputError(f"{table.path}: scores are of two texts; {count} columns are {', '.join(table.columns)}")
        places: dict[str, int] = {}
        pairs = [[places.setdefault(text, len(places)) for text in row] for row in table.texts]
        return cls(table.path, list(places), np.array(pairs), table.scores)

    @functools.cached_property
    def digest(self) -> str:
        """Texts, pairs and scores in a few characters: whether scores are of this set."""
        scores = None if self.scores is None else self.scores.tolist()
        return hashlib.sha256(to_json([list(self.texts), self.pairs.tolist(), scores]).encode()).hexdigest()

    @property
    def metric(self) -> str:
        """The name of the score by which checkpoints are compared."""
        return MRR if self.scores is None else SPEARMAN

    def judge(self, vectors: np.ndarray) -> dict[str, float]:
        """The scores of the vectors of `texts`, float32 [texts, H], by name."""
        vectors = of_length_one(vectors)
        if self.scores is not None:
            cosines = np.sum(vectors[self.pairs[:, 0]] * vectors[self.pairs[:, 1]], axis=1)
            return {SPEARMAN: scores.spearman(self.scores, cosines), "pearson": scores.pearson(self.scores, cosines)}
        return self.judge_search(lambda queries, texts: products(vectors[queries], vectors[texts]))

    def judge_search(self, compare: Callable[[np.ndarray, np.ndarray], Any]) -> dict[str, float]:
        """The scores of a search, by name.

        Args:
            compare: function of the places of queries and of those that are searched, to what `retrieval.ranks` takes.
        """
        searched = np.unique(self.pairs[:, 1:])
        queries, query_of = np.unique(self.pairs[:, 0], return_inverse=True)
        # A text that is searched for itself would find itself.
        own = [int(place) if here else None for place, here in zip(*_places(queries, searched), strict=True)]
        right: list[set[int]] = [set() for _ in queries]
        for query, place in zip(query_of, np.searchsorted(searched, self.pairs[:, 1]), strict=True):
            right[query].add(int(place))
        return retrieval_scores(ranks(compare(queries, searched), [sorted(places) for places in right], own))


def _places(some: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of numbers among sorted ones, int [n], and whether they are there at all, bool [n]."""
    places = np.minimum(np.searchsorted(among, some), len(among) - 1)
    return places, among[places] == some
