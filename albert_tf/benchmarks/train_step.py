"""Times the training step on random records: sequences and model GFLOP a second, time to the first step, memory."""

import json
import resource
import statistics
import time

from absl import flags

from albert_tf import command
from albert_tf.optimization.names import OPTIMIZER_NAMES


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("albert_config_file", "configs/models/albert_mini.json", "The model's shape.", **fv)
    flags.DEFINE_integer("train_batch_size", 16, "Examples of a step.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", **fv)
    flags.DEFINE_enum("optimizer", "lamb", OPTIMIZER_NAMES, "Optimizer.", **fv)
    flags.DEFINE_integer("steps", 5, "Steps that are timed together.", **fv)
    flags.DEFINE_integer("repeats", 5, "Times that many steps are timed; the median counts.", **fv)


def _random_batches(config, batch_size: int, length: int, predictions: int):
    """An endless dataset of one random batch."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)

    def integers(below, *shape):
        return rng.integers(below, size=(batch_size, *shape)).astype("int32")

    batch = {
        "input_ids": integers(config.vocab_size, length),
        "input_mask": np.ones((batch_size, length), "int32"),
        "segment_ids": integers(2, length),
        "masked_lm_positions": integers(length, predictions),
        "masked_lm_ids": integers(config.vocab_size, predictions),
        "masked_lm_weights": np.ones((batch_size, predictions), "float32"),
        "sentence_order_labels": integers(2),
    }
    return tf.data.Dataset.from_tensors(batch).repeat()


def _run() -> None:
    started = time.perf_counter()
    tf = command.import_tensorflow()
    from albert_tf.config import AlbertConfig
    from albert_tf.flops import train_step_flops
    from albert_tf.models.named_weights import named_weights
    from albert_tf.models.pretraining import AlbertForPretraining
    from albert_tf.optimization.build import build_optimizer
    from albert_tf.training.steps import PretrainingSteps
    from albert_tf.training.strategy import make_strategy

    given = flags.FLAGS
    shape = (given.train_batch_size, given.max_seq_length, given.max_predictions_per_seq)
    config = AlbertConfig.from_json_file(given.albert_config_file)
    strategy = make_strategy("auto")
    with strategy.scope():
        model = AlbertForPretraining(config)
        optimizer = build_optimizer(given.optimizer, 1e-4)
        optimizer.build(list(named_weights(model).values()))
    steps = PretrainingSteps(strategy, model, optimizer)
    iterator = iter(strategy.experimental_distribute_dataset(_random_batches(config, *shape)))
    steps.train(iterator, tf.constant(1)).numpy()
    first_step = time.perf_counter() - started
    seconds = []
    for _ in range(given.repeats):
        begin = time.perf_counter()
        steps.train(iterator, tf.constant(given.steps)).numpy()
        seconds.append((time.perf_counter() - begin) / given.steps)
    median = statistics.median(seconds)
    result = {
        "benchmark": "train_step",
        "config": given.albert_config_file,
        "batch": shape[0],
        "length": shape[1],
        "optimizer": given.optimizer,
        "sequences_per_second": shape[0] / median,
        "model_gflops_per_second": train_step_flops(config, *shape) / median / 1e9,
        "seconds_per_step": median,
        "fastest": min(seconds),
        "slowest": max(seconds),
        "seconds_to_first_step": first_step,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))  # noqa: T201


def main() -> None:
    """Entry point of the module."""
    define_flags()
    command.run(_run)


if __name__ == "__main__":
    main()
