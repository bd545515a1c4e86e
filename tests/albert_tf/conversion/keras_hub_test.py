"""KerasHub presets, written here: what is read, what is refused in one line, what is written."""

import json
import shutil

import h5py
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.keras_hub import KERAS_HUB, load_keras_hub, save_keras_hub
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.runtime.errors import InputError

WEIGHTS, TASK = "model.weights.h5", "task.weights.h5"
QUERY = "layers/transformer_encoder/_self_attention_layer/query_dense/vars/0"
NO_PLACE = ("sentence_order/classifier/kernel", "sentence_order/classifier/bias")


@pytest.fixture(scope="module")
def model(random_model):
    return random_model()


@pytest.fixture(scope="module")
def save():
    return save_keras_hub


def _read(path) -> dict[str, np.ndarray]:
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def _write(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def _datasets(layers):
    """{dataset: shape} of Keras layers, given as {layer: shapes of its variables in order}."""
    return {f"{layer}/vars/{number}": shape for layer, shapes in layers.items() for number, shape in enumerate(shapes)}


def _change_config(folder, **changes):
    """Changes keys of the backbone's config; None takes them out."""
    path = folder / "config.json"
    values = json.loads(path.read_text())
    config = values["config"] | changes
    values["config"] = {key: value for key, value in config.items() if value is not None}
    path.write_text(json.dumps(values))


def _assert_same(first, second, values_of, but=NO_PLACE):
    first, second = values_of(first), values_of(second)
    assert list(first) == list(second)
    for name, value in first.items():
        if name not in but:
            np.testing.assert_array_equal(value, second[name], err_msg=name)


def _refusal(path, **arguments) -> str:
    """The one line in which a preset is refused."""
    with pytest.raises(InputError) as error:
        load_keras_hub(str(path), **arguments)
    message = str(error.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_hidden_groups": 3, "inner_group_num": 2},
        {
            "num_hidden_groups": 2,
            "num_hidden_layers": 4,
            "hidden_dropout_prob": 0.1,
            "attention_probs_dropout_prob": 0.1,
        },
        {"embedding_size": 24, "num_attention_heads": 4, "type_vocab_size": 3},
        {"parameter_sharing": "none", "hidden_act": "gelu_new"},
    ],
)
def test_there_and_back_is_the_same_bits(changes, random_model, values_of, tmp_path):
    model = random_model(**changes)
    save_keras_hub(model, str(tmp_path / "preset"))
    back = load_keras_hub(str(tmp_path / "preset"))
    _assert_same(model, back, values_of)
    assert back.load_report.missing == NO_PLACE
    expected = model.config.to_dict() | {"hidden_act": "gelu"}
    if expected.pop("parameter_sharing", "all") == "none":
        expected["num_hidden_groups"] = model.config.num_hidden_layers
    assert back.config.to_dict() == expected


