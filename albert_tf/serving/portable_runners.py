"""Running files of ONNX and of LiteRT on the processor, with onnxruntime and ai-edge-litert; without TensorFlow."""

import threading
from collections.abc import Callable, Mapping

import numpy as np

from albert_tf.runtime.packages import import_extra

Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


def onnx_runner(source: bytes | str, num_threads: int = 0, needed_by: str | None = None) -> Run:
    """A function of the inputs by their names that runs an ONNX file and returns its outputs.

    Args:
        source: the contents of a file, or its path on this machine.
        num_threads: how many threads compute; 0: as many as onnxruntime takes by itself.
        needed_by: what asks for it, for the error of a missing package.

    Raises:
        InputError: onnxruntime is not installed.
    """
    onnxruntime = import_extra("onnxruntime", "onnx", needed_by)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    # Of its own accord it warns of what it was given; the errors that follow say enough.
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return run


def litert_runner(source: bytes | str, num_threads: int | None = None, needed_by: str | None = None) -> Run:
    """The same of a LiteRT file; one call runs at a time.

    Args:
        source: the contents of a file, or its path on this machine.
        num_threads: how many threads compute; None: as many as the interpreter takes by itself.
        needed_by: what asks for it, for the error of a missing package.

    Raises:
        InputError: ai-edge-litert is not installed.
    """
    interpreter = import_extra("ai_edge_litert.interpreter", "litert", needed_by).Interpreter(
        **{"model_path" if isinstance(source, str) else "model_content": source}, num_threads=num_threads
    )
    # What is made and told at the first call else.
    interpreter.allocate_tensors()
    runner = interpreter.get_signature_runner()
    lock = threading.Lock()

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with lock:
            # The runner's arrays are copies, which the next call does not change.
            return dict(runner(**inputs))

    return run
