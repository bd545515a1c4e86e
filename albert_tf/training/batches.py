"""Batches on their way into a step: cut into micro-batches, and the time at which they are there."""

import tensorflow as tf


def cut_rows(value, number):
    """Micro-batches of a part of a batch: [B, ...] -> [number, B / number, ...]; other axes may be of any length."""
    length = None if value.shape[0] is None else value.shape[0] // number
    parts = tf.reshape(value, tf.concat([[number, -1], tf.shape(value)[1:]], axis=0))
    return tf.ensure_shape(parts, [number, length, *value.shape[1:]])


def cut_batch(batch, number):
    """The micro-batches of a batch, stacked: what cut_rows makes of each of its tensors, by name."""
    return {name: cut_rows(value, number) for name, value in batch.items()}


def part_of(parts, index):
    """One micro-batch of those that cut_batch made."""
    return {name: tf.ensure_shape(value[index], value.shape[1:]) for name, value in parts.items()}


def stamp(batch):
    """A distributed batch, and the time in seconds at which all of it was there.

    Nothing is computed of the batch before the time is taken: with one thread the clock would come last.
    """
    parts = tf.nest.flatten(batch, expand_composites=True)
    with tf.control_dependencies(parts):
        now = tf.timestamp()
    with tf.control_dependencies([now]):
        parts = [_copy_in_place(part) for part in parts]
    return tf.nest.pack_sequence_as(batch, parts, expand_composites=True), now


def _copy_in_place(part):
    """The same tensor after the control dependencies, on the replica's device where it lies."""
    with tf.device(part.device):
        return tf.identity(part)
