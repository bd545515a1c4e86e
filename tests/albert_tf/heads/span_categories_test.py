"""The head of categories of spans, against the same worked out in numpy, span by span."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.heads.span_categories import FIRST_PROBABILITY, SPAN_SIZE, SpanCategoriesHead
from albert_tf.runtime.errors import InputError

B, S, H, W, C = 2, 6, 4, 3, 2
CONFIG = AlbertConfig(vocab_size=10, hidden_size=H, num_attention_heads=2)


@pytest.fixture
def head():
    head = SpanCategoriesHead(CONFIG, C, W, dropout_rate=0.5)
    head.build()
    rng = np.random.default_rng(0)
    for variable in head.weights:
        variable.assign(rng.normal(size=variable.shape))
    return head


@pytest.fixture
def hidden():
    return np.random.default_rng(1).normal(size=(B, S, H)).astype("float32")


def test_a_span_is_scored_by_its_ends_and_its_width(head, hidden):
    logits = head(hidden).numpy()
    assert logits.shape == (B, S, W, C)
    of = {variable.name: variable.numpy() for variable in head.weights}
    for row in range(B):
        for first in range(S):
            for more in range(min(W, S - first)):
                span = hidden[row, first] @ of["start_kernel"] + hidden[row, first + more] @ of["end_kernel"]
                span += np.concatenate([of["width_embeddings"][more], H * of["width_bias"][more]])
                wanted = np.tanh(span[:-C]) @ of["kernel"] + span[-C:] + of["bias"]
                np.testing.assert_allclose(logits[row, first, more], wanted, atol=1e-5)


def test_a_longer_sequence_changes_no_span_within_a_shorter_one(head, hidden):
    whole, part = head(hidden).numpy(), head(hidden[:, :4]).numpy()
    for first in range(4):
        np.testing.assert_allclose(part[:, first, : 4 - first], whole[:, first, : 4 - first][:, :W], atol=1e-6)


def test_any_length_goes_through_one_graph(head, hidden):
    call = tf.function(lambda x: head(x), input_signature=[tf.TensorSpec([None, None, H])])
    for length in (1, 2, 6):
        np.testing.assert_allclose(call(hidden[:, :length]), head(hidden[:, :length]), atol=1e-6)


def test_next_to_no_span_has_a_label_to_begin_with(hidden):
    new = SpanCategoriesHead(CONFIG, C, W)
    new.build()
    chances = tf.sigmoid(new(hidden)).numpy()
    np.testing.assert_allclose(chances, FIRST_PROBABILITY, atol=0.01)
    wide = SpanCategoriesHead(AlbertConfig(vocab_size=10, hidden_size=256, num_attention_heads=2), C)
    wide.build()
    assert wide.start_kernel.shape == (256, SPAN_SIZE + C)


def test_dropout_is_of_what_is_projected_and_a_seed_decides_it(head, hidden):
    one, again, other = (head(hidden, seed=tf.constant([seed, 2]), training=True).numpy() for seed in (1, 1, 3))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3


def test_a_config_makes_the_same_head(head):
    again = SpanCategoriesHead.from_config(head.get_config())
    assert (again.num_labels, again.max_span_length, again.dropout_rate) == (C, W, 0.5)


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0), (2, 1.5)])
def test_numbers_that_are_none_are_refused(sizes):
    with pytest.raises(InputError, match="must be a whole number of at least 1"):
        SpanCategoriesHead(CONFIG, *sizes)
