"""A TPU joined by TensorFlow: every way in which that fails is one line, and none waits for ever."""

import socket
import threading
import time
from typing import Any

from albert_tf.runtime.errors import InputError, reason_of

# For an address to answer, and for TensorFlow to join what answers there.
_SECONDS_TO_ANSWER = 60
_SECONDS_BETWEEN_TRIES = 2
# The port of a TPU's gRPC server, where an address does not say it.
_PORT = 8470
# What a TPU's own machine has.
_LOCAL = ("", "local")


def make_tpu_strategy(name: str | None, zone: str | None = None, project: str | None = None) -> Any:
    """Joins a TPU, before anything else uses TensorFlow's devices.

    Args:
        name: a Cloud TPU's name, its grpc:// address, or "local" on its own machine.
        zone: of a Cloud TPU.
        project: likewise.

    Returns:
        tf.distribute.TPUStrategy.

    Raises:
        InputError: no such TPU, none that answers, or TensorFlow here knows no TPU.
    """
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(name, zone=zone, project=project)
        address = resolver.master()
        if address not in _LOCAL:
            _wait_for_answer(address.removeprefix("grpc://"))
        _within_seconds(lambda: tf.config.experimental_connect_to_cluster(resolver))
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (tf.errors.OpError, ValueError, ImportError, OSError, RuntimeError) as error:
        raise InputError(
            f"no TPU can be reached under --tpu_name={name or ''}: {_explain(error)}; check --tpu_name, --tpu_zone and "
            "--gcp_project, leave --use_tpu out, or train on a TPU's own machine with --backend=jax"
        ) from None
    return tf.distribute.TPUStrategy(resolver)


def _explain(error: Exception) -> str:
    text = reason_of(error)
    if "cloud-tpu-client" in str(error):
        return "to look up a name, a zone and a project TensorFlow needs `pip install cloud-tpu-client`"
    if "ConfigureDistributedTPU" in str(error):
        return "this TensorFlow knows no TPU; on a TPU's own machine it comes as tensorflow-tpu (BUILD.md)"
    return text or type(error).__name__


def _wait_for_answer(address: str) -> None:
    """Waits until something listens at host:port; raises TimeoutError if nothing does."""
    host, _, port = address.rpartition(":") if ":" in address else (address, "", str(_PORT))
    end = time.monotonic() + _SECONDS_TO_ANSWER
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=max(1.0, end - time.monotonic())).close()
        except socket.gaierror:
            raise
        except OSError as error:
            if time.monotonic() + _SECONDS_BETWEEN_TRIES > end:
                raise TimeoutError(
                    f"{address} does not answer in {_SECONDS_TO_ANSWER} s ({error.strerror or error})"
                ) from None
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return


def _within_seconds(function) -> None:
    """Calls a function that cannot be interrupted, and gives it up when it takes too long."""
    failed: list[BaseException] = []

    def call():
        try:
            function()
        except BaseException as error:
            failed.append(error)

    # A thread of its own kind: the program does not wait for it at its end.
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(_SECONDS_TO_ANSWER)
    if thread.is_alive():
        raise TimeoutError(f"what listens there is no TPU: it did not let TensorFlow in for {_SECONDS_TO_ANSWER} s")
    if failed:
        raise failed[0]
