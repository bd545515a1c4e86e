"""One contestant in a process of its own: prepares, then runs when it is told to.

Standard output carries one JSON object a line: {"ready": seconds, "memory_mb": ...} when the first repetition is
done, then for every number read from standard input what that many repetitions took. The end of the input ends it.
"""

import importlib.util
import os
import sys
import time

from absl import flags

from albert_tf.benchmarks.measure import device_memory_mb, peak_memory_mb, process_seconds
from albert_tf.runtime import allocator, command
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.operation_threads import usual_threads
from albert_tf.runtime.tensorflow_import import import_tensorflow

# How the names of contestants end that run on JAX.
ON_JAX = "_jax"


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("contestant", None, "A key of contestants.TASKS[task].", **fv)
    flags.DEFINE_enum("task", "train", ("train", "encode", "classify"), "What to do again and again.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's shape.", **fv)
    flags.DEFINE_integer("batch_size", 16, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer(
        "shortest", None, "Tokens of the shortest sequence to encode; None: all have the most.", lower_bound=1, **fv
    )
    flags.DEFINE_string("optimizer", "lamb", "Optimizer.", **fv)
    flags.DEFINE_string("precision", "float32", "float32 or bfloat16.", **fv)
    flags.DEFINE_bool("measure_products", False, "Measure matrix products too, of an albert_tf.", **fv)


def say(**values) -> None:
    """Prints a JSON line for the process that waits for it."""
    print(to_json(values), flush=True)  # noqa: T201


def leave_others_aside(contestant: str) -> None:
    """Keeps libraries that only happen to be installed out of a contestant's memory and its time to start.

    TensorFlow imports jax where it is installed (140 MB), some of torch's libraries TensorFlow.
    """
    if contestant.endswith(ON_JAX):
        return
    others = ("jax", "tensorflow") if contestant.startswith("hugging_face") else ("jax",)
    sys.modules.update(dict.fromkeys(others))


def _run() -> None:
    started = time.perf_counter()
    given = flags.FLAGS
    leave_others_aside(given.contestant)
    from albert_tf.benchmarks.contestants import NEEDS, TASKS
    from albert_tf.config import AlbertConfig

    missing = [name for name in NEEDS[given.contestant] if importlib.util.find_spec(name) is None]
    if missing:
        say(skipped=f"{', '.join(missing)} not installed; pip install -e '.[parity]'")
        return
    config = AlbertConfig.from_json_file(given.albert_config_file)
    if given.contestant == "albert_tf" + ON_JAX:
        # Of its step nothing needs TensorFlow, which need not be there.
        os.environ["KERAS_BACKEND"] = "jax"
    elif not given.contestant.startswith("hugging_face"):
        # As the commands do that train, and those that serve.
        if given.contestant == "albert_tf" and given.task == "train":
            allocator.set_up_memory()
        frozen = given.task != "train" and given.precision == "bfloat16"
        threads = usual_threads([config.hidden_size]) if given.contestant == "albert_tf" else None
        backend = "jax" if given.contestant.endswith(ON_JAX) else None
        import_tensorflow(frozen, backend=backend, num_threads=threads)
    third = given.max_predictions_per_seq if given.task == "train" else given.shortest or given.max_seq_length
    shape = (given.batch_size, given.max_seq_length, third)
    repeat = TASKS[given.task][given.contestant](config, shape, given.optimizer, given.precision)
    repeat(1)
    ready = {"ready": time.perf_counter() - started, "memory_mb": _memory_mb()}
    if given.measure_products:
        ready["products_gflops"] = _measure_products(given.precision) / 1e9
    say(**ready)
    for line in sys.stdin:
        begin, processor_begin = time.perf_counter(), process_seconds()
        repeat(int(line))
        seconds, processor_seconds = time.perf_counter() - begin, process_seconds() - processor_begin
        say(seconds=seconds, processor_seconds=processor_seconds, memory_mb=_memory_mb())


def _memory_mb() -> float:
    return device_memory_mb() or peak_memory_mb()


def _measure_products(precision: str) -> float:
    from albert_tf.training.machine import measure_matmul_peak
    from albert_tf.training.strategy import make_strategy

    return measure_matmul_peak(make_strategy("auto"), precision)


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
