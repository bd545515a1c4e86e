"""Models carried to transformers and back: what it loads, what both compute, what comes home.

Runs with transformers 4.57 and with 5: the outputs agree, and neither finds a key missing, left over or ill-fitting.
"""

import numpy as np
import pytest
import tensorflow as tf
from their_models import LENGTH, load_whole, make_their_model, output_errors

from albert_tf.conversion.hugging_face import load_hugging_face, save_hugging_face
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer

pytestmark = pytest.mark.parity

TOLERANCE = 1e-5
ARCHITECTURES = ("AlbertForPreTraining", "AlbertForMaskedLM", "AlbertModel")

CONFIGS = {
    "tanh form of gelu": {},
    "erf form of gelu": {"hidden_act": "gelu_erf"},
    "relu": {"hidden_act": "relu"},
    "two groups": {"num_hidden_groups": 2},
    # transformers 4 does not run more blocks in a group than the group has layers.
    "three groups of two blocks": {"num_hidden_groups": 3, "inner_group_num": 2, "num_hidden_layers": 6},
    "inner groups": {"inner_group_num": 2, "hidden_act": "gelu_new"},
    "no projection": {"embedding_size": 24},
    "nothing shared": {"parameter_sharing": "none", "type_vocab_size": 3},
}
# The same for a config of theirs.
THEIR_CONFIGS = {
    name: {key: value for key, value in changes.items() if key not in ("parameter_sharing", "hidden_act")}
    | {"hidden_act": {"gelu_erf": "gelu", "relu": "relu"}.get(changes.get("hidden_act"), "gelu_new")}
    for name, changes in CONFIGS.items()
    if name != "no projection"
}


@pytest.fixture(params=list(CONFIGS.values()), ids=list(CONFIGS))
def ours(request, random_model):
    return random_model(**request.param)


@pytest.fixture(params=list(THEIR_CONFIGS.values()), ids=list(THEIR_CONFIGS))
def theirs(request, transformers, torch):
    """One of their models, with random weights, biases and LayerNorms."""
    return make_their_model(torch, transformers, "AlbertForPreTraining", embedding_size=10, **request.param)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_transformers_loads_what_we_write_and_computes_the_same(ours, architecture, transformers, torch, tmp_path):
    folder = str(tmp_path / "theirs")
    save_hugging_face(ours, folder, architecture=architecture)
    model = load_whole(transformers, architecture, folder)
    errors = output_errors(ours, model, torch)
    assert max(errors.values()) < TOLERANCE, errors


