"""config.json of KerasHub presets: read, written, and what neither side can express."""

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.conversion.keras_hub_config import backbone_config, check_activation, read_config
from albert_tf.conversion.keras_hub_files import serialized
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError

OURS = AlbertConfig(
    vocab_size=101,
    embedding_size=10,
    hidden_size=24,
    num_hidden_layers=4,
    num_hidden_groups=2,
    num_attention_heads=3,
    intermediate_size=40,
    inner_group_num=5,
    hidden_dropout_prob=0.1,
    attention_probs_dropout_prob=0.1,
    max_position_embeddings=17,
    type_vocab_size=6,
)
THEIRS = {
    "vocabulary_size": 101,
    "num_layers": 4,
    "num_heads": 3,
    "num_groups": 2,
    "num_inner_repetitions": 5,
    "embedding_dim": 10,
    "hidden_dim": 24,
    "intermediate_dim": 40,
    "dropout": 0.1,
    "max_sequence_length": 17,
    "num_segments": 6,
}


def _changed(**changes) -> AlbertConfig:
    return AlbertConfig.from_dict(OURS.to_dict() | changes)


def _read(tmp_path, changes, registered_name="keras_hub>AlbertBackbone"):
    values = {key: value for key, value in (THEIRS | changes).items() if value is not None}
    path = tmp_path / "config.json"
    files.write_json(str(path), serialized("AlbertBackbone", **values) | {"registered_name": registered_name})
    return read_config(str(path))


def test_every_key_crosses(tmp_path):
    written = backbone_config(OURS)
    assert {key: written[key] for key in written if key not in ("trainable", "dtype")} == THEIRS
    assert _read(tmp_path, {"trainable": True}) == OURS


def test_presets_of_keras_nlp_may_lack_keys_with_defaults(tmp_path):
    absent = dict.fromkeys(("num_groups", "num_inner_repetitions", "dropout", "max_sequence_length", "num_segments"))
    config = _read(tmp_path, absent, "keras_nlp>AlbertBackbone")
    assert config == _changed(
        num_hidden_groups=1,
        inner_group_num=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=512,
        type_vocab_size=2,
    )


def test_nothing_shared_is_a_group_for_every_layer():
    assert backbone_config(_changed(num_hidden_groups=1, parameter_sharing="none"))["num_groups"] == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_dim": None, "num_heads": None}, "not the keys of an AlbertBackbone: missing num_heads, hidden_dim"),
        ({"activation": "relu"}, "not the keys of an AlbertBackbone: unknown activation"),
        ({"num_heads": 5}, "`hidden_size` must be a multiple of `num_attention_heads`"),
        ({"num_groups": 3}, "KerasHub's groups are of one size; 4 layers do not divide into 3 groups"),
        ({"dropout": "much"}, "`hidden_dropout_prob` must be of type float"),
    ],
)
def test_a_config_that_cannot_be_names_its_file(tmp_path, changes, message):
    with pytest.raises(InputError) as error:
        _read(tmp_path, changes)
    assert str(error.value).startswith(f"{tmp_path / 'config.json'}: {message}") and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["keras_hub>BertBackbone", "Functional", None, 3])
def test_another_class_is_named(tmp_path, name):
    with pytest.raises(InputError, match=f"config.json: describes {name!r}; only KerasHub's AlbertBackbone"):
        _read(tmp_path, {}, name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_dropout_prob": 0.2}, "one dropout for all; this model has hidden_dropout_prob=0.2 and attention"),
        ({"num_hidden_groups": 3}, "groups are of one size; 4 layers do not divide into 3 groups"),
        ({"parameter_sharing": "ffn"}, "no names for `parameter_sharing` 'ffn'"),
    ],
)
def test_a_model_that_keras_hub_lacks_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        backbone_config(_changed(**changes))


def test_the_activation_is_the_tanh_form_of_gelu():
    for name in ("gelu", "gelu_new"):
        check_activation(_changed(hidden_act=name))
    for name in ("gelu_erf", "relu", "tanh", "linear"):
        with pytest.raises(InputError, match=f"hidden_act='{name}'; KerasHub always takes the tanh form of gelu"):
            check_activation(_changed(hidden_act=name))


def test_another_initializer_range_is_left_out_with_a_word(caplog):
    backbone_config(_changed(initializer_range=0.01))
    assert "no place for initializer_range=0.01" in caplog.text
