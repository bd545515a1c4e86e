"""Which devices train: one, several of one machine (mirrored), or a TPU."""

import dataclasses

from absl import logging

from albert_tf.errors import InputError

STRATEGIES = ("auto", "one_device", "mirrored", "tpu")


@dataclasses.dataclass(frozen=True)
class TpuAddress:
    """Where a TPU is: its name (or grpc:// address), and for Cloud TPUs their zone and project."""

    name: str | None = None
    zone: str | None = None
    project: str | None = None


def make_strategy(name: str = "auto", tpu: TpuAddress | None = None):
    """Makes a tf.distribute strategy.

    Args:
        name: one of STRATEGIES. "auto" takes a TPU if one is named, all GPUs if there are several, else one device.
            "mirrored" takes all GPUs, or, where there is none, all logical CPU devices.
        tpu: for "tpu", or for "auto" to choose it.

    Raises:
        InputError: an unknown name, or a TPU that cannot be reached.
    """
    import tensorflow as tf

    if name not in STRATEGIES:
        raise InputError(f"--distribution_strategy must be one of {', '.join(STRATEGIES)}. Received {name!r}.")
    if name == "tpu" or (name == "auto" and tpu is not None):
        return _make_tpu_strategy(tpu or TpuAddress())
    gpus = tf.config.list_logical_devices("GPU")
    if name == "mirrored" or (name == "auto" and len(gpus) > 1):
        devices = [device.name for device in gpus or tf.config.list_logical_devices("CPU")]
        return tf.distribute.MirroredStrategy(devices)
    return tf.distribute.OneDeviceStrategy("/gpu:0" if gpus else "/cpu:0")


def _make_tpu_strategy(tpu: TpuAddress):
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu.name, zone=tpu.zone, project=tpu.project)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (tf.errors.OpError, ValueError, ImportError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"no TPU can be reached under --tpu_name={tpu.name or ''}: {reason}; check --tpu_name, --tpu_zone and "
            "--gcp_project, or leave --use_tpu out"
        ) from None
    return tf.distribute.TPUStrategy(resolver)


def check_batch_size(batch_size: int, strategy, flag: str) -> None:
    """Raises InputError unless the replicas can share a batch evenly."""
    replicas = strategy.num_replicas_in_sync
    if batch_size < 1 or batch_size % replicas:
        raise InputError(
            f"--{flag} must be a multiple of the {replicas} replicas that share it. Received {flag}={batch_size}."
        )


def describe_strategy(strategy) -> None:
    """Logs the kind of the strategy and its devices."""
    devices = strategy.extended.worker_devices
    logging.info("%s on %d device(s): %s", type(strategy).__name__, len(devices), ", ".join(devices))
