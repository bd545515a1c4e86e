"""From serialized records to batches, whether their masks stand in them or are drawn here; both look the same after."""

from collections.abc import Callable

from albert_tf.errors import InputError
from albert_tf.inputs.manifest import Manifest
from albert_tf.inputs.masking_rules import DYNAMIC, STATIC, masking_from_json
from albert_tf.inputs.pretraining_records import parse_batch
from albert_tf.inputs.unmasked_records import parse_unmasked_batch

# What masks are drawn for: other ones in each stream, though seed and place are the same.
TRAINING, EVALUATION = "training", "evaluation"


def resolve_masking(flag: str | None, manifest: Manifest | None) -> str:
    """Where the masks of a set of records come from; records without a manifest have them.

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
    manifest: Manifest | None, max_seq_length: int, max_predictions_per_seq: int, seed: int, stream: str
) -> Callable:
    """What turns serialized records into a batch, in a tf.data graph.

    Args:
        manifest: of the records, None if they have none.
        max_seq_length, max_predictions_per_seq: S and P.
        seed, stream: with the number of an example, they decide its masks if these are drawn here.

    Returns:
        function of (numbers of the examples in the stream, int64 [B], one after the other; the records, string [B])
        that returns what pretraining_records.parse_batch does.

    Raises:
        InputError: masks are drawn by rules that have another P.
    """
    if resolve_masking(None, manifest) == STATIC:
        return lambda _, serialized: parse_batch(serialized, max_seq_length, max_predictions_per_seq)
    from albert_tf.inputs.dynamic_masking import DynamicMasker

    rules, ids = masking_from_json(manifest.masking_parameters)
    if (manifest.max_seq_length, rules.max_predictions_per_seq) != (max_seq_length, max_predictions_per_seq):
        raise InputError(
            f"the records are to be read with max_seq_length={manifest.max_seq_length} and max_predictions_per_seq="
            f"{rules.max_predictions_per_seq}, as their manifest says. Received {max_seq_length} and "
            f"{max_predictions_per_seq}."
        )
    masker = DynamicMasker(rules, ids, max_seq_length, seed, stream)
    return lambda numbers, serialized: masker.mask(parse_unmasked_batch(serialized, max_seq_length), numbers[0])
