"""Folders of save_pretrained, written here: what is read, what is refused in one line, what is written."""

import json

import numpy as np
import pytest
import safetensors.numpy

from albert_tf.config import AlbertConfig
from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.hugging_face import HUGGING_FACE, load_hugging_face, save_hugging_face
from albert_tf.conversion.hugging_face_files import write_safetensors
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

WEIGHTS = "model.safetensors"
EMBEDDINGS = "albert.embeddings.word_embeddings.weight"
QUERY = "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.query.weight"


@pytest.fixture(scope="module")
def model(random_model):
    return random_model(num_hidden_groups=2)


@pytest.fixture(scope="module")
def save():
    return save_hugging_face


def _edit(folder, change):
    """Rewrites the tensors after `change` has edited them, given as {name: array}."""
    arrays = safetensors.numpy.load_file(folder / WEIGHTS)
    change(arrays)
    write_safetensors(str(folder / WEIGHTS), arrays)


def _refused(path, match, **options):
    with pytest.raises(InputError, match=match) as error:
        load_hugging_face(str(path), **options)
    assert "\n" not in str(error.value)


def _same(model, other, values_of):
    values, others = values_of(model), values_of(other)
    assert set(values) == set(others)
    assert [name for name, value in values.items() if not np.array_equal(value, others[name])] == []


def test_ours_to_theirs_to_ours_is_the_same_bits(any_model, values_of, tmp_path):
    save_hugging_face(any_model, str(tmp_path / "theirs"))
    read = load_hugging_face(str(tmp_path / "theirs"))
    _same(any_model, read, values_of)
    assert not read.load_report.missing
    assert not read.load_report.converted


def test_every_tensor_has_the_layout_of_torch(model, original):
    arrays = safetensors.numpy.load_file(original / WEIGHTS)
    config = model.config
    assert arrays[f"{QUERY[:-6]}bias"].shape == (config.hidden_size,)
    ffn = arrays["albert.encoder.albert_layer_groups.1.albert_layers.0.ffn.weight"]
    kernel = named_weights(model)["albert/encoder/block_1_0/feed_forward/intermediate/kernel"].numpy()
    np.testing.assert_array_equal(ffn, kernel.T)
    assert ffn.shape == (config.intermediate_size, config.hidden_size)
    assert arrays["predictions.dense.weight"].shape == (config.embedding_size, config.hidden_size)
    assert arrays["sop_classifier.classifier.weight"].shape == (2, config.hidden_size)
    with safetensors.safe_open(original / WEIGHTS, "np") as file:
        assert file.metadata() == {"format": "pt"}


def test_the_same_model_is_the_same_bytes(model, original, tmp_path):
    save_hugging_face(model, str(tmp_path / "again"))
    for file in original.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


@pytest.mark.parametrize(
    "architecture, missing",
    [
        ("AlbertForMaskedLM", ["albert/pooler/kernel", "sentence_order/classifier/bias"]),
        ("AlbertModel", ["masked_lm/output_bias", "masked_lm/transform/kernel", "sentence_order/classifier/bias"]),
    ],
)
def test_smaller_architectures_hold_their_part(model, values_of, tmp_path, architecture, missing):
    path = str(tmp_path / "theirs")
    save_hugging_face(model, path, architecture=architecture)
    assert json.loads((tmp_path / "theirs/config.json").read_text())["architectures"] == [architecture]
    names = set(safetensors.numpy.load_file(tmp_path / "theirs" / WEIGHTS))
    assert ("embeddings.word_embeddings.weight" in names) == (architecture == "AlbertModel")
    _refused(path, r"missing .*--allow_missing_heads starts them afresh")
    read = load_hugging_face(path, allow_missing_heads=True)
    assert set(missing) <= set(read.load_report.missing)
    values, others = values_of(model), values_of(read)
    for name in read.load_report.matched:
        np.testing.assert_array_equal(values[name], others[name])


def test_an_unknown_architecture_is_refused(model, tmp_path):
    with pytest.raises(InputError, match="one of AlbertForPreTraining, .*Received 'AlbertForCausalLM'"):
        save_hugging_face(model, str(tmp_path / "theirs"), architecture="AlbertForCausalLM")
    assert list(tmp_path.iterdir()) == []


