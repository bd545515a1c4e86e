"""Running an ONNX file with onnxruntime."""

from collections.abc import Callable, Mapping

import numpy as np

from albert_tf.portable.packages import import_extra


def onnx_runner(contents: bytes, num_threads: int = 0) -> Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    """A function of the inputs by their names that runs a file on the processor and returns its outputs.

    Args:
        contents: of a file.
        num_threads: how many threads compute; 0: as many as onnxruntime takes by itself.

    Raises:
        InputError: onnxruntime is not installed.
    """
    onnxruntime = import_extra("onnxruntime", "onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    session = onnxruntime.InferenceSession(contents, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return run
