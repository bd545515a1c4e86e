"""Precisions against what Keras makes of the policies' names: products in them, weights in float32."""

import keras
import pytest

from albert_tf.models.dtype_policies import DTYPE_POLICIES, FROZEN_POLICY


@pytest.mark.parametrize("precision", DTYPE_POLICIES)
def test_a_precision_is_that_of_the_products_and_not_of_the_weights(precision):
    policy = keras.dtype_policies.get(DTYPE_POLICIES[precision])
    assert (policy.compute_dtype, policy.variable_dtype) == (precision, "float32")


def test_frozen_weights_are_of_the_precision_too():
    policy = keras.dtype_policies.get(FROZEN_POLICY)
    assert (policy.compute_dtype, policy.variable_dtype) == ("bfloat16", "bfloat16")
