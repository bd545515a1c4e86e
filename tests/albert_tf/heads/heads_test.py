"""The heads of one matrix product, against that product: classes, options, starts and ends; and their dropout."""

import numpy as np
import pytest

from albert_tf.config import AlbertConfig
from albert_tf.heads.finetuning import ClassificationHead, MultipleChoiceHead, SpanHead
from albert_tf.heads.pretraining import SentenceOrderHead

H, CLASSES, OPTIONS = 6, 3, 4
CONFIG = AlbertConfig(vocab_size=10, hidden_size=H, num_attention_heads=2)
SEED = np.array([1, 2], "int32")


def _with_random_weights(head):
    """The head, its kernel and its bias."""
    head.build()
    rng = np.random.default_rng(0)
    for variable in head.trainable_variables:
        variable.assign(rng.normal(size=variable.shape))
    return head, *(variable.numpy() for variable in head.trainable_variables)


def _hidden(*shape):
    return np.random.default_rng(1).normal(size=shape).astype("float32")


@pytest.mark.parametrize("shape", [(5, H), (2, 7, H)])
def test_classes_are_scored_by_one_product(shape):
    head, kernel, bias = _with_random_weights(ClassificationHead(CONFIG, CLASSES))
    x = _hidden(*shape)
    np.testing.assert_allclose(head(x), x @ kernel + bias, atol=1e-5)


def test_two_scores_tell_the_order_of_two_segments():
    head, kernel, bias = _with_random_weights(SentenceOrderHead(CONFIG))
    x = _hidden(5, H)
    np.testing.assert_allclose(head(x), x @ kernel + bias, atol=1e-5)


def test_the_options_of_an_example_stand_in_a_row():
    head, kernel, bias = _with_random_weights(MultipleChoiceHead(CONFIG))
    x = _hidden(3 * OPTIONS, H)
    scores = head(x, num_options=OPTIONS).numpy()
    assert scores.shape == (3, OPTIONS)
    for example in range(3):
        own = x[example * OPTIONS : (example + 1) * OPTIONS]
        np.testing.assert_allclose(scores[example], (own @ kernel + bias)[:, 0], atol=1e-5)


def test_starts_are_the_first_score_of_a_piece_and_ends_the_second():
    head, kernel, bias = _with_random_weights(SpanHead(CONFIG))
    x = _hidden(2, 7, H)
    scores, outputs = x @ kernel + bias, head(x)
    np.testing.assert_allclose(outputs["start_logits"], scores[..., 0], atol=1e-5)
    np.testing.assert_allclose(outputs["end_logits"], scores[..., 1], atol=1e-5)


@pytest.mark.parametrize(
    ("head", "more"),
    [(ClassificationHead(CONFIG, 1, 0.75), {}), (MultipleChoiceHead(CONFIG, 0.75), {"num_options": 1})],
)
def test_a_share_of_what_is_projected_is_dropped_and_the_rest_scaled_up(head, more):
    head, kernel, _ = _with_random_weights(head)
    kernel[:] = 0.0
    kernel[0] = 1.0
    head.kernel.assign(kernel)
    head.bias.assign([0.0])
    # Each score is the first number of its row, or nothing of it.
    scores = head(np.ones((4000, H), "float32"), seed=SEED, training=True, **more).numpy()
    assert set(np.unique(scores)) == {0.0, 4.0}
    assert abs((scores == 0).mean() - 0.75) < 0.03
    assert (head(np.ones((4, H), "float32"), **more).numpy() == 1).all()