def test_a_conversion_takes_the_vocabulary_along(model, vocabulary_file, values_of, tmp_path):
    ours, theirs, back = (str(tmp_path / name) for name in ("ours", "theirs", "back"))
    save_hugging_face(model, ours, vocabulary_file)
    settings = {"to_format": "hugging_face", "hugging_face_architecture": "AlbertModel"}
    convert(ConversionSettings(input=ours, output=theirs, **settings))
    with open(vocabulary_file, "rb") as file:
        assert (tmp_path / "theirs/spiece.model").read_bytes() == file.read()
    tokenizer_config = json.loads((tmp_path / "theirs/tokenizer_config.json").read_text())
    assert tokenizer_config["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (tmp_path / "theirs/tokenizer.json").exists()
    assert tokenizer_config["model_max_length"] == model.config.max_position_embeddings
    assert recognise(theirs) is HUGGING_FACE
    convert(ConversionSettings(input=ours, output=back, to_format="albert_tf"))
    assert recognise(back).open(back).vocabulary_file.endswith("spiece.model")
    with pytest.raises(InputError, match="and --to=hugging_face_bert, not with --to=official"):
        convert(ConversionSettings(input=ours, output=str(tmp_path / "x"), **settings | {"to_format": "official"}))


def test_tensors_of_the_tied_projection_must_be_the_embeddings(model, folder, values_of):
    def tie(arrays):
        arrays["predictions.decoder.weight"] = arrays[EMBEDDINGS]
        arrays["predictions.decoder.bias"] = arrays.pop("predictions.bias")

    _edit(folder, tie)
    _same(model, load_hugging_face(str(folder)), values_of)

    def untie(arrays):
        arrays["predictions.decoder.weight"] = arrays[EMBEDDINGS] + 1

    _edit(folder, untie)
    _refused(folder, f"predictions.decoder.weight differs from {EMBEDDINGS}, and must be the same")


def test_a_bias_of_the_first_versions_is_not_lost_to_its_untied_zeros(model, folder, values_of, capsys):
    _edit(folder, lambda arrays: arrays.update({"predictions.decoder.bias": arrays["predictions.bias"] * 0}))
    _same(model, load_hugging_face(str(folder)), values_of)
    assert "left out, predictions.decoder.bias: zeros of transformers 2.2 or 2.3" in capsys.readouterr().err
    _edit(folder, lambda arrays: arrays.update({"predictions.decoder.bias": arrays["predictions.bias"] + 1}))
    _refused(folder, "predictions.decoder.bias differs from predictions.bias, and must be the same")


def test_half_precision_becomes_float32_and_it_is_said(model, folder, values_of, capsys):
    _edit(folder, lambda arrays: arrays.update({name: array.astype("f2") for name, array in arrays.items()}))
    read = values_of(load_hugging_face(str(folder)))
    assert "converted to float32 from float16: 48 tensors" in capsys.readouterr().err
    for key, value in values_of(model).items():
        np.testing.assert_array_equal(read[key], value.astype("f2").astype("f4"))


def test_what_is_no_weight_is_set_aside_with_a_word(model, folder, values_of, capsys):
    def add(arrays):
        arrays["albert.embeddings.position_ids"] = np.arange(17)[np.newaxis]
        arrays["classifier.weight"] = np.zeros((3, 24), "float32")
        arrays["qa_outputs.bias"] = np.zeros(2, "float32")

    _edit(folder, add)
    _same(model, load_hugging_face(str(folder)), values_of)
    printed = capsys.readouterr().err
    assert "left out, classifier.weight, qa_outputs.bias: a fine-tuning head" in printed
    assert "left out, albert.embeddings.position_ids: positions" in printed


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda a: a.pop(QUERY), "missing albert/encoder/block_0_0/attention/query_kernel"),
        (lambda a: a.pop("predictions.bias"), "missing masked_lm/output_bias .--allow_missing_heads"),
        (lambda a: a.update({"albert.extra": np.zeros(2, "f")}), "unexpected albert.extra"),
        (
            lambda a: a.update({QUERY: np.zeros((24, 23), "f")}),
            r"query.weight is \[24, 23\], the model needs \[24, 24\]",
        ),
        (lambda a: a.update({QUERY: np.zeros((24, 24), "i4")}), "query.weight is int32, not floating-point numbers"),
    ],
    ids=["missing", "head missing", "extra", "wrongly shaped", "integers"],
)
def test_tensors_that_do_not_fit_are_refused(folder, change, match):
    _edit(folder, change)
    _refused(folder, match)


def test_without_a_config_one_has_to_be_named(model, folder, values_of):
    (folder / "config.json").unlink()
    _refused(folder, "--albert_config_file")
    _same(model, load_hugging_face(str(folder), model.config), values_of)


def test_a_model_without_projection_has_the_identity_there(random_model, tmp_path, values_of):
    model = random_model(embedding_size=24)
    folder = tmp_path / "theirs"
    save_hugging_face(model, str(folder))
    name = "albert.encoder.embedding_hidden_mapping_in"
    arrays = safetensors.numpy.load_file(folder / WEIGHTS)
    np.testing.assert_array_equal(arrays[f"{name}.weight"], np.eye(24, dtype="float32"))
    np.testing.assert_array_equal(arrays[f"{name}.bias"], np.zeros(24, "float32"))
    _edit(folder, lambda arrays: arrays.update({f"{name}.weight": arrays[f"{name}.weight"] * 2}))
    _refused(folder, f"{name}.weight is not the identity; a model with embedding_size = hidden_size has no projection")


def test_what_transformers_cannot_express_is_refused(random_model, tmp_path):
    target = str(tmp_path / "theirs")
    with pytest.raises(InputError, match="'ffn'; only 'all' and 'none' cross over"):
        save_hugging_face(random_model(parameter_sharing="ffn"), target)
    config = AlbertConfig(vocab_size=10, num_hidden_layers=18, num_hidden_groups=14)
    with pytest.raises(InputError, match="18 layers in 14 groups transformers puts layer 9 into group 6 by a rounding"):
        HUGGING_FACE.rows(config)
    assert list(tmp_path.iterdir()) == []


def test_a_run_may_start_from_the_folder(model, original, values_of):
    from albert_tf.conversion.pretrained import initialise

    fresh = AlbertForPretraining(model.config)
    initialise(fresh, str(original))
    _same(model, fresh, values_of)
