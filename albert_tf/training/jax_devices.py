"""The devices of JAX: all of them, on one host or on several, each with the same weights and its share of a batch."""

import collections
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from absl import logging
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from albert_tf.runtime.errors import InputError
from albert_tf.training.cluster import Cluster

# For all processes to be there.
_SECONDS_TO_JOIN = 300
# The axis of the devices.
ROWS = "rows"


class HostBatches:
    """The batches of a tf.data.Dataset as arrays: this host's rows of each; an iterator.

    Args:
        dataset: of dicts of tensors.
    """

    def __init__(self, dataset):
        self._iterator = dataset.as_numpy_iterator()
        self._put_back: collections.deque = collections.deque()

    def __iter__(self):
        return self

    def __next__(self) -> dict[str, np.ndarray]:
        return self._put_back.popleft() if self._put_back else next(self._iterator)

    def put_back(self, batches: Sequence[dict[str, np.ndarray]]) -> None:
        """Lets these be the next ones, in this order."""
        self._put_back.extendleft(reversed(batches))


class DataParallel:
    """Weights on every device, rows of a batch shared out: for JAX, and named as in a tf.distribute strategy.

    Args:
        devices: of all processes; None: all that JAX sees.

    Attributes:
        replicated: the sharding of weights.
    """

    def __init__(self, devices: Sequence[Any] | None = None):
        self.mesh = Mesh(np.asarray(devices or jax.devices()), (ROWS,))
        self.replicated = NamedSharding(self.mesh, PartitionSpec())

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of devices, over all processes."""
        return self.mesh.size

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of this process's devices."""
        return tuple(f"{device.platform.upper()}:{device.id}" for device in self.mesh.local_devices)

    def scope(self) -> contextlib.AbstractContextManager[None]:
        """Does nothing: weights are put on the devices when a step is taken."""
        return contextlib.nullcontext()

    def distribute_datasets_from_function(self, make_dataset: Callable[[Any], Any]) -> HostBatches:
        """This host's rows of the batches.

        Args:
            make_dataset: function of a tf.distribute.InputContext to a tf.data.Dataset of a replica's rows; the rows
                of a host count as those of one replica.
        """
        import tensorflow as tf

        hosts = jax.process_count()
        return HostBatches(make_dataset(tf.distribute.InputContext(hosts, jax.process_index(), hosts)))

    def by_rows(self, axis: int = 0) -> NamedSharding:
        """The sharding of an array whose rows are on this axis."""
        return NamedSharding(self.mesh, PartitionSpec(*[None] * axis, ROWS))

    def share_out(self, batch: dict[str, np.ndarray], axis: int = 0) -> dict[str, jax.Array]:
        """Puts the rows of a batch on the devices.

        Args:
            batch: this host's rows, as many for each of its devices.
            axis: on which the rows are.
        """
        sharding = self.by_rows(axis)
        return {name: jax.make_array_from_process_local_data(sharding, value) for name, value in batch.items()}

    def sum_over_devices(self, function: Callable[..., Any], weights: Any, batch: Any, more: Any) -> Any:
        """The sums over the devices of what a function makes of each one's rows, in the types that it makes.

        Each device computes by itself what it can, and there is one exchange of all sums; a compiler that is left to
        find this by itself exchanges gradients in the precision of the products they come from.

        Args:
            function: of (weights, rows, more) to arrays.
            weights: the same on every device.
            batch: arrays whose rows are shared out.
            more: the same on every device.
        """
        everywhere, shared = PartitionSpec(), PartitionSpec(ROWS)
        compute = jax.shard_map(
            lambda weights, rows, more: jax.lax.psum(function(weights, rows, more), ROWS),
            mesh=self.mesh,
            in_specs=(everywhere, shared, everywhere),
            out_specs=everywhere,
            # What is computed of weights is each device's own until it is summed here.
            check_vma=False,
        )
        return compute(weights, batch, more)

    def gather(self, values: dict[str, jax.Array]) -> dict[str, np.ndarray]:
        """All rows of arrays that are shared out, on every host."""
        if jax.process_count() > 1:
            values = multihost_utils.process_allgather(values, tiled=True)
        return {name: np.asarray(value) for name, value in values.items()}

    def mean_over_hosts(self, values: Sequence[float]) -> list[float]:
        """The means of the hosts' values; every host must call this at the same place."""
        found = multihost_utils.process_allgather(np.asarray(values, np.float32))
        return np.asarray(found).reshape(-1, len(values)).mean(axis=0).tolist()


def join_hosts(cluster: Cluster | None, must_find: bool) -> Cluster:
    """Joins the processes of a run, before anything else uses JAX's devices.

    Args:
        cluster: of TF_CONFIG; the chief's address is where they meet. None: what JAX finds by itself, on a TPU pod, by
            Slurm, Open MPI or Kubernetes.
        must_find: whether one process alone is an error.

    Raises:
        InputError: the others cannot be found, or do not come.
    """
    if cluster is None and not must_find:
        return Cluster()
    known = {}
    if cluster is not None:
        if len(cluster.addresses) == 1:
            return cluster
        logging.info("process %d of %d: waiting for the others", cluster.index, len(cluster.addresses))
        known["coordinator_address"] = cluster.addresses[0]
        known |= {"num_processes": len(cluster.addresses), "process_id": cluster.index}
    try:
        jax.distributed.initialize(**known, initialization_timeout=_SECONDS_TO_JOIN)
    except (ValueError, RuntimeError) as error:
        raise InputError(
            "--distribution_strategy=multi_worker: the processes cannot be joined: "
            f"{' '.join(str(error).split())[:300]}; TF_CONFIG says who they are (docs/operations.md), or a TPU pod, "
            "Slurm, Open MPI or Kubernetes"
        ) from None
    return cluster or Cluster(tuple(f"process {index}" for index in range(jax.process_count())), jax.process_index())


def local_copy(value: jax.Array) -> jax.Array:
    """A replicated array as this process alone may use it."""
    return value if value.is_fully_addressable and len(value.devices()) == 1 else value.addressable_data(0)
