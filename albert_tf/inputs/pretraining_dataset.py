"""Batches of record files: an endless, seeded stream for training, one ordered pass for evaluation.

The training stream is a function of (files, seed, position): started again at the example where a killed run
stopped, it goes on with the very examples that run would have seen.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from albert_tf.inputs.batch_parsing import EVALUATION, TRAINING, batch_parser, resolve_masking
from albert_tf.inputs.host_batches import ready_ahead, share_of_host
from albert_tf.inputs.reading import AS_MADE, Reading
from albert_tf.records.manifest import find_entries, find_record_files
from albert_tf.records.masking_rules import STATIC
from albert_tf.records.names import EXAMPLE_WEIGHTS
from albert_tf.records.pretraining_records import (
    Manifest,
    check_records,
    count_examples,
    detect_compression,
    locate_damage,
    read_manifest,
)
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError, reason_of
from albert_tf.runtime.given_values import count_of
from albert_tf.runtime.settings import StrPath

if TYPE_CHECKING:
    import tensorflow as tf

    from albert_tf.inputs.row_packing import Packing

# Files read side by side, and records held back to be shuffled. Record sets of ours are shuffled as a whole when
# they are made; the buffer is for sets that are not.
_FILES_AT_ONCE, _SHUFFLE_BUFFER = 4, 10_000
_BATCHES_PARSED_AT_ONCE = 4
# The second of the masks that are drawn for an evaluation: the same ones every time.
_GRAPH_SEED, _EVALUATION_SEED = 12345, 0


@dataclasses.dataclass(frozen=True)
class RecordSet:
    """Record files that were looked at and found to fit.

    Attributes:
        paths: the files.
        num_examples: records in all of them.
        max_seq_length: S.
        max_predictions_per_seq: P.
        manifest: what was written beside them, None for official records.
    """

    paths: tuple[str, ...]
    num_examples: int
    max_seq_length: int
    max_predictions_per_seq: int
    manifest: Manifest | None


def open_records(
    patterns: str, max_seq_length: int, max_predictions_per_seq: int, vocab_size: int, flag: str = "input_file"
) -> RecordSet:
    """Finds record files and checks that they fit the settings of the trainer.

    Args:
        patterns: comma-separated paths and globs.
        max_seq_length: S the records must have.
        max_predictions_per_seq: P the records must have.
        vocab_size: the model's.
        flag: the flag the patterns came from, for errors.

    Raises:
        InputError: no such file, different lengths, a different vocabulary size, a damaged or empty file.
    """
    paths = find_record_files(patterns, flag)
    manifest = read_manifest(paths)
    if manifest is not None and manifest.vocabulary["size"] != vocab_size:
        raise InputError(
            f"--{flag}: the records were made with a vocabulary of {manifest.vocabulary['size']} pieces "
            f"({manifest.vocabulary['file']}), the config says vocab_size={vocab_size}; use the config that belongs "
            "to that vocabulary, or a copy of this one with that vocab_size"
        )
    check_records(paths, max_seq_length, max_predictions_per_seq, vocab_size)
    if manifest is not None:
        count = sum(entry["examples"] for entry in find_entries(paths).values())
    else:
        count = count_examples(paths)
    return RecordSet(tuple(paths), count, max_seq_length, max_predictions_per_seq, manifest)


def make_dataset(
    paths: StrPath | Sequence[StrPath],
    batch_size: int,
    max_seq_length: int,
    max_predictions_per_seq: int,
    num_examples: int | None = None,
    seed: int = 0,
    start_example: int = 0,
    context: "tf.distribute.InputContext | None" = None,
    masking: str | None = None,
    reading: Reading = AS_MADE,
    packing: "Packing | None" = None,
    steps_into_window: int = 0,
) -> "tf.data.Dataset":
    """The endless training stream: every epoch each record once, files and records in a new order.

    Several hosts read the same stream, and each parses its own rows of every batch: no record is used by two hosts,
    and the batches are those of one host, whatever their number; with packing each replica packs its own examples.

    Args:
        paths: record files; or comma-separated paths and globs in one text.
        batch_size: B, over all replicas.
        max_seq_length: S of the records.
        max_predictions_per_seq: P of the records.
        num_examples: records in the files, so that whole epochs can be passed over; None counts them.
        seed: of the order, and of the masks if the records have none.
        start_example: examples to leave out at the stream's start, those already seen.
        context: tf.distribute.InputContext, for a share of each batch as the replicas of one host take it; None for
            whole batches.
        masking: "static" or "dynamic", if the records must be of that kind; their manifest says which they are.
        reading: of records without masks, how long examples are cut, and how they are masked.
        packing: of records without masks, the size of a replica's rows, each of several examples; None: one in a row.
        steps_into_window: with packing, the steps of a window that are done at `start_example`.

    Returns:
        tf.data.Dataset of what `parse_batch` makes of B records, or, with a context, of those of one replica; with
        packing of what RowPacker.pack makes of that. A batch may span two epochs. It has no end: Keras's fit wants
        `steps_per_epoch`, evaluate `steps`, or a part of it, `take(steps)`.

    Raises:
        InputError: no record file, or records of another kind than `masking`, `reading` or `packing` want.
    """
    names = _names_of(paths)
    batch_size = count_of(batch_size, "batch_size")
    manifest = read_manifest(names)
    if resolve_masking(masking, manifest) == STATIC and packing is not None:
        raise InputError(f"records with masks are read as they are. Received {packing}.")
    parse = batch_parser(manifest, max_seq_length, max_predictions_per_seq, seed, TRAINING, reading)
    count = _count_of(names) if num_examples is None else num_examples
    first = max(0, start_example - steps_into_window * batch_size)
    # With each record its number in the stream, by which its masks are drawn.
    records = read_in_order(names, count, seed, first, _read_file).enumerate(first)
    batches = share_of_host(records.batch(batch_size, drop_remainder=True), batch_size, context)
    parsed = batches.map(parse, num_parallel_calls=_BATCHES_PARSED_AT_ONCE, deterministic=True)
    if packing is not None:
        from albert_tf.inputs.row_packing import pack_batches

        parsed = pack_batches(parsed, packing, reading.seq_length or max_seq_length).skip(steps_into_window)
    return _without_end(ready_ahead(parsed))


def _count_of(names: list[str]) -> int:
    """The number of records; raises InputError if there are none."""
    count = count_examples(names)
    if not count:
        raise InputError(f"{', '.join(names[:3])}: no record in {len(names)} file(s)")
    return count


def _without_end(batches: "tf.data.Dataset") -> "tf.data.Dataset":
    """Tells TensorFlow that a stream has no end, so that it knows how many batches a part of it has.

    Keras, where it comes upon an end that it did not foresee, counts a batch too many in its means.
    """
    import tensorflow as tf

    return batches.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def _read_file(path: Any, kind: Any, _: Any) -> "tf.data.Dataset":
    import tensorflow as tf

    return tf.data.TFRecordDataset(path, compression_type=kind)


def _names_of(paths: StrPath | Sequence[StrPath]) -> list[str]:
    """The record files of make_dataset's `paths` as text; raises InputError if there are none."""
    if isinstance(paths, str | os.PathLike):
        return find_record_files(os.fspath(paths), "paths")
    names = [os.fspath(path) for path in paths]
    if missing := [name for name in names if not files.exists(name)]:
        raise InputError(f"{missing[0]}: no such record file")
    if names:
        return names
    raise InputError("`paths` names no record file.")


