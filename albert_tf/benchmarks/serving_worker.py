"""One contestant of compare_serving in a process of its own: opens its model, then computes the batches asked for.

Standard output carries one JSON object a line: {"ready": seconds, "memory_mb": ...} when the first text is computed,
then for every line "B SHORTEST REPEATS" of standard input what so many batches of that kind took. The end of the input
ends it.
"""

import importlib.util
import os
import sys
import time
import types

from absl import flags

from albert_tf.benchmarks.measure import peak_memory_mb, process_seconds
from albert_tf.benchmarks.train_step import ragged_batch
from albert_tf.benchmarks.worker import leave_others_aside, say
from albert_tf.runtime import command
from albert_tf.runtime.tensorflow_import import import_tensorflow


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("contestant", None, "A key of serving_contestants.CONTESTANTS.", **fv)
    flags.DEFINE_enum("task", "encode", ("encode", "classify"), "What the model does.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's shape.", **fv)
    flags.DEFINE_string("folder", None, "What serving_files wrote.", **fv)
    flags.DEFINE_integer("threads", 1, "Cores, and threads, that compute.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of the longest text.", lower_bound=1, **fv)


def _keep_to_cores(count: int) -> None:
    """Lets this process use so many cores, and libraries that look for them as many threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    os.environ.update(dict.fromkeys(names, str(count)))


def _run() -> None:
    started = time.perf_counter()
    given = flags.FLAGS
    _keep_to_cores(given.threads)
    leave_others_aside(given.contestant)
    from albert_tf.benchmarks.serving_contestants import CONTESTANTS, ON_TENSORFLOW
    from albert_tf.config import AlbertConfig

    make, precision, needed = CONTESTANTS[given.contestant]
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        wanted = "'sentence-transformers[onnx,openvino]'" if "optimum" in needed else "-e '.[parity]'"
        say(skipped=f"{', '.join(missing)} not installed; pip install {wanted}")
        return
    if make in ON_TENSORFLOW:
        import_tensorflow(frozen_weights=precision == "bfloat16")
    config = AlbertConfig.from_json_file(given.albert_config_file)
    chosen = {"folder": given.folder, "task": given.task, "threads": given.threads, "config": config}
    compute = make(types.SimpleNamespace(**chosen), precision)
    compute(ragged_batch(config, 1, given.max_seq_length, given.max_seq_length))
    say(ready=time.perf_counter() - started, memory_mb=peak_memory_mb())
    batches = {}
    for line in sys.stdin:
        size, shortest, repeats = map(int, line.split())
        if (size, shortest) not in batches:
            batches[size, shortest] = ragged_batch(config, size, given.max_seq_length, shortest)
            # Whatever is compiled for a shape, or laid out.
            compute(batches[size, shortest])
        begin, processor_begin = time.perf_counter(), process_seconds()
        for _ in range(repeats):
            compute(batches[size, shortest])
        seconds, processor_seconds = time.perf_counter() - begin, process_seconds() - processor_begin
        say(seconds=seconds / repeats, processor_seconds=processor_seconds / repeats, memory_mb=peak_memory_mb())


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
