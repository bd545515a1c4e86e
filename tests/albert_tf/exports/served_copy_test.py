"""Models as they are served, in either precision, with every head."""

import numpy as np
import pytest

from albert_tf.exports.served_copy import serving_copy
from albert_tf.inputs.finetuning_features import HEADS
from albert_tf.models.albert import AlbertModel
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.pretraining import AlbertForPretraining

MAKERS = {
    "none": AlbertModel,
    "pretraining": AlbertForPretraining,
    **{head: lambda config, head=head: make_finetuning_model(config, head, 3) for head in HEADS},
}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_served_model_computes_what_the_model_does_with_an_encoder_of_its_precision(small_config, name, precision):
    model = MAKERS[name](small_config)
    copy = serving_copy(model, precision)
    encoder = {str(weight.dtype) for weight in getattr(copy, "albert", copy).weights}
    assert encoder == {precision}
    shape = (2, 3, 7) if name == "multiple_choice" else (2, 7)
    ids = np.random.default_rng(0).integers(5, 60, shape)
    expected, found = model(ids), copy(ids)
    for output, values in expected.items():
        if output in ("embedding_output", "hidden_states") or "top_" in output:
            continue
        tolerance = 1e-5 if precision == "float32" else 0.05
        np.testing.assert_allclose(np.array(found[output], np.float32), values, atol=tolerance, err_msg=output)
