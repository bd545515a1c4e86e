"""The devices that train: one, several of one machine (mirrored), those of several machines, or a TPU."""

import contextlib
import dataclasses
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from absl import logging

from albert_tf.runtime.command import EXIT_WORKER_LOST
from albert_tf.runtime.errors import FlagError, InputError, RunStopped
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.training.cluster import Cluster, read_cluster
from albert_tf.training.tpu import make_tpu_strategy

STRATEGIES = ("auto", "one_device", "mirrored", "multi_worker", "tpu")


@dataclasses.dataclass(frozen=True)
class TpuAddress:
    """The address of a TPU: its name (or grpc:// address), and for Cloud TPUs their zone and project."""

    name: str | None = None
    zone: str | None = None
    project: str | None = None

    def to_flags(self) -> str:
        """The flags that say so, as a flag file has them."""
        given = {"tpu_name": self.name, "tpu_zone": self.zone, "gcp_project": self.project}
        return "--use_tpu\n" + "".join(f"--{flag}={value}\n" for flag, value in given.items() if value is not None)


def find_cluster(name: str, tpu: TpuAddress | None = None) -> Cluster:
    """The workers of the run: those of TF_CONFIG for "multi_worker" and "auto", else this process alone.

    Raises:
        InputError: TF_CONFIG contradicts itself, or is missing.
    """
    if name != "multi_worker" and (name != "auto" or tpu is not None):
        return Cluster()
    cluster = read_cluster(os.environ)
    if runs_on_jax():
        from albert_tf.training.jax_devices import join_hosts

        return join_hosts(cluster, must_find=name == "multi_worker")
    if cluster is None and name == "multi_worker":
        raise InputError(
            "--distribution_strategy=multi_worker needs TF_CONFIG in the environment, to say who the workers are; "
            "see docs/operations.md"
        )
    return cluster or Cluster()


def make_strategy(name: str = "auto", tpu: TpuAddress | None = None):
    """Makes a tf.distribute strategy.

    For several workers this must come before anything else that uses TensorFlow's devices.

    Args:
        name: one of STRATEGIES. "auto" takes a TPU if one is named, the workers of TF_CONFIG if there are several,
            all GPUs if there are several, else one device. "mirrored" takes all GPUs, or, where there is none, all
            logical CPU devices.
        tpu: for "tpu", or for "auto" to choose it.

    Raises:
        InputError: an unknown name, a TPU that cannot be reached, or a TF_CONFIG that contradicts itself.
    """
    if name not in STRATEGIES:
        raise FlagError(f"--distribution_strategy must be one of {', '.join(STRATEGIES)}. Received {name!r}.")
    if runs_on_jax():
        return _make_jax_devices(name, tpu)
    import tensorflow as tf

    if name == "tpu" or (name == "auto" and tpu is not None):
        address = tpu or TpuAddress()
        return make_tpu_strategy(address.name, address.zone, address.project)
    cluster = find_cluster(name, tpu)
    if name == "multi_worker" or len(cluster.addresses) > 1:
        return _make_multi_worker_strategy(cluster)
    gpus = tf.config.list_logical_devices("GPU")
    if name == "mirrored" or (name == "auto" and len(gpus) > 1):
        devices = [device.name for device in gpus or tf.config.list_logical_devices("CPU")]
        return tf.distribute.MirroredStrategy(devices)
    return tf.distribute.OneDeviceStrategy("/gpu:0" if gpus else "/cpu:0")


def _make_multi_worker_strategy(cluster: Cluster):
    import tensorflow as tf

    # It tells of every group of tensors that is reduced.
    tf.get_logger().setLevel("WARNING")
    logging.info("worker %d of %d: waiting for the others", cluster.index, len(cluster.addresses))
    try:
        with quiet_stderr():
            return tf.distribute.MultiWorkerMirroredStrategy()
    except (ValueError, RuntimeError) as error:
        # A worker that does not come is not the input's fault: explain_lost_worker tells of that.
        if isinstance(error, tf.errors.OpError):
            raise
        raise InputError(f"the workers of TF_CONFIG cannot be joined: {' '.join(str(error).split())[:300]}") from None


def _make_jax_devices(name: str, tpu: TpuAddress | None):
    import jax

    from albert_tf.training.jax_devices import DataParallel

    if tpu is not None or name == "tpu":
        if tpu is not None and tpu.name not in (None, "local"):
            raise InputError(
                f"--tpu_name={tpu.name}: JAX trains on the TPU of the machine it runs on; start the command there, "
                "without --tpu_name, --tpu_zone and --gcp_project"
            )
        if jax.default_backend() != "tpu":
            raise InputError(
                f"--use_tpu: JAX sees no TPU here, only a {jax.default_backend()}; on a TPU's own machine "
                "`pip install 'jax[tpu]'` brings what it needs"
            )
    return DataParallel(jax.local_devices()[:1] if name == "one_device" else None)


def default_strategy() -> Any:
    """The strategy of a program that has made none: one device."""
    if runs_on_jax():
        return _make_jax_devices("auto", None)
    import tensorflow as tf

    return tf.distribute.get_strategy()


def check_backend(wanted: str | None) -> None:
    """Raises InputError unless Keras runs on the backend that is wanted; None for any that trains."""
    import keras

    found = keras.backend.backend()
    if found not in (("tensorflow", "jax") if wanted is None else (wanted,)):
        raise InputError(
            f"--backend={wanted or 'tensorflow'}: Keras runs on {found} in this process; set KERAS_BACKEND="
            f"{wanted or 'tensorflow'} in the environment before Keras is imported"
        )


