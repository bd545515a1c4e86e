"""The span head with a beam, against the same worked out in numpy, start by start."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.heads.span_beam import SpanBeamHead
from albert_tf.runtime.errors import InputError

B, S, H, K = 2, 7, 4, 3
CONFIG = AlbertConfig(vocab_size=10, hidden_size=H, num_attention_heads=2)


@pytest.fixture
def head():
    head = SpanBeamHead(CONFIG, beam_size=K, dropout_rate=0.5)
    head.build()
    rng = np.random.default_rng(0)
    for variable in head.weights:
        variable.assign(rng.normal(size=variable.shape))
    return head


@pytest.fixture
def hidden():
    return np.random.default_rng(1).normal(size=(B, S, H)).astype("float32")


P_MASK = np.array([[0, 1, 1, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0, 0]])


def _log_softmax(x):
    return x - np.log(np.sum(np.exp(x - x.max()))) - x.max()


def _end_logits(head, sequence, start, p_mask):
    both = np.concatenate([sequence, np.tile(sequence[start], (S, 1))], axis=1)
    both = np.tanh(both @ head.end_transform.kernel.numpy() + head.end_transform.bias.numpy())
    both = (both - both.mean(1, keepdims=True)) / np.sqrt(both.var(1, keepdims=True) + 1e-12)
    both = both * head.end_layer_norm.gamma.numpy() + head.end_layer_norm.beta.numpy()
    logits = (both @ head.end.kernel.numpy() + head.end.bias.numpy())[:, 0]
    return np.where(p_mask, -1e30, logits)


def test_the_beam_holds_the_likeliest_starts_and_for_each_its_likeliest_ends(head, hidden):
    outputs = {name: value.numpy() for name, value in head(hidden, P_MASK).items()}
    for row in range(B):
        logits = np.where(P_MASK[row], -1e30, (hidden[row] @ head.start.kernel.numpy() + head.start.bias.numpy())[:, 0])
        starts = np.argsort(-logits)[:K]
        np.testing.assert_array_equal(outputs["start_top_index"][row], starts)
        np.testing.assert_allclose(outputs["start_top_log_probs"][row], _log_softmax(logits)[starts], atol=1e-5)
        for place, start in enumerate(starts):
            ends = _end_logits(head, hidden[row], start, P_MASK[row])
            best = np.argsort(-ends)[:K]
            np.testing.assert_array_equal(outputs["end_top_index"][row, place], best)
            np.testing.assert_allclose(outputs["end_top_log_probs"][row, place], _log_softmax(ends)[best], atol=1e-5)
        mean = np.exp(_log_softmax(logits)) @ hidden[row]
        both = np.concatenate([mean, hidden[row, 0]])
        both = np.tanh(both @ head.answerability_transform.kernel.numpy() + head.answerability_transform.bias.numpy())
        expected = (both @ head.answerability.kernel.numpy())[0]
        assert outputs["answerability_logits"][row] == pytest.approx(expected, abs=1e-5)


def test_training_scores_the_ends_by_the_right_start(head, hidden):
    outputs = head(hidden, P_MASK, np.array([3, 5]), seed=tf.constant([1, 2]), training=True)
    for row, start in enumerate((3, 5)):
        expected = _end_logits(head, hidden[row], start, P_MASK[row])
        np.testing.assert_allclose(outputs["end_logits"][row], expected, rtol=1e-5, atol=1e-5)
    other = head(hidden, P_MASK, np.array([3, 5]), seed=tf.constant([9, 2]), training=True)
    assert np.abs(outputs["answerability_logits"] - other["answerability_logits"]).max() > 1e-3
    np.testing.assert_array_equal(outputs["start_logits"], other["start_logits"])


def test_a_sequence_shorter_than_the_beam_has_a_narrower_one(head, hidden):
    outputs = tf.function(lambda x: head(x, tf.zeros(tf.shape(x)[:2])))(tf.constant(hidden[:, :2]))
    assert outputs["end_top_index"].shape[1:] == (2, 2)
    # The same where the length is not known before.
    signature = [tf.TensorSpec([None, None, H])]
    narrow = tf.function(lambda x: head(x, tf.zeros(tf.shape(x)[:2])), input_signature=signature)
    for length in (2, K, S):
        outputs = narrow(tf.constant(hidden[:, :length]))
        assert outputs["end_top_index"].shape[1:] == (min(length, K),) * 2
    assert SpanBeamHead.from_config(head.get_config()).get_config() == head.get_config()


@pytest.mark.parametrize("beam_size", [0, -1, 2.5])
def test_a_beam_of_nothing_is_refused(beam_size):
    with pytest.raises(InputError, match="`beam_size` must be a whole number of at least 1"):
        SpanBeamHead(CONFIG, beam_size=beam_size)
