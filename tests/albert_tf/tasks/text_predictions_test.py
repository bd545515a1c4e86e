"""Predictions from the logits of a text: classes, several labels, numbers; at their borders and for any logits."""

import numpy as np
import pytest

from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import TextExample, softmax


@pytest.fixture
def make(write, tmp_path):
    """A function of TaskOptions' fields that returns the task of a user's small table."""

    def make_own(**options):
        contents = "text\ttext_pair\tlabel\nthe film\tthe city\t1\nthe river\tthe film\t0\n"
        for split in ("train", "dev"):
            write(f"own/{split}.tsv", contents)
        return make_task("classification", str(tmp_path / "own"), TaskOptions(**options))

    return make_own


def _predict(task, *rows):
    return task.predictions([], [], {"logits": [np.array(row, np.float32) for row in rows]}, TaskSettings())


def test_the_likeliest_class_is_said_and_probabilities_add_up_to_one(make):
    first, second = _predict(make(), [2.0, -1.0], [-1.0, 2.0])
    assert (first.value, second.value) == (0, 1)
    assert first.probabilities == pytest.approx((1 / (1 + np.exp(-3)), 1 / (1 + np.exp(3))))
    # Logits that float32 holds, and whose powers it does not.
    (huge,) = _predict(make(), [3e38, -3e38])
    assert huge.probabilities == (1.0, 0.0)


def test_softmax_is_of_each_row_by_itself():
    rows = softmax(np.log([[1.0, 3.0], [1.0, 1.0]]))
    np.testing.assert_allclose(rows, [[0.25, 0.75], [0.5, 0.5]])


def test_a_label_is_said_from_a_probability_of_a_half_on(make):
    (prediction,) = _predict(make(multi_label=True), [0.0, -0.01])
    assert prediction.value == (1, 0)
    (prediction,) = _predict(make(multi_label=True), [0.2, np.log(3.0)])
    assert prediction.value == (1, 1)
    assert prediction.probabilities == pytest.approx((1 / (1 + np.exp(-0.2)), 0.75))


def test_a_number_is_said_as_it_is(make):
    (prediction,) = _predict(make(regression=True), [-2.5])
    assert (prediction.value, prediction.probabilities) == (-2.5, ())


def test_both_texts_are_read_and_cut_to_the_length(make, tokenizer):
    task, settings = make(), TaskSettings(max_seq_length=40)
    first, second = tokenizer.encode("the film"), tokenizer.encode("the city")
    [feature] = task.features(0, TextExample("0", "the film", "the city", 1), tokenizer, settings)
    ends = [tokenizer.sep_id]
    assert list(feature.input_ids) == [tokenizer.cls_id, *first, *ends, *second, *ends]
    assert list(feature.segment_ids) == [0] * (len(first) + 2) + [1] * (len(second) + 1)
    [alone] = task.features(0, TextExample("0", "the film"), tokenizer, settings)
    assert list(alone.input_ids) == [tokenizer.cls_id, *first, *ends]
    long = TextExample("0", "the film " * 20, "the city " * 20)
    assert len(task.features(0, long, tokenizer, settings)[0].input_ids) == 40