def test_what_transformers_saves_again_comes_home_the_same_bits(ours, transformers, values_of, tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    save_hugging_face(ours, first)
    transformers.AlbertForPreTraining.from_pretrained(first).save_pretrained(second)
    values, others = values_of(ours), values_of(load_hugging_face(second))
    assert set(values) == set(others)
    assert [name for name, value in values.items() if not np.array_equal(value, others[name])] == []


def test_we_load_what_transformers_writes_and_compute_the_same(theirs, transformers, torch, tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    theirs.save_pretrained(first)
    model = load_hugging_face(first)
    errors = output_errors(model, theirs, torch)
    assert max(errors.values()) < TOLERANCE, errors
    save_hugging_face(model, second)
    again = transformers.AlbertForPreTraining.from_pretrained(second).state_dict()
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(tensor, again[name]), name


@pytest.mark.parametrize("kind", ["AlbertForMaskedLM", "AlbertModel"])
def test_models_of_theirs_without_all_heads_are_read(kind, transformers, torch, tmp_path):
    model = make_their_model(torch, transformers, kind, embedding_size=10)
    model.save_pretrained(str(tmp_path))
    with pytest.raises(InputError, match="--allow_missing_heads starts them afresh"):
        load_hugging_face(str(tmp_path))
    read = load_hugging_face(str(tmp_path), allow_missing_heads=True)
    assert ("albert/pooler/kernel" in read.load_report.missing) == (kind == "AlbertForMaskedLM")
    encoder = model if kind == "AlbertModel" else model.albert
    errors = output_errors(read, encoder, torch)
    assert max(error for name, error in errors.items() if name != "pooled_output") < TOLERANCE, errors


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_and_shards_and_bin_files_are_read_alike(
    dtype, transformers, torch, values_of, tmp_path, capsys
):
    model = make_their_model(torch, transformers, "AlbertForPreTraining", embedding_size=10).to(getattr(torch, dtype))
    model.save_pretrained(str(tmp_path / "whole"))
    model.save_pretrained(str(tmp_path / "shards"), max_shard_size="6KB")
    assert (tmp_path / "shards/model.safetensors.index.json").exists()
    (tmp_path / "bin").mkdir()
    torch.save(model.state_dict(), tmp_path / "bin/pytorch_model.bin")
    (tmp_path / "bin/config.json").write_bytes((tmp_path / "whole/config.json").read_bytes())
    whole, *others = (values_of(load_hugging_face(str(tmp_path / name))) for name in ("whole", "shards", "bin"))
    assert f"converted to float32 from {dtype}" in capsys.readouterr().err
    expected = model.sop_classifier.classifier.weight.float().detach().numpy().T
    np.testing.assert_array_equal(whole["sentence_order/classifier/kernel"], expected)
    for name, value in whole.items():
        assert all(np.array_equal(value, other[name]) for other in others), name


def test_a_damaged_bin_file_is_refused(transformers, torch, tmp_path):
    make_their_model(torch, transformers, "AlbertForPreTraining", embedding_size=10).save_pretrained(str(tmp_path))
    (tmp_path / "model.safetensors").unlink()
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(b"not a file of torch")
    with pytest.raises(InputError, match="pytorch_model.bin: damaged, no file of torch weights: "):
        load_hugging_face(str(tmp_path))
    torch.save({"step": 1}, file)
    with pytest.raises(InputError, match="pytorch_model.bin: no state_dict, which is tensors by name"):
        load_hugging_face(str(tmp_path))
    torch.save({"x": torch.ones(1000)}, file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="pytorch_model.bin: damaged, no file of torch weights: ") as error:
        load_hugging_face(str(tmp_path))
    assert "\n" not in str(error.value)


def test_their_projection_where_sizes_are_equal_crosses_only_as_the_identity(transformers, torch, tmp_path):
    model = make_their_model(torch, transformers, "AlbertForPreTraining", embedding_size=24)
    model.save_pretrained(str(tmp_path / "any"))
    with pytest.raises(InputError, match=r"embedding_hidden_mapping_in\.weight is not the identity"):
        load_hugging_face(str(tmp_path / "any"))
    with torch.no_grad():
        model.albert.encoder.embedding_hidden_mapping_in.weight.copy_(torch.eye(24))
        model.albert.encoder.embedding_hidden_mapping_in.bias.zero_()
    model.save_pretrained(str(tmp_path / "identity"))
    errors = output_errors(load_hugging_face(str(tmp_path / "identity")), model, torch)
    assert max(errors.values()) < TOLERANCE, errors


def test_rows_that_are_all_padding_are_where_both_differ(random_model, transformers, torch, tmp_path):
    # The official code adds -10000 to every score, which leaves their differences; transformers adds so much that
    # they are lost.
    ours = random_model()
    save_hugging_face(ours, str(tmp_path / "theirs"))
    theirs = transformers.AlbertModel.from_pretrained(str(tmp_path / "theirs")).eval()
    ids = np.arange(LENGTH, dtype="int32")[np.newaxis]
    for length, agree in ((1, True), (0, False)):
        mask = (np.arange(LENGTH) < length).astype("int32")[np.newaxis]
        mine = ours.albert({"input_ids": tf.constant(ids), "input_mask": tf.constant(mask)})["sequence_output"]
        with torch.no_grad():
            its = theirs(torch.tensor(ids).long(), attention_mask=torch.tensor(mask).long()).last_hidden_state
        assert (np.abs(mine.numpy() - its.numpy()).max() < TOLERANCE) == agree


def test_positions_and_embeddings_mean_what_theirs_do(random_model, transformers, torch, tmp_path):
    ours = random_model()
    save_hugging_face(ours, str(tmp_path / "theirs"))
    theirs = transformers.AlbertModel.from_pretrained(str(tmp_path / "theirs")).eval()
    rng = np.random.default_rng(0)
    config, shape = ours.config, (3, LENGTH)
    given = {
        "inputs_embeds": rng.standard_normal((*shape, config.embedding_size)).astype("float32"),
        "attention_mask": (np.arange(LENGTH) < np.array([[LENGTH], [5], [2]])).astype("int64"),
        "token_type_ids": rng.integers(config.type_vocab_size, size=shape),
        "position_ids": rng.integers(config.max_position_embeddings, size=shape),
    }
    ids = {"input_ids": rng.integers(config.vocab_size, size=shape)}
    one_row = {"position_ids": given["position_ids"][:1]}
    words = {name: value for name, value in given.items() if name != "inputs_embeds"}
    for inputs in (given, words | ids, words | ids | one_row):
        mine = ours.albert(inputs)
        with torch.no_grad():
            its = theirs(**{name: torch.tensor(value) for name, value in inputs.items()})
        np.testing.assert_allclose(mine["sequence_output"], its.last_hidden_state, atol=TOLERANCE)
        np.testing.assert_allclose(mine["pooled_output"], its.pooler_output, atol=TOLERANCE)


def test_their_tokenizers_open_the_folder(random_model, vocabulary_file, transformers, tmp_path):
    folder = str(tmp_path / "theirs")
    save_hugging_face(random_model(), folder, vocabulary_file)
    ours = AlbertTokenizer(vocabulary_file)
    texts = ["BADA gimo rasu, lefi", "tade sogu: Badé fura", "kilo"]
    for kind in (transformers.AlbertTokenizer, transformers.AutoTokenizer):
        tokenizer = kind.from_pretrained(folder)
        for text in texts:
            assert tokenizer.encode(text, add_special_tokens=False) == ours.encode(text)
        assert tokenizer.encode(*texts[:2]) == [2, *ours.encode(texts[0]), 3, *ours.encode(texts[1]), 3]
        assert tokenizer.model_max_length == LENGTH
        assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.mask_token_id) == (0, 1, 4)
        masked = tokenizer.encode("bada [MASK] gimo", add_special_tokens=False)
        assert masked.count(ours.mask_id) == 1
