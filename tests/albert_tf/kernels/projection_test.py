"""Keras's quantization in place is refused wherever it is asked for, and leaves the model as it was."""

import warnings

import keras
import numpy as np
import pytest

from albert_tf.kernels.projection import Projection
from albert_tf.models.albert import AlbertModel
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

MODES = ("int8", "int4", "float8", "gptq", "awq")
IDS = np.arange(16).reshape(2, 8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [AlbertModel, AlbertForPretraining, AlbertForSequenceClassification])
def test_a_model_is_not_quantized(small_config, make, mode):
    model = make(small_config)
    with pytest.raises(InputError, match=rf"^{make.__name__} .* cannot be quantized by Keras. Received mode='{mode}'"):
        model.quantize(mode)
    with pytest.raises(InputError, match="cannot be quantized"):
        model.quantize(config=keras.quantizers.Int8QuantizationConfig())


def _layers_with_weights(model):
    return [layer for layer in model._flatten_layers(include_self=False) if layer.weights]


@pytest.mark.parametrize("mode", MODES[:3])
def test_no_layer_is_quantized(small_config, mode):
    model = AlbertForPretraining(small_config)
    before = np.asarray(model(IDS)["masked_lm_logits"])
    layers = _layers_with_weights(model)
    assert len(layers) > 10
    for layer in layers:
        with pytest.raises(NotImplementedError):
            layer.quantize(mode)
    with pytest.raises(InputError, match="cannot be quantized"):
        model.encoder.embedding_projection.dtype_policy = f"{mode}_from_float32"
    np.testing.assert_array_equal(model(IDS)["masked_lm_logits"], before)


@pytest.mark.slow
def test_a_model_around_it_is_quantized_without_it(classifier_around_albert):
    model = classifier_around_albert
    before, pooled = np.asarray(model(IDS)), np.asarray(model.albert(IDS)["pooled_output"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.quantize("int8")
    assert any("Projection 'pooler' cannot be quantized" in str(warning.message) for warning in caught)
    assert model.head.quantization_mode == "int8"
    np.testing.assert_array_equal(model.albert(IDS)["pooled_output"], pooled)
    np.testing.assert_allclose(model(IDS), before, atol=0.02)


@pytest.mark.parametrize("policy", ["int8_from_float32", "int4_from_float32", "float8_from_mixed_bfloat16"])
def test_a_policy_of_quantized_weights_is_refused(small_config, policy):
    with pytest.raises(InputError, match="cannot be quantized"):
        AlbertModel(small_config, dtype=policy)
    with pytest.raises(InputError, match="cannot be quantized"):
        Projection(3, dtype=policy)
