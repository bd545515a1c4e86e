"""The objective of a student: what of its two losses counts, and what it reports of both."""

import numpy as np
import pytest

from albert_tf.distillation.objective import TEACHER_VECTOR, TeacherVectors


def test_the_loss_is_the_weighted_sum_of_what_is_reported():
    rng = np.random.default_rng(0)
    teacher = rng.standard_normal((4, 3)).astype(np.float32)
    teacher /= np.linalg.norm(teacher, axis=1, keepdims=True)
    batch = {"example_weight": np.array([1, 1, 1, 0], np.float32), TEACHER_VECTOR: teacher}
    vectors = 5 * rng.standard_normal((4, 1, 3)).astype(np.float32)
    objective = TeacherVectors(cosine_weight=2.0, relation_weight=0.5, temperature=0.1)
    counts = objective.counts(batch)
    loss, (cosine, relation) = objective.loss(vectors, batch, counts)
    of_length_one = vectors[:3, 0] / np.linalg.norm(vectors[:3, 0], axis=1, keepdims=True)
    assert float(counts[0]) == 3
    assert float(cosine) == pytest.approx(np.sum(of_length_one * teacher[:3], axis=1).mean(), abs=1e-5)
    assert float(loss) == pytest.approx(2 * (1 - float(cosine)) + 0.5 * float(relation), rel=1e-5)
