"""config.json of transformers from and to ours: names of activations, defaults, and what is refused in one line."""

import json

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.conversion.hugging_face_config import read_config, write_config
from albert_tf.conversion.hugging_face_family import ALBERT, BERT
from albert_tf.runtime.errors import InputError

SHAPE = {"model_type": "albert", "vocab_size": 101, "embedding_size": 8, "hidden_size": 12, "num_attention_heads": 3}
BERT_SHAPE = {"model_type": "bert", "vocab_size": 101, "hidden_size": 12, "num_attention_heads": 3}


@pytest.fixture
def read(tmp_path):
    """A function that reads SHAPE, or BERT_SHAPE, with changes as a config.json."""

    def run(family=ALBERT, **changes):
        shape = SHAPE if family is ALBERT else BERT_SHAPE
        (tmp_path / "config.json").write_text(json.dumps(shape | changes))
        return read_config(str(tmp_path / "config.json"), family)

    return run


@pytest.fixture
def write(tmp_path):
    """A function that writes a config with changes, and returns the values that are written."""

    def run(family=ALBERT, **changes):
        config = AlbertConfig(**{"vocab_size": 101, "num_hidden_layers": 4, **changes})
        ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        write_config(str(tmp_path), config, f"{family.classes}Model", family, ids)
        return json.loads((tmp_path / "config.json").read_text())

    return run


@pytest.mark.parametrize(
    "theirs, ours",
    [
        *(("gelu_new", "gelu"), ("gelu_pytorch_tanh", "gelu"), ("gelu_fast", "gelu"), ("gelu", "gelu_erf")),
        *(("relu", "relu"), ("tanh", "tanh"), ("linear", "linear")),
    ],
)
def test_an_activation_keeps_its_function(read, theirs, ours):
    assert read(hidden_act=theirs).hidden_act == ours


@pytest.mark.parametrize("ours, theirs", [("gelu", "gelu_new"), ("gelu_new", "gelu_new"), ("gelu_erf", "gelu")])
def test_an_activation_has_their_name_in_what_is_written(write, ours, theirs):
    assert write(hidden_act=ours)["hidden_act"] == theirs


def test_keys_that_are_left_out_have_their_defaults(read):
    config = read()
    assert (config.hidden_act, config.intermediate_size, config.num_hidden_layers) == ("gelu", 16384, 12)


def test_keys_that_do_not_matter_are_passed_over(read):
    others = {"architectures": ["AlbertModel"], "id2label": {"0": "a"}, "torch_dtype": "float16", "gap_size": 0}
    others |= {"num_beam_groups": 1, "chunk_size_feed_forward": 0, "pruned_heads": {}, "bos_token_id": 2}
    assert read(**others) == read()


def test_what_is_written_is_what_is_read(write, tmp_path):
    values = write(
        num_hidden_groups=2, hidden_act="gelu_erf", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2
    )
    assert values["layer_norm_eps"] == 1e-12
    assert values["architectures"] == ["AlbertModel"]
    assert (values["pad_token_id"], values["bos_token_id"], values["eos_token_id"]) == (0, 2, 3)
    read = read_config(str(tmp_path / "config.json"), ALBERT)
    assert (read.num_hidden_groups, read.hidden_act) == (2, "gelu_erf")
    assert (read.hidden_dropout_prob, read.attention_probs_dropout_prob) == (0.1, 0.2)


