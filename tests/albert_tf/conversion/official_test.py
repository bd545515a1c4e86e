"""The model against the official code's own numbers: forward pass, losses, gradients, ten LAMB steps."""

import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf import losses
from albert_tf.config import AlbertConfig
from albert_tf.conversion.official import load_official, official_names, to_ours
from albert_tf.errors import InputError
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.lamb import LAMB

TOLERANCE = 1e-5


@pytest.fixture(params=["tiny", "groups2"])
def official(request, shared):
    folder = shared / "reference/official" / request.param
    return load_official(str(folder / "model.ckpt")), np.load(folder / "parity.npz")


def _inputs(stored):
    return {name.removeprefix("in/"): tf.constant(stored[name]) for name in stored.files if name.startswith("in/")}


def _total_loss(outputs, inputs):
    loss, weight = losses.masked_lm_loss(
        outputs["masked_lm_logits"], inputs["masked_lm_ids"], inputs["masked_lm_weights"]
    )
    order_loss, pairs = losses.sentence_order_loss(
        outputs["sentence_order_logits"], inputs["next_sentence_labels"][:, 0]
    )
    return loss / (weight + losses.MASKED_LM_DENOMINATOR_EPSILON), order_loss / pairs


def test_every_stored_tensor_of_the_forward_pass_is_met(official):
    model, stored = official
    inputs = _inputs(stored)
    outputs = model(inputs)
    ours = {
        "embedding_output": outputs["embedding_output"],
        "sequence_output": outputs["sequence_output"],
        "pooled_output": outputs["pooled_output"],
        "mlm_logits": tf.reshape(outputs["masked_lm_logits"], stored["out/mlm_logits"].shape),
        "sop_logits": outputs["sentence_order_logits"],
        "word_embedding_output": tf.gather(model.albert.embeddings.word_embeddings.value, inputs["input_ids"]),
    }
    ours["mlm_log_probs"] = tf.nn.log_softmax(ours["mlm_logits"])
    ours["sop_log_probs"] = tf.nn.log_softmax(ours["sop_logits"])
    ours |= {f"layer_{number}": state for number, state in enumerate(outputs["hidden_states"][1:])}
    ours["mlm_loss"], ours["sop_loss"] = _total_loss(outputs, inputs)
    ours["total_loss"] = ours["mlm_loss"] + ours["sop_loss"]
    labels = tf.reshape(inputs["masked_lm_ids"], [-1])
    ours["mlm_example_loss"] = -tf.gather(ours["mlm_log_probs"], labels, batch_dims=1)
    ours["sop_example_loss"] = -tf.gather(ours["sop_log_probs"], inputs["next_sentence_labels"][:, 0], batch_dims=1)
    assert set(ours) == {name.removeprefix("out/") for name in stored.files if name.startswith("out/")}
    errors = {name: np.abs(np.asarray(value) - stored[f"out/{name}"]).max() for name, value in ours.items()}
    assert max(errors.values()) < TOLERANCE, errors


def _gradients(model, inputs):
    variables = list(named_weights(model).values())
    with tf.GradientTape() as tape:
        loss = sum(_total_loss(model(inputs, training=True), inputs))
    gradients = tape.gradient(loss, [variable.value for variable in variables])
    return loss, [tf.convert_to_tensor(gradient) for gradient in gradients], variables


def test_every_gradient_is_met(official):
    model, stored = official
    _, gradients, _ = _gradients(model, _inputs(stored))
    theirs = {name.removeprefix("grad/"): stored[name] for name in stored.files if name.startswith("grad/")}
    theirs = to_ours(model.config, theirs)
    ours = dict(zip(named_weights(model), gradients, strict=True))
    assert set(ours) == set(theirs)
    errors = {name: np.abs(ours[name].numpy() - theirs[name]).max() for name in ours}
    assert max(errors.values()) < TOLERANCE, errors


def test_ten_clipped_lamb_steps_are_met(official):
    # The official code takes the global norm over the gradients of the embedding lookup and of the tied projection
    # before they are added up, on CPU and GPU; the stored norms are used here so that the steps can be compared.
    model, stored = official
    inputs = _inputs(stored)
    optimizer = LAMB(learning_rate=0.0)
    optimizer.build(list(named_weights(model).values()))
    for step, (rate, norm) in enumerate(zip(stored["lamb/lrs"], stored["lamb/global_norms"], strict=True), 1):
        loss, gradients, variables = _gradients(model, inputs)
        assert float(loss) == pytest.approx(stored["lamb/losses"][step - 1], abs=5e-5)
        optimizer.learning_rate = float(rate)
        optimizer.apply([gradient / max(norm, 1.0) for gradient in gradients], variables)
        prefix = f"lamb/after{step}/"
        theirs = {name.removeprefix(prefix): stored[name] for name in stored.files if name.startswith(prefix)}
        for name, value in to_ours(model.config, theirs).items():
            np.testing.assert_allclose(named_weights(model)[name].numpy(), value, atol=5e-5, err_msg=name)


def test_every_weight_has_an_official_name():
    shape = {
        "vocab_size": 50,
        "embedding_size": 8,
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    for extra in (
        {"num_hidden_layers": 3, "num_hidden_groups": 3, "inner_group_num": 2},
        {"parameter_sharing": "none"},
    ):
        config = AlbertConfig(**{"num_hidden_layers": 2, **shape, **extra})
        from albert_tf.models.pretraining import AlbertForPretraining

        assert set(official_names(config)) == set(named_weights(AlbertForPretraining(config)))


def test_half_shared_parameters_have_no_official_names():
    config = AlbertConfig(vocab_size=50, parameter_sharing="ffn")
    with pytest.raises(InputError, match="'ffn'; only 'all' and 'none' cross over"):
        official_names(config)


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(InputError, match="model.ckpt: no such checkpoint"):
        load_official(str(tmp_path / "model.ckpt"))


def test_a_truncated_checkpoint_is_named(shared, tmp_path):
    folder = shared / "reference/official/tiny"
    for file in folder.iterdir():
        shutil.copy(file, tmp_path / file.name)
    data = tmp_path / "model.ckpt.data-00000-of-00001"
    data.chmod(0o644)
    data.write_bytes(data.read_bytes()[:1000])
    with pytest.raises(InputError, match="the checkpoint is damaged"):
        load_official(str(tmp_path / "model.ckpt"))


def test_a_checkpoint_of_another_shape_lists_what_differs(shared):
    config = AlbertConfig.from_json_file(str(shared / "reference/official/tiny/albert_config.json"))
    other = AlbertConfig.from_dict({**config.to_dict(), "num_hidden_groups": 2, "intermediate_size": 96})
    with pytest.raises(InputError) as error:
        load_official(str(shared / "reference/official/tiny/model.ckpt"), other)
    message = str(error.value)
    assert "missing albert/encoder/block_1_0/attention/query_kernel" in message
    assert "intermediate/kernel is [64, 128], the model's is [64, 96]" in message
    assert "\n" not in message


def test_hidden_act_gelu_is_the_tanh_form():
    from albert_tf.layers.activations import get_activation

    x = keras.ops.convert_to_tensor([1.0])
    assert float(get_activation("gelu")(x)[0]) == pytest.approx(0.841192, abs=1e-6)
    assert float(get_activation("gelu_erf")(x)[0]) == pytest.approx(0.841345, abs=1e-6)
