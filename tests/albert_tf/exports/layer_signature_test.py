"""Hidden states and attentions as a signature of an export that was asked for them, against the model itself."""

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.exports.encoder_module import LAYERS
from albert_tf.exports.layer_outputs import stacked_layers
from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.served_copy import serving_copy
from albert_tf.exports.settings import LAYER_OUTPUTS, ExportSettings
from albert_tf.exports.signatures import ServingModule
from albert_tf.runtime.errors import InputError
from albert_tf.serving.exported_model import ExportedModel

LONGEST = 20


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    mask = (np.arange(9) < [[9], [4]]).astype("int32")
    return {
        "input_ids": tf.constant(rng.integers(5, 120, (2, 9)) * mask, tf.int32),
        "input_mask": tf.constant(mask),
        "segment_ids": tf.zeros((2, 9), tf.int32),
    }


@pytest.fixture
def expected(exported_weights, inputs):
    found = stacked_layers(exported_weights.albert(inputs, output_attentions=True), LAYER_OUTPUTS)
    assert found["hidden_states"].shape == (2, 3, 9, 16)
    assert found["attentions"].shape == (2, 2, 2, 9, 9)
    return found


def test_the_signature_gives_what_was_asked_for(exported_weights, export_tokenizer, inputs, expected):
    module = ServingModule(serving_copy(exported_weights), export_tokenizer, LONGEST)
    assert LAYERS not in module.signatures()
    found = module.signatures(layer_outputs=LAYER_OUTPUTS)[LAYERS](**inputs)
    assert set(found) == set(LAYER_OUTPUTS)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], atol=1e-5)


def test_a_fine_tuned_model_has_no_such_signature(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "tuned", "classification", ("good", "bad"))
    settings = ExportSettings(
        init_checkpoint=tmp_path / "tuned", output_dir=tmp_path / "export", output_attentions=True
    )
    with pytest.raises(InputError, match="^--output_attentions is for a model that was only pre-trained; .*: leave it"):
        export_saved_model(settings)
    assert not (tmp_path / "export").exists()


@pytest.mark.slow
def test_a_saved_model_has_it_beside_all_others(
    export_checkpoint, export_vocabulary, exported, tmp_path, inputs, expected
):
    asked = {"output_hidden_states": True, "output_attentions": True, "precision": "bfloat16"}
    places = {"init_checkpoint": export_checkpoint, "spm_model_file": export_vocabulary}
    export_saved_model(ExportSettings(**places, output_dir=tmp_path / "export", max_seq_length=LONGEST, **asked))
    model, plain = ExportedModel(str(tmp_path / "export")), ExportedModel(str(exported))
    assert set(model.signatures) - set(plain.signatures) == {LAYERS}
    for name, value in model.signatures[LAYERS](**inputs).items():
        np.testing.assert_allclose(value, expected[name], atol=0.1)
