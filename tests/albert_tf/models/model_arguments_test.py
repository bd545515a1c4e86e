"""Arguments that no model can be made of: classes, dropout, a config, a dtype."""

import pytest

from albert_tf.models.albert import AlbertModel
from albert_tf.models.finetuning import make_finetuning_model


@pytest.mark.parametrize("number", [0, -1, "3", 2.0])
def test_a_head_without_a_number_of_classes_is_refused(small_config, number):
    with pytest.raises(ValueError, match="^`num_labels` must be a whole number of at least 1. Received"):
        make_finetuning_model(small_config, "classification", number)


def test_a_dropout_of_all_or_more_is_refused(small_config):
    for rate in (1.0, 1.5, -0.1):
        with pytest.raises(ValueError, match=r"dropout must lie in \[0, 1\). Received"):
            make_finetuning_model(small_config, "classification", 2, classifier_dropout_prob=rate)


@pytest.mark.parametrize("config", ["albert-base-v2", None])
def test_a_name_in_place_of_a_config_is_refused(config):
    with pytest.raises(ValueError, match="^`config` must be an AlbertConfig .*from_json_file reads a file.$"):
        AlbertModel(config)


def test_a_dtype_is_one_that_models_compute_in_and_stays(small_config, model):
    for name in ("float64", "float16"):
        with pytest.raises(ValueError, match=f"one of float32, mixed_bfloat16, mixed_float16, .* Received {name}.$"):
            AlbertModel(small_config, dtype=name)
    model.dtype_policy = "float32"
    with pytest.raises(ValueError, match="^The dtype of a model is that of its layers.* dtype='mixed_bfloat16'"):
        model.dtype_policy = "mixed_bfloat16"
    assert model.dtype_policy.name == "float32"
