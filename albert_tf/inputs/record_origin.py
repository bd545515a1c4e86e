"""Origin of a batch of the training stream: the records that it was made of, for a report on it."""

from collections.abc import Sequence
from typing import Any

from albert_tf.inputs.pretraining_dataset import read_in_order
from albert_tf.records.record_files import read_records


def find_records(
    paths: Sequence[str], num_examples: int, seed: int, start_example: int, count: int
) -> list[dict[str, Any]]:
    """The records of some consecutive examples of make_dataset, found by reading the stream again up to them.

    Args:
        paths, num_examples, seed: as make_dataset was given them.
        start_example: the first example, counted from the stream's start.
        count: how many examples.

    Returns:
        {"file", "record" (number in the file, from 0), "offset" (in bytes, of a compressed file those of the
        decompressed bytes)} of each example.
    """
    import tensorflow as tf

    def number_records(path, kind, number):
        records = tf.data.TFRecordDataset(path, compression_type=kind)
        return records.enumerate().map(lambda record, _: (number, record))

    stream = read_in_order(paths, num_examples, seed, start_example, number_records).take(count)
    places = [(int(number), int(record)) for number, record in stream.as_numpy_iterator()]
    offsets = {}
    for number in {number for number, _ in places}:
        wanted = {record for file, record in places if file == number}
        for record, (offset, _) in enumerate(read_records(paths[number])):
            if record in wanted:
                offsets[number, record] = offset
            if record >= max(wanted):
                break
    return [{"file": paths[n], "record": r, "offset": offsets[n, r]} for n, r in places]
