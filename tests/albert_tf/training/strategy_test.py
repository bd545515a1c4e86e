"""Devices take their batches."""

import tensorflow as tf

from albert_tf.training.strategy import default_strategy, make_strategy, share_out_batches


def make_batches(context):
    """Three batches, whatever the context."""
    return tf.data.Dataset.range(3)


def test_one_processor_has_no_iterator_of_tf_distribute_to_wait_for():
    batches = share_out_batches(make_strategy("one_device"), make_batches)
    assert type(batches) is type(tf.data.Dataset.range(3))
    assert list(batches.as_numpy_iterator()) == [0, 1, 2]


def test_other_strategies_are_asked_with_their_context():
    asked = []

    def make_with_context(context):
        asked.append(context.num_replicas_in_sync)
        return make_batches(context)

    for strategy in (make_strategy("mirrored"), default_strategy()):
        assert [int(batch) for batch in share_out_batches(strategy, make_with_context)] == [0, 1, 2]
    assert asked == [1, 1]