def test_layers_that_share_nothing_are_as_many_groups(write):
    values = write(parameter_sharing="none")
    assert values["num_hidden_groups"] == 4
    assert "parameter_sharing" not in values
    with pytest.raises(InputError, match="'attention'; only 'all' and 'none' cross over"):
        write(parameter_sharing="attention")


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"model_type": "bert"}, "of type 'bert', which --from=hugging_face_bert reads, not hugging_face"),
        ({"model_type": "roberta"}, "is of a model of type 'roberta'; only 'albert' and 'bert' models cross over"),
        ({"hidden_act": "silu"}, 'hidden_act is "silu"; known are gelu_new, '),
        ({"hidden_act": None}, "hidden_act is null; known are"),
        ({"layer_norm_eps": 1e-5}, "layer_norm_eps is 1e-05, this model computes 1e-12 only"),
        ({"position_embedding_type": "relative_key"}, 'is "relative_key", this model computes "absolute" only'),
        ({"tie_word_embeddings": False}, "tie_word_embeddings is false, this model computes true only"),
        ({"is_decoder": True}, "is_decoder is true, this model computes false only"),
        ({"pruned_heads": {"0": [1]}}, "has pruned_heads, which this model does not have"),
        ({"quantization_config": {"bits": 8}}, "has quantization_config, which"),
        ({"hidden_size": "12"}, "`hidden_size` must be of type int. Received hidden_size='12'"),
        ({"hidden_size": 13}, "`hidden_size` must be a multiple of `num_attention_heads`"),
        ({"num_hidden_groups": 13}, "must not exceed `num_hidden_layers`"),
        ({"hidden_dropout_prob": 1.5}, r"`hidden_dropout_prob` must lie in \[0, 1\)"),
        ({"intermidiate_size": 3}, "unknown key 'intermidiate_size'; did you mean 'intermediate_size'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_config_of_another_model_is_refused(read, changes, match):
    with pytest.raises(InputError, match=match) as error:
        read(**changes)
    assert "config.json" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "contents, match",
    [
        ("{", "not JSON: "),
        ("[]", "a JSON object was expected; this is a list"),
        ('{"module": "keras_hub"}', "says no `model_type`; only 'albert' and 'bert' models cross over"),
    ],
)
def test_a_malformed_config_is_refused(tmp_path, contents, match):
    path = tmp_path / "config.json"
    path.write_text(contents)
    with pytest.raises(InputError, match=match):
        read_config(str(path), ALBERT)


def test_a_bert_shares_nothing_and_has_no_projection(read):
    config = read(BERT, hidden_dropout_prob=0.2)
    assert (config.parameter_sharing, config.embedding_size, config.hidden_size) == ("none", 12, 12)
    # What BertConfig of transformers takes for keys that are not there; its gelu is the erf form.
    assert (config.hidden_act, config.intermediate_size, config.num_hidden_layers) == ("gelu_erf", 3072, 12)
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.2, 0.1)
    assert read(BERT) == AlbertConfig(
        **{key: value for key, value in BERT_SHAPE.items() if key != "model_type"},
        **{"embedding_size": 12, "parameter_sharing": "none", "hidden_act": "gelu_erf", "intermediate_size": 3072},
        **{"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
    )


@pytest.mark.parametrize("ours, theirs", [("gelu", "gelu_new"), ("gelu_erf", "gelu"), ("relu", "relu")])
def test_what_is_written_of_a_bert_is_what_is_read(write, tmp_path, ours, theirs):
    shape = {"embedding_size": 12, "hidden_size": 12, "num_attention_heads": 3, "hidden_act": ours}
    values = write(BERT, **shape, num_hidden_groups=4)
    assert (values["model_type"], values["hidden_act"], values["layer_norm_eps"]) == ("bert", theirs, 1e-12)
    assert (values["architectures"], values["classifier_dropout"]) == (["BertModel"], None)
    assert {"embedding_size", "num_hidden_groups", "inner_group_num", "parameter_sharing"}.isdisjoint(values)
    read = read_config(str(tmp_path / "config.json"), BERT)
    assert read == AlbertConfig(vocab_size=101, num_hidden_layers=4, **shape, parameter_sharing="none")


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"model_type": "albert"}, "of type 'albert', which --from=hugging_face reads, not hugging_face_bert"),
        ({"hidden_act": "silu"}, 'hidden_act is "silu"; known are gelu_new, '),
        ({"layer_norm_eps": 1e-5}, "layer_norm_eps is 1e-05, this model computes 1e-12 only"),
        ({"position_embedding_type": "relative_key_query"}, 'this model computes "absolute" only'),
        ({"is_decoder": True}, "is_decoder is true, this model computes false only"),
        ({"add_cross_attention": True}, "add_cross_attention is true, this model computes false only"),
        ({"hidden_size": 13}, "`hidden_size` must be a multiple of `num_attention_heads`"),
        ({"hidden_size": "12"}, "`hidden_size` must be of type int. Received hidden_size='12'"),
        ({"model_type": ["bert"]}, r"is of a model of type \['bert'\]; only 'albert' and 'bert' models cross over"),
        ({"intermidiate_size": 3}, "unknown key 'intermidiate_size'; did you mean 'intermediate_size'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_config_of_a_different_bert_is_refused(read, changes, match):
    with pytest.raises(InputError, match=match) as error:
        read(BERT, **changes)
    assert "config.json" in str(error.value)
    assert "\n" not in str(error.value)