def read_in_order(
    paths: Sequence[str], count: int, seed: int, start_example: int, read_file: Callable[[Any, Any, Any], Any]
) -> "tf.data.Dataset":
    """Something of every record, in the order of the training stream.

    Args:
        paths: record files.
        count: records in them.
        seed: of the order.
        start_example: examples to leave out at the stream's start.
        read_file: function of (path, compression, number of the file), all tensors, that returns a tf.data.Dataset
            with one element for each record of the file.

    Returns:
        tf.data.Dataset of the elements; endless.
    """
    import tensorflow as tf

    compression = [detect_compression(path) for path in paths]

    def read_epoch(epoch: Any) -> Any:
        # Of this function's graph alone. tf.data mixes it into the seeds below, and fails where it is 0; without it
        # the program's global seed would be taken.
        tf.random.set_seed(_GRAPH_SEED)
        # Two numbers of which both depend on seed and epoch.
        seeds = tf.random.stateless_uniform([2], [seed, epoch], minval=None, maxval=None, dtype=tf.int64, alg="philox")
        files_and_kinds = ([*map(os.fsencode, paths)], compression, list(range(len(paths))))
        sources = tf.data.Dataset.from_tensor_slices(files_and_kinds).shuffle(len(paths), seed=seeds[0])
        records = sources.interleave(read_file, cycle_length=min(_FILES_AT_ONCE, len(paths)))
        return records.shuffle(_SHUFFLE_BUFFER, seed=seeds[1])

    first_epoch, position = divmod(start_example, count)
    epochs = tf.data.Dataset.range(first_epoch, tf.int64.max)
    return epochs.flat_map(read_epoch).skip(position)


