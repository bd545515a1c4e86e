"""Batches of like lengths: which rows go together, and how long each batch is made.

A batch is as long as the bucket of its longest row. There are few buckets, so few shapes to compile for, and every
batch has the same number of rows. Which rows a step of training has is a function of (lengths, seed, step), so a run
goes on where it stopped.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

# A TPU pads the positions to a multiple of 8 anyway (the sublanes of its registers), and a GPU's matrix units want one.
_MULTIPLE = 8
MAX_BUCKETS = 6
# Buckets are added until the padding that MAX_BUCKETS of them leave is nearly reached: each costs a compilation.
_NEARLY = 1.02


@dataclasses.dataclass(frozen=True)
class BatchPlan:
    """Assignment of rows to batches.

    Attributes:
        rows: int32 [steps, B], numbers of features.
        weights: float32 [steps, B], 0 for a row that only fills the batch up.
        lengths: int32 [steps], to how many positions each batch is padded.
    """

    rows: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.lengths)


def choose_buckets(
    lengths: Sequence[int] | np.ndarray, max_seq_length: int, max_buckets: int = MAX_BUCKETS
) -> list[int]:
    """The lengths to pad to that leave the least padding, by dynamic programming over the multiples of 8.

    Args:
        lengths: of all rows that are to fit, training and evaluation.
        max_seq_length: S, the longest there may be.
        max_buckets: the most lengths.

    Returns:
        Ascending; the last one holds the longest row.
    """
    counts = np.bincount(-(-np.minimum(np.asarray(lengths, np.int64), max_seq_length) // _MULTIPLE))
    sizes = np.flatnonzero(counts)
    if not len(sizes):
        return [min(_MULTIPLE, max_seq_length)]
    rows_up_to = np.concatenate([[0], np.cumsum(counts[sizes])])
    # best[k][j]: the fewest positions of the rows of the first j sizes in k + 1 buckets; cut[k][j]: where the last of
    # these buckets starts.
    best, cut = [rows_up_to * np.concatenate([[0], sizes])], [np.zeros(len(sizes) + 1, np.int64)]
    for _ in range(1, min(max_buckets, len(sizes))):
        positions = np.full(len(sizes) + 1, np.iinfo(np.int64).max)
        positions[0] = 0
        starts = np.zeros(len(sizes) + 1, np.int64)
        for j in range(1, len(sizes) + 1):
            options = best[-1][:j] + (rows_up_to[j] - rows_up_to[:j]) * sizes[j - 1]
            starts[j] = np.argmin(options)
            positions[j] = options[starts[j]]
        best.append(positions)
        cut.append(starts)
    used = next(k for k in range(len(best)) if best[k][-1] <= _NEARLY * best[-1][-1])
    chosen, j = [], len(sizes)
    while j > 0:
        chosen.append(min(int(sizes[j - 1]) * _MULTIPLE, max_seq_length))
        j, used = (int(cut[used][j]), used - 1) if used else (0, 0)
    return sorted(chosen)


def plan_training(
    lengths: np.ndarray, buckets: Sequence[int], batch_size: int, seed: int, num_steps: int, start_step: int = 0
) -> BatchPlan:
    """The batches of training: every epoch each row once, in a new order.

    An epoch is ceil(rows / B) steps. Rows are shuffled and cut into batches by bucket; what is left of the
    buckets is put together, like with like, and the last batch is filled up with rows of weight 0. Then the batches
    are shuffled.

    Args:
        lengths: int [rows].
        buckets: ascending lengths; the last one is at least the longest row.
        batch_size: B, over all replicas.
        seed: of the order.
        num_steps: steps of the whole run.
        start_step: steps to leave out at the start, those already done.
    """
    bucket_of = _buckets_of(lengths, buckets)
    steps_per_epoch = -(-len(lengths) // batch_size)
    first_epoch, done = divmod(start_step, steps_per_epoch)
    parts = []
    for epoch in range(first_epoch, -(-num_steps // steps_per_epoch)):
        parts.append(_plan_epoch(bucket_of, np.asarray(buckets, np.int32), batch_size, seed, epoch))
    if not parts:
        parts = [_cut_in_order(np.zeros(0, np.int64), bucket_of, np.asarray(buckets, np.int32), batch_size)]
    joined = BatchPlan(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "weights", "lengths"))
    )
    kept = slice(done, done + max(0, num_steps - start_step))
    return BatchPlan(joined.rows[kept], joined.weights[kept], joined.lengths[kept])


def plan_evaluation(lengths: np.ndarray, buckets: Sequence[int], batch_size: int) -> BatchPlan:
    """Every row once, the short ones first; the last batch is filled up with rows of weight 0."""
    bucket_of = _buckets_of(lengths, buckets)
    return _cut_in_order(np.argsort(bucket_of, kind="stable"), bucket_of, np.asarray(buckets, np.int32), batch_size)


def _buckets_of(lengths: np.ndarray, buckets: Sequence[int]) -> np.ndarray:
    lengths = np.asarray(lengths)
    if len(lengths) and lengths.max() > buckets[-1]:
        raise ValueError(f"a row of {lengths.max()} pieces does not fit into buckets {list(buckets)}")
    return np.searchsorted(np.asarray(buckets), lengths)


def _plan_epoch(bucket_of: np.ndarray, buckets: np.ndarray, batch_size: int, seed: int, epoch: int) -> BatchPlan:
    draws = np.random.Philox(key=np.array([seed % 2**64, epoch], np.uint64))
    order = np.argsort(draws.random_raw(len(bucket_of)), kind="stable")
    by_bucket = [order[bucket_of[order] == bucket] for bucket in range(len(buckets))]
    whole = [rows[: len(rows) // batch_size * batch_size] for rows in by_bucket]
    left = [rows[len(rows) // batch_size * batch_size :] for rows in by_bucket]
    plan = _cut_in_order(np.concatenate([*whole, *left]), bucket_of, buckets, batch_size)
    shuffled = np.argsort(draws.random_raw(len(plan)), kind="stable")
    return BatchPlan(plan.rows[shuffled], plan.weights[shuffled], plan.lengths[shuffled])


def _cut_in_order(order: np.ndarray, bucket_of: np.ndarray, buckets: np.ndarray, batch_size: int) -> BatchPlan:
    """Batches of rows that follow one another; a short last one repeats its first row with weight 0."""
    steps = -(-len(order) // batch_size)
    missing = steps * batch_size - len(order)
    fill = np.repeat(order[(steps - 1) * batch_size :][:1], missing)
    rows = np.concatenate([order, fill]).astype(np.int32).reshape(steps, batch_size)
    weights = np.ones(steps * batch_size, np.float32)
    weights[len(order) :] = 0.0
    lengths = buckets[bucket_of[rows].max(axis=1, initial=0)] if steps else np.zeros(0, np.int32)
    return BatchPlan(rows, weights.reshape(steps, batch_size), lengths.astype(np.int32))
