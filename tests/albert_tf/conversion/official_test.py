"""Official checkpoints read and written: names and shapes, hub modules, forks, leftovers, damage."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.checkpoints.tensor_files import load_tensors, save_tensors
from albert_tf.config import AlbertConfig
from albert_tf.conversion.official import OFFICIAL, load_official, save_official
from albert_tf.runtime.errors import InputError

LAYER_NORM = "bert/embeddings/LayerNorm/gamma"


@pytest.fixture
def model(random_model):
    return random_model()


@pytest.fixture
def checkpoint(model, tmp_path):
    folder = tmp_path / "official"
    save_official(model, str(folder))
    return folder


def _rewrite(folder, change, name="model.ckpt-best"):
    """Writes the checkpoint's tensors anew, as `change` returns them."""
    arrays = load_tensors(str(folder / "model.ckpt-best"))
    for path in folder.glob("model.ckpt-best.*"):
        path.unlink()
    save_tensors(str(folder / name), change(arrays))


def _same(first, second, values_of):
    first, second = values_of(first), values_of(second)
    assert list(first) == list(second)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


def test_there_and_back_is_the_same_bits(any_model, values_of, tmp_path):
    save_official(any_model, str(tmp_path / "official"))
    back = load_official(str(tmp_path / "official"))
    groups = any_model.config.num_hidden_layers if any_model.config.parameter_sharing == "none" else None
    assert back.config.num_hidden_groups == (groups or any_model.config.num_hidden_groups)
    _same(any_model, back, values_of)


def test_a_written_checkpoint_has_the_official_names_and_shapes(shared, tmp_path):
    for name in ("tiny", "groups2"):
        folder = shared / "reference/official" / name
        save_official(load_official(str(folder)), str(tmp_path / name))
        with np.load(folder / "parity.npz") as stored:
            theirs = {key[4:]: stored[key] for key in stored.files if key.startswith("var/")}
        written = load_tensors(str(tmp_path / name / "model.ckpt-best"))
        assert set(written) == set(theirs)
        for key, value in theirs.items():
            np.testing.assert_array_equal(written[key], value, err_msg=key)
        config = json.loads((tmp_path / name / "albert_config.json").read_text())
        assert config["hidden_act"] == "gelu"


def test_a_tf1_saver_restores_what_was_written(checkpoint):
    names = {"bert/pooler/dense/kernel": (24, 24), "cls/seq_relationship/output_weights": (2, 24)}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [tf.compat.v1.get_variable(name, shape, use_resource=False) for name, shape in names.items()]
        tf.compat.v1.train.Saver(variables).restore(session, str(checkpoint / "model.ckpt-best"))
        arrays = load_tensors(str(checkpoint / "model.ckpt-best"))
        for name, value in zip(names, session.run(variables), strict=True):
            np.testing.assert_array_equal(value, arrays[name])


@pytest.mark.parametrize("suffix", ["", ".index", ".data-00000-of-00001"])
def test_prefix_and_files_all_mean_the_checkpoint(checkpoint, model, values_of, suffix):
    _same(model, load_official(str(checkpoint / f"model.ckpt-best{suffix}")), values_of)


def test_the_best_of_several_checkpoints_is_taken(checkpoint, model, values_of):
    for step in (100, 200):
        save_tensors(str(checkpoint / f"model.ckpt-{step}"), {"x": np.zeros(1, np.float32)})
    _same(model, load_official(str(checkpoint)), values_of)
    for path in checkpoint.glob("model.ckpt-best.*"):
        path.unlink()
    with pytest.raises(InputError, match="holds 2 checkpoints, model.ckpt-100 and others; name the one you mean"):
        load_official(str(checkpoint))


def test_a_hub_module_is_understood(checkpoint, model, values_of, tmp_path):
    hub = tmp_path / "hub"
    (hub / "variables").mkdir(parents=True)
    (hub / "assets").mkdir()
    arrays = load_tensors(str(checkpoint / "model.ckpt-best"))
    save_tensors(str(hub / "variables/variables"), {f"module/{name}": value for name, value in arrays.items()})
    shutil.copy(checkpoint / "albert_config.json", hub / "assets")
    _same(model, load_official(str(hub)), values_of)


def test_the_forks_layer_norm_is_understood(checkpoint, model, values_of):
    def rename(arrays):
        return {name.replace("embeddings/LayerNorm", "embeddings/layer_normalization"): a for name, a in arrays.items()}

    _rewrite(checkpoint, rename)
    _same(model, load_official(str(checkpoint)), values_of)


