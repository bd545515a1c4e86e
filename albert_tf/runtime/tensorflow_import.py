"""TensorFlow imported late and quietly, with the library that Keras is to run on."""

import contextlib
import importlib.util
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator

from albert_tf.runtime.errors import InputError

# What TensorFlow and Keras import wherever it is installed, for parts of them that no command uses.
_NEVER_USED = ("jax", "matplotlib", "sklearn")


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
    """Holds back what C++ code prints on file descriptor 2, and shows it only if the block fails unexpectedly.

    TensorFlow prints several lines about the machine when it is imported and when it first lists devices, at
    every log level.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except (InputError, OSError):
            # The message says all there is to say.
            raise
        except BaseException:
            held.seek(0)
            os.write(saved, held.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)


def import_tensorflow(
    frozen_weights: bool = False,
    log_level: int = 2,
    backend: str | None = None,
    joins: bool = False,
    num_threads: int | None = None,
):
    """Imports tensorflow without its noise on stderr, and lets Keras run on it, or on JAX beside it.

    Commands call it after the flags are parsed.

    Args:
        frozen_weights: for a process that only serves: an operation of TensorFlow's CPU library then keeps the kernel
            it was first called with, laid out for the processor.
        log_level: of what its C++ code logs: 2 for errors and worse, 3 for what ends the process. Where a call fails
            the error is raised in any case. TF_CPP_MIN_LOG_LEVEL=0 in the environment asks for all;
            any other number may come from a process before this one, for which importing TensorFlow sets it.
        backend: "jax" for Keras to run on JAX: TensorFlow then reads files alone, and leaves accelerators to JAX.
        joins: whether devices of other machines, a TPU's, are to be joined before TensorFlow has made its own.
        num_threads: that compute one operation; None: one for each core, or as TF_NUM_INTRAOP_THREADS says. Where
            TensorFlow has begun it stays what it is.

    Raises:
        InputError: JAX is not installed.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "0":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = str(log_level)
    if backend == "jax" and importlib.util.find_spec("jax") is None:
        raise InputError(
            "--backend=jax needs JAX: pip install 'albert_tf[jax]', or jax for your accelerator (BUILD.md)"
        )
    # Whatever the user's own programs run Keras on.
    os.environ["KERAS_BACKEND"] = backend or "tensorflow"
    if backend == "jax":
        # Of a GPU's memory it takes three quarters else; a run has the GPU to itself.
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")
    if frozen_weights:
        os.environ.setdefault("TF_ONEDNN_ASSUME_FROZEN_WEIGHTS", "1")
    with quiet_stderr(), _set_aside(name for name in _NEVER_USED if name != backend):
        import tensorflow

        if backend == "jax":
            # It tells of every kind of device that is not there.
            logging.getLogger("jax").setLevel(logging.WARNING)
            tensorflow.config.set_visible_devices([], "GPU")
        if num_threads is not None:
            with contextlib.suppress(RuntimeError):
                tensorflow.config.threading.set_intra_op_parallelism_threads(num_threads)
        # Several workers can only be joined before TensorFlow has made its logical devices.
        if joins or "TF_CONFIG" in os.environ:
            tensorflow.config.list_physical_devices()
        else:
            tensorflow.config.list_logical_devices()
    return tensorflow


@contextlib.contextmanager
def _set_aside(names: Iterable[str]) -> Iterator[None]:
    """Lets a block find these modules not installed, unless they are imported already.

    Of 6 seconds that importing tensorflow took beside them 2 were theirs, and 180 of 740 MiB.
    """
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def remote_files():
    """TensorFlow's tf.io.gfile, for paths such as "gs://bucket/file".

    Keras's backend stays what it is, and where TensorFlow is imported already no device is made, which a TPU that is to
    be joined would come too late for.
    """
    if "tensorflow" not in sys.modules:
        import_tensorflow(backend=os.environ.get("KERAS_BACKEND"), joins=True)
    return sys.modules["tensorflow"].io.gfile