def make_evaluation_dataset(
    records: RecordSet,
    batch_size: int,
    max_steps: int | None = None,
    context: "tf.distribute.InputContext | None" = None,
) -> "tf.data.Dataset":
    """One pass in the files' order, the last batch filled up with examples of weight 0.

    Args:
        records: what to read.
        batch_size: B, over all replicas.
        max_steps: batches to stop after; None reads all.
        context: as in make_dataset.

    Returns:
        tf.data.Dataset of what `parse_batch` makes, and EXAMPLE_WEIGHTS float32 [B].
    """
    import tensorflow as tf

    compression = [detect_compression(path) for path in records.paths]
    sources = tf.data.Dataset.from_tensor_slices(([*map(os.fsencode, records.paths)], compression))
    serialized = sources.flat_map(lambda path, kind: tf.data.TFRecordDataset(path, compression_type=kind))
    if max_steps is not None:
        serialized = serialized.take(max_steps * batch_size)
    lengths = records.max_seq_length, records.max_predictions_per_seq
    parse = batch_parser(records.manifest, *lengths, _EVALUATION_SEED, EVALUATION)

    def parse_and_fill(numbers: Any, batch: Any) -> dict[str, Any]:
        present = tf.shape(batch)[0]
        missing = batch_size - present
        features = parse(numbers, batch)
        features[EXAMPLE_WEIGHTS] = tf.ones([present])
        filled = {}
        for name, value in features.items():
            padding = [[0, missing]] + [[0, 0]] * (value.shape.rank - 1)
            filled[name] = tf.ensure_shape(tf.pad(value, padding), [batch_size, *value.shape[1:]])
        return filled

    batches = serialized.enumerate().batch(batch_size).map(parse_and_fill)
    return ready_ahead(share_of_host(batches, batch_size, context))


@contextlib.contextmanager
def explain_record_errors(paths: Sequence[str]) -> Iterator[None]:
    """Turns what TensorFlow says of a bad record into one line that names the file and the place.

    Raises:
        InputError: a record is corrupt, or is not what its neighbours are.
    """
    import tensorflow as tf

    try:
        yield
    except tf.errors.DataLossError as error:
        place = locate_damage(paths)
        raise InputError(place or f"a record file is damaged: {reason_of(error)}") from None
    except tf.errors.InvalidArgumentError as error:
        text = " ".join(reason_of(error).split())
        if "parse" in text and "xample" in text:
            raise InputError(f"{', '.join(paths)}: a record has other features than the first one: {text}") from None
        if "is not in [0," in text:
            raise InputError(f"{', '.join(paths)}: a record holds an id out of range: {text}") from None
        raise
