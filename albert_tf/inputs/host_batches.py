"""Batches as one host takes them: its own rows, cut into those of its replicas, some of them ready ahead."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tensorflow as tf

_BATCHES_READY = 8


def share_of_host(batches: "tf.data.Dataset", batch_size: int, context: Any) -> "tf.data.Dataset":
    """Takes the rows of one host from whole batches, and cuts them into those of its replicas, one after another.

    Args:
        batches: tf.data.Dataset of tensors, or of dicts or pairs of them, with B rows.
        batch_size: B.
        context: tf.distribute.InputContext, or None for all rows.
    """
    import tensorflow as tf

    if context is None or context.num_replicas_in_sync == 1:
        return batches
    rows = batch_size // context.num_input_pipelines
    rows_of_replica = batch_size // context.num_replicas_in_sync
    start = rows * context.input_pipeline_id

    def cut(value: Any) -> Any:
        return tf.reshape(value[start : start + rows], [-1, rows_of_replica, *value.shape[1:]])

    def cut_all(*batch: Any) -> Any:
        return tf.nest.map_structure(cut, batch if len(batch) > 1 else batch[0])

    return batches.map(cut_all).unbatch()


def ready_ahead(batches: "tf.data.Dataset") -> "tf.data.Dataset":
    """Keeps some batches ready, by fixed numbers: the thread that tunes them holds up a run's end by up to a minute."""
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.prefetch(_BATCHES_READY).with_options(options)