def test_two_names_of_one_weight_must_agree(checkpoint):
    alias = LAYER_NORM.replace("LayerNorm", "layer_normalization")
    _rewrite(checkpoint, lambda arrays: {**arrays, alias: arrays[LAYER_NORM] + 1})
    with pytest.raises(InputError, match=f"{alias} differs from {LAYER_NORM}"):
        load_official(str(checkpoint))


def test_optimizer_state_is_left_out_with_a_word(checkpoint, model, values_of, capsys):
    def add_slots(arrays):
        slots = {f"{name}/{slot}": value * 0 for name, value in arrays.items() for slot in ("adam_m", "adam_v")}
        return {**arrays, **slots, "global_step": np.array(7, np.int64)}

    _rewrite(checkpoint, add_slots)
    loaded = load_official(str(checkpoint))
    _same(model, loaded, values_of)
    names = loaded.load_report.skipped["optimizer state and step"]
    assert len(names) == 2 * len(loaded.load_report.matched) + 1
    assert f"and {len(names) - 3} more: optimizer state and step" in capsys.readouterr().err


def test_missing_heads_are_an_error_unless_allowed(checkpoint, model, capsys):
    _rewrite(checkpoint, lambda arrays: {name: a for name, a in arrays.items() if not name.startswith("cls/pred")})
    with pytest.raises(InputError, match=r"missing masked_lm/.* and 2 more \(--allow_missing_heads starts them afresh"):
        load_official(str(checkpoint))
    loaded = load_official(str(checkpoint), allow_missing_heads=True)
    assert len(loaded.load_report.missing) == 5
    assert all(name.startswith("masked_lm/") for name in loaded.load_report.missing)
    assert "missing, started afresh: masked_lm/" in capsys.readouterr().err


def test_a_missing_encoder_is_an_error_always(checkpoint):
    _rewrite(checkpoint, lambda arrays: {name: a for name, a in arrays.items() if "ffn_1/intermediate/d" not in name})
    with pytest.raises(InputError, match="missing albert/encoder/block_0_0/feed_forward/intermediate/kernel"):
        load_official(str(checkpoint), allow_missing_heads=True)


HEADS = {
    "classification": {"output_weights": (3, 24), "output_bias": (3,)},
    "regression": {"output_weights": (1, 24), "output_bias": (1,)},
    "span": {"cls/squad/output_weights": (2, 24), "cls/squad/output_bias": (2,)},
    "span_beam": {
        "start_logits/dense/kernel": (24, 1),
        "start_logits/dense/bias": (1,),
        "end_logits/dense_0/kernel": (48, 24),
        "end_logits/dense_0/bias": (24,),
        "end_logits/LayerNorm/gamma": (24,),
        "end_logits/LayerNorm/beta": (24,),
        "end_logits/dense_1/kernel": (24, 1),
        "end_logits/dense_1/bias": (1,),
        "answer_class/dense_0/kernel": (48, 24),
        "answer_class/dense_0/bias": (24,),
        "answer_class/dense_1/kernel": (24, 1),
    },
}


@pytest.mark.parametrize("head", HEADS)
def test_a_fine_tuned_checkpoint_has_its_head_and_goes_back_with_it(checkpoint, head, tmp_path):
    rng = np.random.default_rng(0)
    tensors = {name: rng.normal(size=shape).astype("f4") for name, shape in HEADS[head].items()}

    def fine_tune(arrays):
        return {name: value for name, value in arrays.items() if name.startswith("bert/")} | tensors

    _rewrite(checkpoint, fine_tune)
    model = load_official(str(checkpoint))
    assert not model.load_report.missing and not model.load_report.unexpected
    pooler = model.load_report.skipped.get("the pooler, which this model's head does not read", ())
    assert len(pooler) == (2 if "span" in head else 0)
    save_official(model, str(tmp_path / "again"))
    stored = load_tensors(str(tmp_path / "again" / "model.ckpt-best"))
    for name, value in tensors.items():
        np.testing.assert_array_equal(stored[name], value, err_msg=name)


@pytest.mark.parametrize(
    ("head", "labels"), [*((head, 1 if head == "regression" else 2) for head in HEADS), ("classification", 3)]
)
def test_the_head_of_a_fine_tuned_checkpoint_is_told_by_its_variables(checkpoint, head, labels):
    tensors = {name: np.zeros(shape, "f4") for name, shape in HEADS[head].items()}
    if "output_weights" in tensors:
        tensors = {"output_weights": np.zeros((labels, 24), "f4"), "output_bias": np.zeros(labels, "f4")}

    def fine_tune(arrays):
        return {name: value for name, value in arrays.items() if name.startswith("bert/")} | tensors

    _rewrite(checkpoint, fine_tune)
    task = OFFICIAL.open(str(checkpoint)).task
    assert (task.head, task.num_labels) == (head, labels)


