"""Times the training step on random records: sequences and model GFLOP a second, time to the first step, memory."""

import statistics
import time

from absl import flags

from albert_tf.benchmarks.measure import peak_memory_mb, process_seconds
from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.optimization.names import OPTIMIZER_NAMES
from albert_tf.runtime import allocator, command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.training.settings import BACKENDS


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", "configs/models/albert_mini.json", "The model's shape.", **fv)
    flags.DEFINE_integer("train_batch_size", 16, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", lower_bound=1, **fv)
    flags.DEFINE_enum("optimizer", "lamb", OPTIMIZER_NAMES, "Optimizer.", **fv)
    flags.DEFINE_enum("precision", "float32", tuple(DTYPE_POLICIES), "Of the matrix products.", **fv)
    flags.DEFINE_enum("backend", "tensorflow", BACKENDS, "Library that computes.", **fv)
    flags.DEFINE_bool("remat", False, "Compute the inside of a layer again for its gradient, to save memory.", **fv)
    flags.DEFINE_bool("release_memory", False, "Give freed memory back to the system.", **fv)
    flags.DEFINE_bool("constant_graph", False, "Apply the shared block in a loop of the device.", **fv)
    flags.DEFINE_integer("steps", 5, "Steps that are timed together.", lower_bound=1, **fv)
    flags.DEFINE_integer("repeats", 5, "Times that many steps are timed; the median counts.", lower_bound=1, **fv)


def random_batch(config, batch_size: int, length: int, predictions: int):
    """A batch of random records without padding, by the names of the model's inputs: dict of numpy arrays."""
    import numpy as np

    rng = np.random.default_rng(0)

    def integers(below, *shape):
        return rng.integers(below, size=(batch_size, *shape)).astype("int32")

    return {
        "input_ids": integers(config.vocab_size, length),
        "input_mask": np.ones((batch_size, length), "int32"),
        "segment_ids": integers(2, length),
        "masked_lm_positions": integers(length, predictions),
        "masked_lm_ids": integers(config.vocab_size, predictions),
        "masked_lm_weights": np.ones((batch_size, predictions), "float32"),
        "sentence_order_labels": integers(2),
    }


def ragged_batch(config, batch_size: int, length: int, shortest: int):
    """Sequences of evenly spread lengths, the longest `length`, padded to it.

    Raises:
        InputError: the shortest is longer.
    """
    import numpy as np

    if shortest > length:
        raise InputError(f"--shortest={shortest} is more than --max_seq_length={length}")
    batch = random_batch(config, batch_size, length, 1)
    lengths = np.linspace(shortest, length, batch_size).round().astype(int)
    batch["input_mask"] = (np.arange(length) < lengths[:, None]).astype("int32")
    return batch


class SameBatch:
    """The batches of a JAX engine, all of them one batch; TensorFlow, which reads those of a run, need not be there.

    Args:
        batch: arrays by name.
    """

    def __init__(self, batch):
        self._batch = batch

    def __next__(self):
        return self._batch

    def put_back(self, batches) -> None:
        """Does nothing: the next ones are like these."""


def make_step(config, shape, optimizer_name: str, precision: str = "float32", **ways):
    """The training step of run_pretraining on one random batch.

    Args:
        config: AlbertConfig.
        shape: (batch size, sequence length, predictions a sequence).
        optimizer_name: one of OPTIMIZER_NAMES.
        precision: a key of DTYPE_POLICIES.
        **ways: remat and constant_graph of AlbertForPretraining.

    Returns:
        function of a number of steps, which takes them and returns when they are done.
    """
    import keras

    from albert_tf.models.named_weights import named_weights
    from albert_tf.models.pretraining import AlbertForPretraining
    from albert_tf.optimization.build import build_optimizer
    from albert_tf.pretraining.batch_halves import SMALLEST_BATCH
    from albert_tf.pretraining.steps import PretrainingSteps
    from albert_tf.training.machine import leaves_a_core_free
    from albert_tf.training.strategy import make_strategy

    strategy = make_strategy("auto")
    with strategy.scope():
        model = AlbertForPretraining(config, dtype=DTYPE_POLICIES[precision], **ways)
        optimizer = build_optimizer(optimizer_name, 1e-4, precision=precision)
        optimizer.build(list(named_weights(model).values()))
    halves = leaves_a_core_free(strategy) and shape[0] % 2 == 0 and shape[0] * shape[1] >= SMALLEST_BATCH
    steps = PretrainingSteps(strategy, model, optimizer, batch_halves=halves)
    batch = random_batch(config, *shape)
    iterator = SameBatch(batch) if keras.backend.backend() == "jax" else _share_out(strategy, batch, shape[0])
    return lambda count: steps.train(iterator, count)


def _share_out(strategy, batch, batch_size: int):
    import tensorflow as tf

    from albert_tf.inputs.host_batches import share_of_host
    from albert_tf.training.strategy import share_out_batches

    dataset = tf.data.Dataset.from_tensors(batch).repeat()
    return iter(share_out_batches(strategy, lambda context: share_of_host(dataset, batch_size, context)))


def _run() -> None:
    started = time.perf_counter()
    allocator.set_up_memory(release=flags.FLAGS.release_memory)
    import_tensorflow(backend=flags.FLAGS.backend)
    from albert_tf.config import AlbertConfig
    from albert_tf.training.flops import train_step_flops

    given = flags.FLAGS
    shape = (given.train_batch_size, given.max_seq_length, given.max_predictions_per_seq)
    config = AlbertConfig.from_json_file(given.albert_config_file)
    ways = {"remat": given.remat, "constant_graph": given.constant_graph}
    step = make_step(config, shape, given.optimizer, given.precision, **ways)
    step(1)
    first_step = time.perf_counter() - started
    seconds, processor_seconds = [], []
    for _ in range(given.repeats):
        begin, processor_begin = time.perf_counter(), process_seconds()
        step(given.steps)
        seconds.append((time.perf_counter() - begin) / given.steps)
        processor_seconds.append((process_seconds() - processor_begin) / given.steps)
    median = statistics.median(seconds)
    result = {
        "benchmark": "train_step",
        "config": given.albert_config_file,
        "batch": shape[0],
        "length": shape[1],
        "optimizer": given.optimizer,
        "precision": given.precision,
        "backend": given.backend,
        **ways,
        "release_memory": given.release_memory,
        "sequences_per_second": shape[0] / median,
        "model_gflops_per_second": train_step_flops(config, *shape) / median / 1e9,
        "seconds_per_step": median,
        "fastest": min(seconds),
        "slowest": max(seconds),
        "processor_seconds_per_step": statistics.median(processor_seconds),
        "seconds_to_first_step": first_step,
        "peak_memory_mb": peak_memory_mb(),
    }
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
