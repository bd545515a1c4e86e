"""Parsing of serialized records into batches, which look the same wherever masks and order come from."""

from collections.abc import Callable

from albert_tf.inputs.reading import AS_MADE, Reading
from albert_tf.records.manifest import Manifest
from albert_tf.records.masking_rules import (
    DYNAMIC,
    STATIC,
    masking_from_json,
)
from albert_tf.records.names import SOP
from albert_tf.records.pretraining_records import parse_batch
from albert_tf.records.unmasked_records import parse_unmasked_batch
from albert_tf.runtime.errors import InputError

# What masks are drawn for: different masks for each, though seed and place are the same.
TRAINING, EVALUATION = "training", "evaluation"


def resolve_masking(flag: str | None, manifest: Manifest | None) -> str:
    """Finds out where the masks of a set of records come from; records without a manifest hold their own.

    Args:
        flag: static, dynamic, or None for what the manifest says.
        manifest: of the records, None if they have none.

    Raises:
        InputError: the records are of the other kind.
    """
    made_for = STATIC if manifest is None else manifest.masking
    if flag not in (None, made_for):
        holds = "hold no masks, they are drawn in training" if made_for == DYNAMIC else "have their masks in them"
        raise InputError(
            f"--masking={flag}, but the records {holds} (--masking={made_for}); leave --masking out, or make records "
            f"with create_pretraining_data --masking={flag}"
        )
    return made_for


def batch_parser(
    manifest: Manifest | None,
    max_seq_length: int,
    max_predictions_per_seq: int,
    seed: int,
    stream: str,
    reading: Reading = AS_MADE,
) -> Callable:
    """Makes the function that turns serialized records into a batch, in a tf.data graph.

    Args:
        manifest: of the records, None if they have none.
        max_seq_length, max_predictions_per_seq: S and P.
        seed, stream: with the number of an example, they decide its masks if these are drawn here, and for training the
            order of its segments.
        reading: how the examples are cut and masked, if masks are drawn here.

    Returns:
        function of (numbers of the examples in the stream, int64 [B], one after the other; the records, string [B])
        that returns what pretraining_records.parse_batch does.

    Raises:
        InputError: masks are drawn by rules that have a different P, or a reading is given for records with masks.
    """
    if resolve_masking(None, manifest) == STATIC:
        if reading != AS_MADE:
            raise InputError(f"records with masks are read as they are. Received {reading}.")
        return lambda _, serialized: parse_batch(serialized, max_seq_length, max_predictions_per_seq)
    from albert_tf.inputs.dynamic_masking import DynamicMasker
    from albert_tf.inputs.example_draws import OrderDrawer
    from albert_tf.inputs.excerpts import Cutter

    rules, ids = masking_from_json(manifest.masking_parameters)
    if (manifest.max_seq_length, rules.max_predictions_per_seq) != (max_seq_length, max_predictions_per_seq):
        raise InputError(
            f"the records are to be read with max_seq_length={manifest.max_seq_length} and max_predictions_per_seq="
            f"{rules.max_predictions_per_seq}, as their manifest says. Received {max_seq_length} and "
            f"{max_predictions_per_seq}."
        )
    rules = reading.rules(rules, max_seq_length)
    steps = []
    # What the official quirks label 1 may be text of two documents.
    if stream == TRAINING and manifest.sentence_task == SOP and not rules.reference_quirks:
        steps.append(OrderDrawer(seed, stream).redraw)
    if reading.seq_length is not None:
        steps.append(Cutter(reading.seq_length, seed, stream).cut)
    steps.append(DynamicMasker(rules, ids, reading.seq_length or max_seq_length, seed, stream).mask)

    def parse(numbers, serialized):
        batch = parse_unmasked_batch(serialized, max_seq_length)
        for step in steps:
            batch = step(batch, numbers[0])
        return batch

    return parse