def test_a_head_of_one_row_scores_as_the_official_matrix_product_does(checkpoint):
    weights, bias = np.arange(24, dtype="f4")[None] / 24, np.array([0.5], "f4")
    _rewrite(
        checkpoint,
        lambda arrays: (
            {name: value for name, value in arrays.items() if name.startswith("bert/")}
            | {"output_weights": weights, "output_bias": bias}
        ),
    )
    model, inputs = load_official(str(checkpoint)), {"input_ids": np.arange(10, dtype="int32").reshape(2, 5)}
    # logits = pooled @ weights^T + bias (create_model of classifier_utils.py).
    expected = model.albert(inputs)["pooled_output"].numpy() @ weights.T + bias
    assert expected.shape == (2, 1)
    np.testing.assert_allclose(model(inputs)["logits"], expected, atol=1e-6)


def test_a_pre_training_model_leaves_a_fine_tuning_head_out(checkpoint):
    head = {"output_weights": np.ones((3, 24), np.float32), "output_bias": np.ones(3, np.float32)}
    _rewrite(checkpoint, lambda arrays: {**arrays, **head})
    report = load_official(str(checkpoint)).load_report
    assert set(report.skipped["a fine-tuning head"]) == {"output_weights", "output_bias"}


def test_what_does_not_fit_is_one_line(checkpoint, random_model):
    other = random_model(num_hidden_groups=2, intermediate_size=44).config
    with pytest.raises(InputError) as error:
        load_official(str(checkpoint), other)
    message = str(error.value)
    assert "missing albert/encoder/block_1_0/attention/query_kernel" in message
    assert "ffn_1/intermediate/dense/kernel is [24, 40], the model needs [24, 44]" in message
    assert "\n" not in message
    _rewrite(checkpoint, lambda arrays: {**arrays, "bert/extra": np.zeros(1, np.float32)})
    with pytest.raises(InputError, match="unexpected bert/extra"):
        load_official(str(checkpoint))


def test_damage_and_absence_are_named(checkpoint, tmp_path):
    with pytest.raises(InputError, match="nowhere: no such checkpoint"):
        load_official(str(tmp_path / "nowhere"))
    data = checkpoint / "model.ckpt-best.data-00000-of-00001"
    whole = data.read_bytes()
    data.write_bytes(whole[:1000])
    with pytest.raises(InputError, match="the checkpoint is damaged"):
        load_official(str(checkpoint))
    data.write_bytes(whole)
    (checkpoint / "albert_config.json").unlink()
    with pytest.raises(InputError, match="no albert_config.json lies beside it"):
        load_official(str(checkpoint))


def test_contradicting_values_name_the_config_file(checkpoint):
    path = checkpoint / "albert_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "num_attention_heads": 5}))
    with pytest.raises(InputError, match=r"albert_config.json: .*num_attention_heads"):
        load_official(str(checkpoint))
    path.write_text(json.dumps({**config, "hidden_size": 48}))
    with pytest.raises(InputError, match=r"pooler/dense/kernel is \[24, 24\], the model needs \[48, 48\]"):
        load_official(str(checkpoint))


def test_what_the_official_code_cannot_express_is_refused(random_model, tmp_path):
    with pytest.raises(InputError, match="no names for `parameter_sharing` 'ffn'; only 'all' and 'none'"):
        save_official(random_model(parameter_sharing="ffn"), str(tmp_path / "half"))
    with pytest.raises(InputError, match="cannot have hidden_act='gelu_erf'"):
        save_official(random_model(hidden_act="gelu_erf"), str(tmp_path / "exact"))
    # int(15 / 22 * 22) is 14 in floating point.
    with pytest.raises(InputError, match="22 layers in 22 groups the official code puts layer 15 into group 14"):
        OFFICIAL.rows(AlbertConfig(vocab_size=9, num_hidden_layers=22, num_hidden_groups=22))
    assert not list(tmp_path.iterdir())


def test_gelu_keeps_its_meaning(random_model, tmp_path):
    for ours in ("gelu", "gelu_new"):
        save_official(random_model(hidden_act=ours), str(tmp_path / ours))
        assert load_official(str(tmp_path / ours)).config.hidden_act == "gelu"


def test_an_output_that_is_there_is_left_alone(model, checkpoint):
    before = sorted(path.name for path in checkpoint.iterdir())
    with pytest.raises(InputError, match="is there already"):
        save_official(model, str(checkpoint))
    assert sorted(path.name for path in checkpoint.iterdir()) == before
