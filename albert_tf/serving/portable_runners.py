"""Running files of ONNX and of LiteRT on the processor, without TensorFlow.

ONNX by OpenVINO where it is installed, for it is a little faster, and multiplies in bfloat16 where the processor can;
else by onnxruntime, and int8 by it in any case; early exit in float32 too, whose branches take single texts a third
less time by it. LiteRT by ai-edge-litert.
"""

import threading
from collections.abc import Callable, Mapping

import numpy as np

from albert_tf.runtime.packages import import_extra, is_installed

Run = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


def best_onnx_runner(
    source: bytes | str,
    num_threads: int = 0,
    needed_by: str | None = None,
    precision: str = "float32",
    has_branches: bool = False,
) -> Run:
    """A function of the inputs by their names that runs an ONNX file by the fastest runtime that is installed.

    Args:
        source: the contents of a file, or its path on this machine.
        num_threads: how many threads compute; 0: as many as the runtime takes by itself.
        needed_by: what asks for it, for the error of a missing package.
        precision: of the file; with "bfloat16" OpenVINO multiplies in bfloat16, onnxruntime in float32.
        has_branches: whether its layers are computed only while a text needs them.

    Raises:
        InputError: neither runtime is installed.
    """
    is_slow_there = has_branches and precision == "float32" and is_installed("onnxruntime")
    if precision != "int8" and not is_slow_there and is_installed("openvino"):
        return openvino_runner(source, num_threads, needed_by, precision)
    return onnx_runner(source, num_threads, needed_by)


def openvino_runner(
    source: bytes | str, num_threads: int = 0, needed_by: str | None = None, precision: str = "float32"
) -> Run:
    """The same by OpenVINO; one call runs at a time.

    Raises:
        InputError: openvino is not installed.
    """
    core = import_extra("openvino", "openvino", needed_by).Core()
    # Of its own accord it multiplies in bfloat16 wherever the processor can.
    settings = {
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bfloat16" else "f32",
        "PERFORMANCE_HINT": "LATENCY",
        # Else each of several processes has its threads on the same first cores.
        "ENABLE_CPU_PINNING": False,
        **({"INFERENCE_NUM_THREADS": num_threads} if num_threads else {}),
    }
    compiled = core.compile_model(core.read_model(source), "CPU", settings)
    request, lock = compiled.create_infer_request(), threading.Lock()
    # An output has the file's name beside those of the nodes that OpenVINO made of it.
    names = [tuple(output.get_names()) for output in compiled.outputs]

    def run(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        with lock:
            request.infer(dict(inputs))
            # The next call writes into the request's own arrays.
            values = [np.array(request.get_output_tensor(index).data) for index in range(len(names))]
        return {name: value for group, value in zip(names, values, strict=True) for name in group}

    return run


def onnx_runner(source: bytes | str, num_threads: int = 0, needed_by: str | None = None) -> Run:
    """The same by onnxruntime.

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