def runs_on_jax() -> bool:
    """Tells whether Keras runs on JAX, and not on TensorFlow."""
    import keras

    return keras.backend.backend() == "jax"


def local_devices(strategy) -> tuple[str, ...]:
    """The names of this process's devices, such as "/device:GPU:0"."""
    return tuple(strategy.worker_devices if runs_on_jax() else strategy.extended.worker_devices)


def device_kind(strategy) -> str:
    """The kind of its devices: "CPU", "GPU" or "TPU"."""
    return next(kind for kind in ("TPU", "GPU", "CPU") if kind in local_devices(strategy)[0].upper())


def share_out_batches(strategy, make_dataset: Callable[[Any], Any]) -> Any:
    """Batches as the steps of a strategy take them: an iterable, of each replica's share.

    One processor takes them from the dataset as it is. The iterator that tf.distribute puts before it waits up to a
    minute for the thread that tunes it, whenever it is let go; a GPU needs it for its copies.

    Args:
        strategy: the devices.
        make_dataset: function of a tf.distribute.InputContext, or of None for all rows, to a tf.data.Dataset.
    """
    if not runs_on_jax():
        import tensorflow as tf

        if isinstance(strategy, tf.distribute.OneDeviceStrategy) and device_kind(strategy) == "CPU":
            return make_dataset(None)
    return strategy.distribute_datasets_from_function(make_dataset)


def input_shares(strategy) -> int:
    """The number of parts in which a training batch is read: one for each replica, on JAX one for each host."""
    if runs_on_jax():
        import jax

        return jax.process_count()
    return int(strategy.num_replicas_in_sync)


def compiles_for_shapes(strategy) -> bool:
    """Tells whether a step is compiled for the shapes of its batch, so that each other length takes a compilation."""
    return runs_on_jax() or device_kind(strategy) == "TPU"


def check_batch_size(batch_size: int, strategy, given: str, micro_batches: int = 1) -> None:
    """Raises InputError unless the replicas can share a batch evenly, and cut their shares into micro-batches."""
    replicas = strategy.num_replicas_in_sync
    if batch_size < 1 or batch_size % (replicas * micro_batches):
        cut = f" and the {micro_batches} steps of --gradient_accumulation_steps" if micro_batches > 1 else ""
        raise InputError(
            f"{given} must be a multiple of {replicas * micro_batches}, for the {replicas} replicas that share it"
            f"{cut}. Received {batch_size}."
        )


def describe_strategy(strategy) -> None:
    """Logs the kind of the strategy and its devices."""
    devices = local_devices(strategy)
    logging.info(
        "%s of %d replica(s), here on %s",
        *(type(strategy).__name__, strategy.num_replicas_in_sync, ", ".join(devices)),
    )


class Agreement:
    """Lets all workers decide alike, from what each of them knows.

    Args:
        strategy: of the run.
        cluster: its workers.
    """

    def __init__(self, strategy, cluster: Cluster):
        self._strategy = strategy
        self._alone = len(cluster.addresses) == 1
        self._mean = None

    def mean(self, *values: float) -> list[float]:
        """The means of the workers' values. Every worker must call this at the same place; it waits for all."""
        if self._alone:
            return list(values)
        if runs_on_jax():
            return self._strategy.mean_over_hosts(values)
        import tensorflow as tf

        if self._mean is None:

            def reduce(values):
                context = tf.distribute.get_replica_context()
                # The copy is on the replica's own device, which the argument is not.
                return context.all_reduce(tf.distribute.ReduceOp.MEAN, tf.identity(values))

            self._mean = tf.function(lambda values: self._strategy.run(reduce, args=(values,)))
        results = self._strategy.experimental_local_results(self._mean(tf.constant(values, tf.float32)))
        return results[0].numpy().tolist()


def errors_of_jax() -> tuple[type[Exception], ...]:
    """The errors of JAX when something goes wrong on a device or with another process."""
    if not runs_on_jax():
        return ()
    import jax

    return (jax.errors.JaxRuntimeError,)


_BROKEN_EXCHANGE = re.compile(r"(UNKNOWN|UNAVAILABLE|INTERNAL|ABORTED|DEADLINE_EXCEEDED): Gloo ")


@contextlib.contextmanager
def explain_lost_worker(cluster: Cluster, is_tpu: bool = False) -> Iterator[None]:
    """Turns what is said when another worker, or the TPU, is gone into one line and an exit code of its own.

    Raises:
        RunStopped: it was lost; the command, on all workers, must be started again.
    """
    import tensorflow as tf

    try:
        yield
    except (
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.InternalError,
        # What JAX raises when an exchange between processors of several machines breaks off.
        ValueError,
        *errors_of_jax(),
    ) as error:
        alone = len(cluster.addresses) == 1
        if (alone and not is_tpu) or (isinstance(error, ValueError) and not _BROKEN_EXCHANGE.match(str(error))):
            raise
        kind = "broken exchange" if isinstance(error, ValueError) else type(error).__name__
        lost, again = ("the TPU", "the command") if alone else ("another worker", "all workers")
        raise RunStopped(
            f"{lost} was lost ({kind}); start {again} again with the same flags: the run goes on from "
            "its last checkpoint",
            EXIT_WORKER_LOST,
        ) from None