def test_datasets_have_the_names_and_shapes_of_keras(random_model, tmp_path):
    model = random_model(num_hidden_groups=3, inner_group_num=2)
    save_keras_hub(model, str(tmp_path / "preset"))
    arrays = _read(tmp_path / "preset" / WEIGHTS)
    assert {array.dtype for array in arrays.values()} == {np.dtype("float32")}
    blocks = {name.split("/")[1] for name in arrays if name.startswith("layers/transformer_encoder")}
    assert blocks == {"transformer_encoder", *(f"transformer_encoder_{turn}" for turn in range(1, 6))}
    block = "layers/transformer_encoder_3/"
    in_block = {name.removeprefix(block): array.shape for name, array in arrays.items() if name.startswith(block)}
    assert in_block == _datasets(
        {
            **{f"_self_attention_layer/{part}_dense": [(24, 3, 8), (3, 8)] for part in ("query", "key", "value")},
            "_self_attention_layer/output_dense": [(3, 8, 24), (24,)],
            "_self_attention_layer_norm": [(24,), (24,)],
            "_feedforward_intermediate_dense": [(24, 40), (40,)],
            "_feedforward_output_dense": [(40, 24), (24,)],
            "_feedforward_layer_norm": [(24,), (24,)],
        }
    )
    assert {name: array.shape for name, array in arrays.items() if "transformer" not in name} == _datasets(
        {
            "layers/reversible_embedding": [(101, 10)],
            "layers/embedding": [(2, 10)],
            "layers/position_embedding": [(17, 10)],
            "layers/layer_normalization": [(10,), (10,)],
            "layers/dense": [(10, 24), (24,)],
            "layers/dense_1": [(24, 24), (24,)],
        }
    )
    # Groups, inner blocks and heads are where they should be: block 3 is group 1, inner 1; head 2 is the last third.
    kernel = next(weight for weight in model.trainable_variables if "block_1_1/attention/key_kernel" in weight.path)
    np.testing.assert_array_equal(
        arrays[f"{block}_self_attention_layer/key_dense/vars/0"][:, 2], kernel.numpy()[:, 16:]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "relu"}, "cannot have hidden_act='relu'; KerasHub always takes the tanh form of gelu"),
        ({"hidden_act": "gelu_erf"}, "cannot have hidden_act='gelu_erf'"),
        ({"hidden_dropout_prob": 0.1}, "one dropout for all; this model has hidden_dropout_prob=0.1 and attention"),
        ({"num_hidden_groups": 2}, "groups are of one size; 3 layers do not divide into 2 groups"),
        ({"parameter_sharing": "attention"}, "no names for `parameter_sharing` 'attention'"),
    ],
)
def test_what_keras_hub_cannot_express_is_refused(random_model, tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as error:
        save_keras_hub(random_model(**changes), str(tmp_path / "preset"))
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_weights_of_gelu_are_not_read_into_another_activation(folder, random_model):
    with pytest.raises(InputError, match="cannot have hidden_act='relu'"):
        load_keras_hub(str(folder), random_model(hidden_act="relu").config)


def test_a_projection_other_than_the_identity_has_no_place_where_e_is_h(random_model, tmp_path):
    save_keras_hub(random_model(embedding_size=24), str(tmp_path / "preset"))
    arrays = _read(tmp_path / "preset" / WEIGHTS)
    np.testing.assert_array_equal(arrays["layers/dense/vars/0"], np.eye(24))
    _write(tmp_path / "preset" / WEIGHTS, arrays | {"layers/dense/vars/1": np.full(24, 0.5, "float32")})
    assert "layers/dense/vars/1 is not 0; a model with embedding_size = hidden_size has no projection here" in _refusal(
        tmp_path / "preset"
    )


def test_the_same_model_makes_the_same_bytes(model, original, tmp_path):
    save_keras_hub(model, str(tmp_path / "again"))
    names = sorted(path.name for path in original.iterdir())
    assert names == ["config.json", "metadata.json", WEIGHTS, "task.json", TASK]
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == (original / name).read_bytes(), name


def test_missing_unexpected_and_ill_fitting_datasets_are_all_named(folder):
    arrays = _read(folder / WEIGHTS)
    del arrays["layers/embedding/vars/0"]
    arrays["layers/embedding_7/vars/0"] = np.zeros(3, "float32")
    arrays[QUERY] = arrays[QUERY].reshape(24, 4, 6)
    _write(folder / WEIGHTS, arrays)
    message = _refusal(folder)
    assert "missing albert/embeddings/token_type_embeddings;" in message
    assert "unexpected layers/embedding_7/vars/0;" in message
    assert f"{QUERY} is [24, 4, 6], the model needs [24, 3, 8]" in message


def test_integers_are_no_weights(folder):
    arrays = _read(folder / WEIGHTS)
    _write(folder / WEIGHTS, arrays | {QUERY: arrays[QUERY].astype("int8")})
    assert f"{QUERY} is int8, not floating-point numbers" in _refusal(folder)


def test_missing_heads_are_an_error_unless_allowed(model, folder, values_of, capsys):
    (folder / TASK).unlink()
    message = _refusal(folder, allow_missing_heads=False)
    assert "missing masked_lm/" in message and "--allow_missing_heads" in message
    back = load_keras_hub(str(folder))
    heads = [name for name in values_of(model) if not name.startswith("albert/")]
    _assert_same(model, back, values_of, but=heads)
    assert sorted(back.load_report.missing) == sorted(heads)
    assert "missing, started afresh: masked_lm/" in capsys.readouterr().err


def test_a_classifiers_head_and_optimizers_are_left_out(folder):
    arrays = _read(folder / WEIGHTS)
    _write(folder / WEIGHTS, arrays | {"optimizer/vars/1": np.float32(0.1)})
    head = {"layers/dense/vars/0": np.zeros((24, 3), "float32"), "layers/dense/vars/1": np.zeros(3, "float32")}
    _write(folder / TASK, head)
    report = load_keras_hub(str(folder)).load_report
    assert report.skipped == {
        "optimizer state and step": ("optimizer/vars/1",),
        "a fine-tuning head": (f"{TASK}/layers/dense/vars/0", f"{TASK}/layers/dense/vars/1"),
    }


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_floats_are_converted_with_a_word(folder, model, values_of, dtype):
    kind = tf.as_dtype(dtype).as_numpy_dtype
    arrays = {name: array.astype(kind) for name, array in _read(folder / WEIGHTS).items()}
    with h5py.File(folder / WEIGHTS, "w") as file:
        for name, array in arrays.items():
            # As Keras stores it: two opaque bytes, and an attribute.
            bits = array.view("V2") if dtype == "bfloat16" else array
            file[name] = bits
            if dtype == "bfloat16":
                file[name].attrs["dtype"] = dtype
    back = load_keras_hub(str(folder))
    expected = values_of(model)["albert/pooler/kernel"].astype(kind).astype("float32")
    np.testing.assert_array_equal(values_of(back)["albert/pooler/kernel"], expected)
    assert f"converted to float32 from {dtype}: {len(arrays)} tensors" in str(back.load_report)


def test_a_file_of_weights_needs_a_config(folder, model, values_of, tmp_path):
    heads = [name for name in values_of(model) if not name.startswith("albert/")]
    _assert_same(model, load_keras_hub(str(folder / WEIGHTS)), values_of, but=heads)
    alone = tmp_path / "alone.weights.h5"
    shutil.copy(folder / WEIGHTS, alone)
    _assert_same(model, load_keras_hub(str(alone), model.config), values_of, but=heads)
    assert "no albert_config.json lies beside it; name one with --albert_config_file" in _refusal(alone)
    model.config.to_json_file(str(tmp_path / "albert_config.json"))
    pretrained = load_pretrained(str(alone), str(tmp_path / "albert_config.json"), allow_missing_heads=True)
    assert pretrained.model.config == model.config


def test_a_config_that_contradicts_the_weights_is_refused(folder):
    _change_config(folder, num_heads=4)
    assert f"{QUERY} is [24, 3, 8], the model needs [24, 4, 6]" in _refusal(folder)
    _change_config(folder, num_heads=3, num_groups=3)
    assert "missing albert/encoder/block_1_0/attention/" in _refusal(folder)


@pytest.mark.parametrize("name", [WEIGHTS, TASK, "config.json"])
def test_a_damaged_file_is_named(folder, name):
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    assert _refusal(folder).startswith(f"/{name}: ")


def test_a_preset_without_weights_is_named(folder):
    (folder / WEIGHTS).unlink()
    assert _refusal(folder) == f": {WEIGHTS} is missing"


def test_converting_there_and_back_is_the_same_bits(random_model, values_of, vocabulary_file, tmp_path, caplog):
    model = random_model(num_hidden_groups=3, inner_group_num=2)
    folders = [str(tmp_path / name) for name in ("preset", "ours", "preset again")]
    save_keras_hub(model, folders[0], vocabulary_file)
    assert recognise(folders[0]) is KERAS_HUB
    for name in ("tokenizer.json", "preprocessor.json", "assets/tokenizer/vocabulary.spm"):
        assert (tmp_path / "preset" / name).is_file(), name
    for source, target, form in ((*folders[:2], "albert_tf"), (*folders[1:], "keras_hub")):
        convert(
            ConversionSettings(
                input=source, output=target, to_format=form, spm_model_file=vocabulary_file, allow_missing_heads=True
            )
        )
    _assert_same(model, load_pretrained(folders[2], allow_missing_heads=True).model, values_of)
    for name in (WEIGHTS, TASK, "config.json", "task.json", "assets/tokenizer/vocabulary.spm"):
        assert (tmp_path / "preset" / name).read_bytes() == (tmp_path / "preset again" / name).read_bytes(), name
    assert f"has no place for {', '.join(NO_PLACE)}" in caplog.text
