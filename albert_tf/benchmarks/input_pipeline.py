"""Times the training input alone on records made up for it: examples a second that reach the model."""

import json
import os
import statistics
import tempfile
import time

from absl import flags

from albert_tf import command


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_integer("num_examples", 20_000, "Records to make, in four files.", **fv)
    flags.DEFINE_integer("train_batch_size", 64, "Examples of a batch.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", **fv)
    flags.DEFINE_integer("repeats", 5, "Times the records are read; the median counts.", **fv)


def _write_records(folder: str, count: int, length: int, predictions: int) -> list[str]:
    import numpy as np

    from albert_tf.inputs.pretraining_records import PretrainingInstance, to_example
    from albert_tf.inputs.record_files import frame

    rng = np.random.default_rng(0)
    paths = [os.path.join(folder, f"part-{part}") for part in range(4)]
    for path in paths:
        with open(path, "wb") as file:
            for _ in range(count // len(paths)):
                positions = sorted(rng.choice(length, predictions, replace=False).tolist())
                instance = PretrainingInstance(
                    input_ids=rng.integers(5, 30_000, length).tolist(),
                    segment_ids=[0] * length,
                    token_boundary=[1] * length,
                    masked_lm_positions=positions,
                    masked_lm_ids=rng.integers(5, 30_000, predictions).tolist(),
                    label=int(rng.integers(2)),
                )
                file.write(frame(to_example(instance, length, predictions)))
    return paths


def _run() -> None:
    command.import_tensorflow()
    from albert_tf.inputs.pretraining_dataset import make_dataset

    given = flags.FLAGS
    shape = (given.max_seq_length, given.max_predictions_per_seq)
    with tempfile.TemporaryDirectory() as folder:
        paths = _write_records(folder, given.num_examples, *shape)
        batches = given.num_examples // given.train_batch_size
        iterator = iter(make_dataset(paths, given.train_batch_size, *shape, num_examples=given.num_examples))
        rates = []
        for _ in range(given.repeats):
            begin = time.perf_counter()
            for _ in range(batches):
                next(iterator)
            rates.append(batches * given.train_batch_size / (time.perf_counter() - begin))
    result = {
        "benchmark": "input_pipeline",
        "batch": given.train_batch_size,
        "length": given.max_seq_length,
        "examples_per_second": statistics.median(rates),
        "slowest": min(rates),
        "fastest": max(rates),
    }
    print(json.dumps(result))  # noqa: T201


def main() -> None:
    """Entry point of the module."""
    define_flags()
    command.run(_run)


if __name__ == "__main__":
    main()
