"""Times the training input alone on records made up for it: examples a second that reach the model."""

import os
import statistics
import tempfile
import time

from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_integer("num_examples", 20_000, "Records to make, in four files.", lower_bound=4, **fv)
    flags.DEFINE_integer("train_batch_size", 64, "Examples of a batch.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of an example.", lower_bound=1, **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", lower_bound=1, **fv)
    flags.DEFINE_enum("masking", "static", ["static", "dynamic"], "Masks in the records, or drawn here.", **fv)
    flags.DEFINE_integer("repeats", 5, "Times the records are read; the median counts.", lower_bound=1, **fv)


def _random_batch(count: int, length: int, predictions: int, seed: int):
    """Full examples of two segments; three pieces in four start a word, about as in English."""
    import numpy as np

    from albert_tf.records.instance_batch import InstanceBatch

    rng = np.random.default_rng(seed)
    ids, boundary = rng.integers(5, 30_000, (count, length)), (rng.random((count, length)) < 0.75).astype(np.uint8)
    ids[:, 0] = 2
    ids[:, [length // 2, -1]] = 3
    boundary[:, [0, 1, length // 2, length // 2 + 1, -1]] = 1
    places = np.argsort(rng.random((count, length)), axis=1)[:, :predictions]
    return InstanceBatch(
        *(ids.ravel(), np.arange(count + 1) * length, np.full(count, length // 2 + 1), boundary.ravel()),
        masked_lm_positions=np.sort(places, axis=1).ravel(),
        masked_lm_ids=rng.integers(5, 30_000, count * predictions),
        prediction_offsets=np.arange(count + 1) * predictions,
        labels=rng.integers(0, 2, count),
    )


def _write_records(folder: str, count: int, length: int, predictions: int, masking: str) -> list[str]:
    from albert_tf.records.instance_batch import to_examples, to_unmasked_examples
    from albert_tf.records.manifest import MANIFEST_SUFFIX, Manifest
    from albert_tf.records.masking_rules import MaskingRules, PieceIds, masking_to_json
    from albert_tf.records.record_files import frame

    names, listed = [f"part-{part}" for part in range(4)], []
    dynamic, size = masking == "dynamic", count // len(names)
    for seed, name in enumerate(names):
        batch = _random_batch(size, length, 0 if dynamic else predictions, seed)
        examples = to_unmasked_examples(batch, length) if dynamic else to_examples(batch, length, predictions)
        contents = b"".join(map(frame, examples))
        with open(os.path.join(folder, name), "wb") as file:
            file.write(contents)
        listed.append({"name": name, "examples": len(examples), "bytes": len(contents), "sha256": ""})
    manifest = Manifest(
        *(listed, count, length, predictions, "sop", "none", {"file": "", "sha256": "", "size": 30_000}),
        masking=masking,
        masking_parameters=masking_to_json(MaskingRules(0.15, predictions), PieceIds(30_000)),
    )
    with open(os.path.join(folder, f"part{MANIFEST_SUFFIX}"), "w") as file:
        file.write(manifest.to_json())
    return [os.path.join(folder, name) for name in names]


def _run() -> None:
    import_tensorflow()
    from albert_tf.benchmarks.measure import process_seconds
    from albert_tf.inputs.pretraining_dataset import make_dataset

    given = flags.FLAGS
    shape = (given.max_seq_length, given.max_predictions_per_seq)
    with tempfile.TemporaryDirectory() as folder:
        paths = _write_records(folder, given.num_examples, *shape, given.masking)
        batches = given.num_examples // given.train_batch_size
        iterator = iter(make_dataset(paths, given.train_batch_size, *shape, num_examples=given.num_examples))
        record_bytes = sum(map(os.path.getsize, paths)) / given.num_examples
        rates, processor_rates = [], []
        for _ in range(given.repeats):
            begin, used = time.perf_counter(), process_seconds()
            for _ in range(batches):
                next(iterator)
            rates.append(batches * given.train_batch_size / (time.perf_counter() - begin))
            processor_rates.append(batches * given.train_batch_size / (process_seconds() - used))
    result = {
        "benchmark": "input_pipeline",
        "batch": given.train_batch_size,
        "length": given.max_seq_length,
        "masking": given.masking,
        "record_bytes": record_bytes,
        "examples_per_second": statistics.median(rates),
        "examples_per_processor_second": statistics.median(processor_rates),
        "slowest": min(rates),
        "fastest": max(rates),
    }
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
