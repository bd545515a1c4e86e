"""The beginning of every training: its devices are joined, its batches fit them, its folder is its own."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from absl import logging

from albert_tf.runtime import allocator
from albert_tf.runtime.settings import warn_of_idle
from albert_tf.training.cluster import Cluster
from albert_tf.training.memory import explain_memory_errors
from albert_tf.training.run_lock import hold_for_all_workers
from albert_tf.training.settings import TrainingSettings
from albert_tf.training.strategy import (
    Agreement,
    check_backend,
    check_batch_size,
    describe_strategy,
    explain_lost_worker,
    find_cluster,
    make_strategy,
)


@dataclasses.dataclass(frozen=True)
class Session:
    """The devices of a training.

    Attributes:
        strategy: what make_strategy returns.
        cluster: the workers.
        agreement: lets them decide alike.
    """

    strategy: Any
    cluster: Cluster
    agreement: Agreement

    def hold(self, output_dir: str) -> contextlib.AbstractContextManager[None]:
        """Keeps other runs out of a folder while the block lasts."""
        return hold_for_all_workers(output_dir, self.cluster, self.agreement)


@contextlib.contextmanager
def open_session(settings: TrainingSettings, train_batch_sizes: Iterable[int]) -> Iterator[Session]:
    """Joins the devices and holds the run's output_dir while the block lasts.

    Args:
        settings: of the run.
        train_batch_sizes: of all its stages; each must fit the devices.

    Raises:
        InputError: no such devices, a batch that does not fit them, or another run in output_dir.
        RunStopped: another worker was lost.
    """
    check_backend(settings.backend)
    warn_of_idle(settings)
    cluster = find_cluster(settings.distribution_strategy, settings.tpu)
    with explain_lost_worker(cluster, settings.tpu is not None):
        strategy = make_strategy(settings.distribution_strategy, settings.tpu)
        for size in train_batch_sizes:
            given = "--train_batch_size" if size == settings.train_batch_size else "the batch of a stage of the run"
            check_batch_size(size, strategy, given, settings.gradient_accumulation_steps)
        check_batch_size(settings.eval_batch_size, strategy, "--eval_batch_size")
        describe_strategy(strategy)
        if settings.release_memory and not allocator.gives_memory_back():
            logging.warning(
                "release_memory comes too late: TensorFlow has computed before in this process, and keeps what it "
                "frees; ask for it in a new one"
            )
        session = Session(strategy, cluster, Agreement(strategy, cluster))
        with session.hold(settings.output_dir), explain_memory_errors(settings):
            yield session
