"""Checkpoints of google-research/bert, made up by its names: what is read, what goes back, what is refused."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints.tensor_files import load_tensors, save_tensors
from albert_tf.config import AlbertConfig
from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import recognise
from albert_tf.conversion.official import OFFICIAL, save_official
from albert_tf.conversion.official_bert import OFFICIAL_BERT, load_official_bert, save_official_bert
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import InputError

V, H, L, WIDE, S = 101, 24, 3, 40, 17
CONFIG = {
    **{"vocab_size": V, "hidden_size": H, "num_hidden_layers": L, "num_attention_heads": 3, "intermediate_size": WIDE},
    **{"max_position_embeddings": S, "type_vocab_size": 2, "hidden_act": "gelu", "initializer_range": 0.02},
    **{"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1},
}
# Shapes of the variables that modeling.py and run_pretraining.py of google-research/bert make.
NORM, SQUARE = {"gamma": (H,), "beta": (H,)}, {"kernel": (H, H), "bias": (H,)}
LAYER = {
    **{f"attention/self/{part}/{leaf}": shape for part in ("query", "key", "value") for leaf, shape in SQUARE.items()},
    **{f"attention/output/dense/{leaf}": shape for leaf, shape in SQUARE.items()},
    **{f"attention/output/LayerNorm/{leaf}": shape for leaf, shape in NORM.items()},
    **{"intermediate/dense/kernel": (H, WIDE), "intermediate/dense/bias": (WIDE,)},
    **{"output/dense/kernel": (WIDE, H), "output/dense/bias": (H,)},
    **{f"output/LayerNorm/{leaf}": shape for leaf, shape in NORM.items()},
}
ENCODER = {
    **{"bert/embeddings/word_embeddings": (V, H), "bert/embeddings/position_embeddings": (S, H)},
    "bert/embeddings/token_type_embeddings": (2, H),
    **{f"bert/embeddings/LayerNorm/{leaf}": shape for leaf, shape in NORM.items()},
    **{f"bert/encoder/layer_{layer}/{name}": shape for layer in range(L) for name, shape in LAYER.items()},
    **{f"bert/pooler/dense/{leaf}": shape for leaf, shape in SQUARE.items()},
}
PRETRAINING = {
    **{f"cls/predictions/transform/dense/{leaf}": shape for leaf, shape in SQUARE.items()},
    **{f"cls/predictions/transform/LayerNorm/{leaf}": shape for leaf, shape in NORM.items()},
    "cls/predictions/output_bias": (V,),
    **{"cls/seq_relationship/output_weights": (2, H), "cls/seq_relationship/output_bias": (2,)},
}
HEADS = {
    "classification": {"output_weights": (3, H), "output_bias": (3,)},
    "regression": {"output_weights": (1, H), "output_bias": (1,)},
    "span": {"cls/squad/output_weights": (2, H), "cls/squad/output_bias": (2,)},
}


def _values(shapes):
    rng = np.random.default_rng(7)
    return {name: rng.normal(0, 0.1, shape).astype("f4") for name, shape in shapes.items()}


@pytest.fixture
def write(tmp_path):
    """A function that writes a checkpoint of given tensors, with CONFIG and changes; returns its folder."""

    def run(tensors, name="bert", **changes):
        folder = tmp_path / name
        folder.mkdir()
        save_tensors(str(folder / "bert_model.ckpt"), tensors)
        values = {key: value for key, value in (CONFIG | changes).items() if value is not None}
        (folder / "bert_config.json").write_text(json.dumps(values))
        return folder

    return run


def test_a_checkpoint_is_read_and_goes_back_the_same_bits(write, tmp_path):
    tensors = _values(ENCODER | PRETRAINING)
    step = {"global_step": np.array(7, np.int64), "bert/pooler/dense/bias/adam_m": np.zeros(H, "f4")}
    folder = write(tensors | step)
    assert recognise(str(folder)) is OFFICIAL_BERT
    model = load_official_bert(str(folder))
    assert model.config == AlbertConfig(**CONFIG, embedding_size=H, parameter_sharing="none")
    assert set(model.load_report.skipped["optimizer state and step"]) == set(step)
    weights = named_weights(model)
    for ours, theirs in (
        ("albert/encoder/block_2_0/attention/value_kernel", "bert/encoder/layer_2/attention/self/value/kernel"),
        ("albert/encoder/block_1_0/attention/layer_norm/beta", "bert/encoder/layer_1/attention/output/LayerNorm/beta"),
        ("albert/encoder/block_1_0/feed_forward/layer_norm/beta", "bert/encoder/layer_1/output/LayerNorm/beta"),
        ("albert/encoder/block_0_0/feed_forward/output/kernel", "bert/encoder/layer_0/output/dense/kernel"),
    ):
        np.testing.assert_array_equal(weights[ours].numpy(), tensors[theirs], err_msg=ours)
    order = weights["sentence_order/classifier/kernel"].numpy()
    np.testing.assert_array_equal(order, tensors["cls/seq_relationship/output_weights"].T)
    save_official_bert(model, str(tmp_path / "again"))
    again = load_tensors(str(tmp_path / "again/bert_model.ckpt"))
    assert set(again) == set(tensors)
    assert all(np.array_equal(again[name], value) for name, value in tensors.items())
    assert json.loads((tmp_path / "again/bert_config.json").read_text()) == CONFIG


@pytest.mark.parametrize("head", HEADS)
def test_a_fine_tuned_checkpoint_has_its_head_and_goes_back_with_it(head, write, tmp_path):
    tensors = _values(ENCODER | HEADS[head])
    found = load_pretrained(str(write(tensors)))
    classes = next(iter(HEADS[head].values()))[0]
    assert (found.task.head, found.task.num_labels) == (head, classes)
    OFFICIAL_BERT.save(found.model, str(tmp_path / "again"))
    again = load_tensors(str(tmp_path / "again/bert_model.ckpt"))
    # A head that reads every position has no pooler.
    assert set(tensors) - set(again) == (
        {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"} if head == "span" else set()
    )
    assert all(np.array_equal(value, tensors[name]) for name, value in again.items())


@pytest.mark.parametrize("suffix", ["", ".index", ".data-00000-of-00001"])
def test_prefix_and_files_all_mean_the_checkpoint(suffix, write):
    folder = write(_values(ENCODER | PRETRAINING))
    assert recognise(str(folder / f"bert_model.ckpt{suffix}")) is OFFICIAL_BERT


def test_a_hub_module_is_understood(tmp_path):
    (tmp_path / "hub/variables").mkdir(parents=True)
    (tmp_path / "hub/assets").mkdir()
    tensors = _values(ENCODER | PRETRAINING)
    save_tensors(str(tmp_path / "hub/variables/variables"), {f"module/{name}": a for name, a in tensors.items()})
    (tmp_path / "hub/assets/vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]")
    # Its assets have no bert_config.json.
    config = AlbertConfig(**CONFIG, embedding_size=H, parameter_sharing="none")
    config.to_json_file(str(tmp_path / "config.json"))
    assert recognise(str(tmp_path / "hub")) is OFFICIAL_BERT
    found = load_pretrained(str(tmp_path / "hub"), str(tmp_path / "config.json"))
    assert (found.model.config, found.vocabulary["size"]) == (config, 5)
    with pytest.raises(InputError, match="--albert_config_file"):
        load_pretrained(str(tmp_path / "hub"))


def test_the_head_for_sentences_is_of_next_ones_and_it_is_said_where_that_is_lost(write, tmp_path, caplog):
    folder = write(_values(ENCODER | PRETRAINING))
    assert load_pretrained(str(folder)).sentence_task == "nsp"
    for name, is_lost in (("hugging_face_bert", False), ("official", True)):
        caplog.clear()
        convert(ConversionSettings(input=str(folder), output=str(tmp_path / name), to_format=name))
        assert ("trained with --sentence_task=nsp; an official checkpoint does not say so" in caplog.text) == is_lost


def test_an_albert_is_none(random_model, tmp_path):
    save_official(random_model(embedding_size=24, parameter_sharing="none"), str(tmp_path / "albert"))
    assert recognise(str(tmp_path / "albert")) is OFFICIAL
    with pytest.raises(InputError, match="no checkpoint here: an official BERT checkpoint was expected"):
        recognise(str(tmp_path / "albert"), "official_bert")


def test_a_tf1_saver_restores_what_was_written(random_model, tmp_path):
    save_official_bert(random_model(embedding_size=24, parameter_sharing="none"), str(tmp_path / "bert"))
    prefix = str(tmp_path / "bert/bert_model.ckpt")
    shapes = ENCODER | PRETRAINING
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [tf.compat.v1.get_variable(name, shape, use_resource=False) for name, shape in shapes.items()]
        tf.compat.v1.train.Saver(variables).restore(session, prefix)
        arrays = load_tensors(prefix)
        assert set(arrays) == set(shapes)
        for name, value in zip(shapes, session.run(variables), strict=True):
            np.testing.assert_array_equal(value, arrays[name])


def test_gelu_is_the_tanh_form_and_keys_that_are_left_out_have_their_defaults(write, tmp_path):
    less = dict.fromkeys(("type_vocab_size", "hidden_dropout_prob", "hidden_act", "initializer_range"))
    # The multilingual models' file has keys of no effect.
    folder = write(_values(ENCODER | PRETRAINING), **less, pooler_fc_size=768, directionality="bidi")
    config = OFFICIAL_BERT.open(str(folder)).config
    assert (config.type_vocab_size, config.hidden_act, config.hidden_dropout_prob) == (16, "gelu", 0.1)
    convert(
        ConversionSettings(
            input=str(write(_values(ENCODER | PRETRAINING), "whole")),
            output=str(tmp_path / "theirs"),
            to_format="hugging_face_bert",
        )
    )
    assert json.loads((tmp_path / "theirs/config.json").read_text())["hidden_act"] == "gelu_new"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"hidden_act": "swish"}, "bert_config.json: `hidden_act` must be one of gelu, "),
        ({"intermediate_size": None, "intermidiate_size": 40}, "did you mean 'intermediate_size', which is not there"),
        ({"vocab_size": None}, "`vocab_size` is missing"),
        ({"num_attention_heads": 5}, "`hidden_size` must be a multiple of `num_attention_heads`"),
        ({"hidden_size": 48}, r"word_embeddings is \[101, 24\], the model needs \[101, 48\]"),
        ({"num_hidden_layers": 4}, "missing albert/encoder/block_3_0/attention/query_kernel"),
        ({"num_hidden_layers": 2}, "unexpected bert/encoder/layer_2/"),
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_is_refused(changes, match, write):
    folder = write(_values(ENCODER | PRETRAINING), **changes)
    with pytest.raises(InputError, match=match) as error:
        load_official_bert(str(folder))
    assert "\n" not in str(error.value)


def test_damage_is_named_and_the_exact_gelu_is_refused(write, random_model, tmp_path):
    folder = write(_values(ENCODER | PRETRAINING))
    data = folder / "bert_model.ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:1000])
    with pytest.raises(InputError, match="bert_model.ckpt: the checkpoint is damaged"):
        load_pretrained(str(folder))
    exact = random_model(embedding_size=24, parameter_sharing="none", hidden_act="gelu_erf")
    with pytest.raises(InputError, match="an official BERT checkpoint cannot have hidden_act='gelu_erf'"):
        save_official_bert(exact, str(tmp_path / "exact"))
    assert not (tmp_path / "exact").exists()
