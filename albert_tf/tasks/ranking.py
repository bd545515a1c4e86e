"""Rows ranked within groups, as the documents of a query by a cross-encoder: scores of the order, and the order itself.

A row's rank goes by the number of a regression, or by the probability of the second of two classes. Its relevance is
its label: a number, of which those above 0 are relevant, or 1 for the second class.
"""

import collections
import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.split_files import SplitFiles
from albert_tf.tasks.tables import Row, write_table
from albert_tf.tasks.task import Report
from albert_tf.tasks.text_classification import TextExample, TextPrediction
from albert_tf.tasks.user_classification import Columns, UserClassification

# Powers of two above this one make all others nothing.
_MOST_RELEVANT = 60
# The first so many rows of a group count.
CUTOFF = 10
MRR, NDCG, RECALL = RANKING_SCORES = (f"mrr_at_{CUTOFF}", f"ndcg_at_{CUTOFF}", f"recall_at_{CUTOFF}")


def ranked_groups(groups: Sequence[str], scores: Sequence[float], last: Sequence[float]) -> dict[str, list[int]]:
    """The rows of each group, those with the highest scores first.

    Args:
        groups: of each row.
        scores: of each row.
        last: of rows with equal scores those stand first in which this is less.
    """
    rows: dict[str, list[int]] = collections.defaultdict(list)
    for row, group in enumerate(groups):
        rows[group].append(row)
    return {group: sorted(members, key=lambda row: (-scores[row], last[row])) for group, members in rows.items()}


def ranking_scores(groups: Sequence[str], relevances: Sequence[float], scores: Sequence[float]) -> dict[str, float]:
    """Means over the groups that have a relevant row; 0 where none has.

    MRR: one over the rank of the first relevant row, 0 beyond CUTOFF. NDCG: the sum of (2^relevance - 1) / log2(1 +
    rank), of that of the best order. Recall: the share of relevant rows among the first CUTOFF. Of rows with equal
    scores the least relevant counts as the first, so that a model that says the same of all gains nothing by it.
    """
    gains = 2.0 ** np.maximum(0.0, np.asarray(relevances, np.float64)) - 1.0
    found: dict[str, list[float]] = {name: [] for name in RANKING_SCORES}
    for rows in ranked_groups(groups, scores, gains).values():
        ordered = gains[rows]
        if not ordered.any():
            continue
        first = int(np.flatnonzero(ordered)[0])
        found[MRR].append(1.0 / (first + 1) if first < CUTOFF else 0.0)
        found[NDCG].append(_discounted(ordered) / _discounted(np.sort(ordered)[::-1]))
        found[RECALL].append(np.count_nonzero(ordered[:CUTOFF]) / np.count_nonzero(ordered))
    return {name: float(np.mean(values)) if values else 0.0 for name, values in found.items()}


def _discounted(gains: np.ndarray) -> float:
    return float(np.sum(gains[:CUTOFF] / np.log2(np.arange(2, len(gains[:CUTOFF]) + 2))))


class Ranking(UserClassification):
    """A classification of two classes, or a regression, whose rows are ranked within groups."""

    def __init__(self, group_column: str, split_files: SplitFiles, columns: Columns, *choices: Any):
        """Reads the training file if the classes are not given.

        Args:
            group_column: what the column of the groups is called; that of a text may be it.
            split_files, columns, choices: as UserClassification has them.

        Raises:
            InputError: as of UserClassification; or rows have no order by these classes.
        """
        super().__init__(split_files, columns, *choices)
        self.group_column = group_column
        if group_column == columns.label:
            raise FlagError(f"--group_column and --label_column must name different columns; both name {group_column}")
        if self.head != "regression" and (self.head != "classification" or len(self.labels) != 2):
            raise FlagError(
                "--group_column ranks by the second of two classes, or with --regression by a number; "
                f"this is {self.head.replace('_', ' ')} of {len(self.labels)} classes"
            )
        self.metric = NDCG
        self.unit = "group"

    def _example(self, row: Row, guid: str, label: Any) -> TextExample:
        group = row.text(self.group_column).strip()
        if not group:
            raise InputError(f"{row.where}: {self.group_column!r}, the group, is empty")
        if self.head == "regression" and label is not None and label > _MOST_RELEVANT:
            raise InputError(
                f"{row.where}: a relevance counts as a power of 2, so {_MOST_RELEVANT} is the most. Received {label:g}."
            )
        return dataclasses.replace(super()._example(row, guid, label), group=group)

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*RANKING_SCORES, *super().metrics)

    def with_metric(self, metric):
        if metric not in RANKING_SCORES:
            return super().with_metric(metric)
        task = super().with_metric(self.score_names[0])
        task.metric = metric
        return task

    def scores(self, examples, predictions) -> dict[str, float]:
        """Scores of the order, and those of the classes or numbers."""
        relevances = [float(label) for label in self._gold(examples)]
        ranked = ranking_scores(_groups(examples), relevances, self._strengths(predictions))
        return ranked | super().scores(examples, predictions)

    def _strengths(self, predictions: Iterable[TextPrediction]) -> list[float]:
        """The number that each row is ranked by."""
        return [float(one.probabilities[1] if one.probabilities else one.value) for one in predictions]

    def write_predictions(self, folder, split, examples, predictions) -> list[str]:
        """Writes SPLIT_ranking.tsv too: group, rank, guid and score of every row, group by group."""
        strengths = self._strengths(predictions)
        rows: list[Sequence[Any]] = [("group", "rank", "guid", "score")]
        for group, members in ranked_groups(_groups(examples), strengths, range(len(examples))).items():
            for rank, row in enumerate(members, 1):
                rows.append((group, rank, examples[row].guid, f"{strengths[row]:.6g}"))
        path = os.path.join(folder, f"{split}_ranking.tsv")
        write_table(path, rows)
        return [*super().write_predictions(folder, split, examples, predictions), path]

    def report(self, examples, predictions) -> Report:
        """The report of the classes or numbers, with the number of groups, and of those with a relevant row."""
        report = super().report(examples, predictions)
        groups = _groups(examples)
        relevant = {group for group, label in zip(groups, self._gold(examples)) if label > 0}
        counts = {"groups": len(set(groups)), "groups_with_a_relevant_row": len(relevant)}
        line = f"{counts['groups']:,} groups, {len(relevant):,} of them with a relevant row, which the scores count"
        return dataclasses.replace(report, text=f"{line}\n{report.text}", values={**counts, **report.values})


def _groups(examples: Sequence[TextExample]) -> list[str]:
    return [example.group or "" for example in examples]
