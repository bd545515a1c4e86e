"""Folders of a BERT as save_pretrained writes them: what is recognised, read, refused in one line, and written."""

import json

import keras
import numpy as np
import pytest
import safetensors.numpy

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import FORMATS, output_format, recognise
from albert_tf.conversion.hugging_face import HUGGING_FACE, load_hugging_face
from albert_tf.conversion.hugging_face_bert import HUGGING_FACE_BERT, load_hugging_face_bert, save_hugging_face_bert
from albert_tf.conversion.hugging_face_files import write_safetensors
from albert_tf.conversion.pretrained import initialise, load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

WEIGHTS = "model.safetensors"
BERT = {"embedding_size": 24, "parameter_sharing": "none"}
LAYER = "bert.encoder.layer.1."
# The tensors of a layer as transformers names them, with their shapes.
LAYER_SHAPES = {
    **{f"attention.self.{part}.weight": (24, 24) for part in ("query", "key", "value")},
    **{f"attention.self.{part}.bias": (24,) for part in ("query", "key", "value")},
    **{"attention.output.dense.weight": (24, 24), "attention.output.dense.bias": (24,)},
    **{"attention.output.LayerNorm.weight": (24,), "attention.output.LayerNorm.bias": (24,)},
    **{"intermediate.dense.weight": (40, 24), "intermediate.dense.bias": (40,)},
    **{"output.dense.weight": (24, 40), "output.dense.bias": (24,)},
    **{"output.LayerNorm.weight": (24,), "output.LayerNorm.bias": (24,)},
}
OTHER_SHAPES = {
    "bert.embeddings.word_embeddings.weight": (101, 24),
    "bert.embeddings.position_embeddings.weight": (17, 24),
    "bert.embeddings.token_type_embeddings.weight": (2, 24),
    **{f"bert.embeddings.LayerNorm.{leaf}": (24,) for leaf in ("weight", "bias")},
    **{"bert.pooler.dense.weight": (24, 24), "bert.pooler.dense.bias": (24,)},
    **{"cls.predictions.transform.dense.weight": (24, 24), "cls.predictions.transform.dense.bias": (24,)},
    **{f"cls.predictions.transform.LayerNorm.{leaf}": (24,) for leaf in ("weight", "bias")},
    **{"cls.predictions.bias": (101,), "cls.seq_relationship.weight": (2, 24), "cls.seq_relationship.bias": (2,)},
}
HEADS = {"classification": 3, "multi_label": 4, "regression": 1, "token_classification": 5, "multiple_choice": 1}


@pytest.fixture(scope="module")
def model(random_model):
    return random_model(**BERT)


@pytest.fixture(scope="module")
def save():
    return save_hugging_face_bert


def _edit(folder, change):
    """Rewrites the tensors as `change` returns them, given as {name: array}."""
    write_safetensors(str(folder / WEIGHTS), change(safetensors.numpy.load_file(folder / WEIGHTS)))


def _edit_config(folder, **changes):
    """Rewrites config.json with changes; None takes a key out."""
    values = json.loads((folder / "config.json").read_text()) | changes
    text = json.dumps({key: value for key, value in values.items() if value is not None})
    (folder / "config.json").write_text(text)


def _same(model, other, values_of):
    values, others = values_of(model), values_of(other)
    assert set(values) == set(others)
    assert [name for name, value in values.items() if not np.array_equal(value, others[name])] == []


def _refused(path, match, **options):
    with pytest.raises(InputError, match=match) as error:
        load_hugging_face_bert(str(path), **options)
    assert "\n" not in str(error.value)


def test_every_tensor_has_the_name_and_the_layout_of_torch(model, original):
    arrays = safetensors.numpy.load_file(original / WEIGHTS)
    layers = {f"bert.encoder.layer.{i}.{name}": shape for i in range(3) for name, shape in LAYER_SHAPES.items()}
    assert {name: array.shape for name, array in arrays.items()} == layers | OTHER_SHAPES
    weights = named_weights(model)
    for theirs, ours in (
        (f"{LAYER}intermediate.dense.weight", "albert/encoder/block_1_0/feed_forward/intermediate/kernel"),
        (f"{LAYER}attention.self.key.weight", "albert/encoder/block_1_0/attention/key_kernel"),
        (f"{LAYER}attention.output.LayerNorm.bias", "albert/encoder/block_1_0/attention/layer_norm/beta"),
        (f"{LAYER}output.LayerNorm.weight", "albert/encoder/block_1_0/feed_forward/layer_norm/gamma"),
        ("cls.seq_relationship.weight", "sentence_order/classifier/kernel"),
    ):
        np.testing.assert_array_equal(arrays[theirs], weights[ours].numpy().T, err_msg=ours)


@pytest.mark.parametrize("changes", [{}, {"hidden_act": "gelu_erf", "num_hidden_layers": 1}, {"type_vocab_size": 3}])
def test_ours_to_theirs_to_ours_is_the_same_bits(random_model, values_of, tmp_path, changes):
    model = random_model(**BERT, **changes)
    save_hugging_face_bert(model, str(tmp_path / "theirs"))
    read = load_hugging_face_bert(str(tmp_path / "theirs"))
    assert read.config == model.config
    _same(model, read, values_of)


def test_as_many_groups_as_layers_share_nothing_either(random_model, values_of, tmp_path):
    model = random_model(embedding_size=24, num_hidden_groups=3)
    save_hugging_face_bert(model, str(tmp_path / "theirs"))
    read = load_hugging_face_bert(str(tmp_path / "theirs"))
    assert (read.config.parameter_sharing, read.config.num_hidden_groups) == ("none", 1)
    _same(model, read, values_of)


@pytest.mark.parametrize(
    ("architecture", "held", "without"),
    [
        ("BertForMaskedLM", "cls.predictions.bias", ("bert.pooler.", "cls.seq_relationship.")),
        ("BertForNextSentencePrediction", "cls.seq_relationship.bias", ("cls.predictions.",)),
        ("BertModel", "pooler.dense.bias", ("bert.", "cls.")),
    ],
)
def test_smaller_architectures_hold_their_part(model, values_of, tmp_path, architecture, held, without):
    path = tmp_path / "theirs"
    save_hugging_face_bert(model, str(path), architecture=architecture)
    assert json.loads((path / "config.json").read_text())["architectures"] == [architecture]
    names = set(safetensors.numpy.load_file(path / WEIGHTS))
    assert held in names and not any(name.startswith(without) for name in names)
    _refused(path, "missing .*--allow_missing_heads starts them afresh")
    read = load_hugging_face_bert(str(path), allow_missing_heads=True)
    assert len(read.load_report.matched) == len(names)
    for name in read.load_report.matched:
        np.testing.assert_array_equal(values_of(model)[name], values_of(read)[name])


@pytest.mark.parametrize("head", [*HEADS, "span"])
def test_a_fine_tuned_model_crosses_with_its_head_and_classes(head, model, values_of, tmp_path):
    classes = HEADS.get(head, 2)
    labels = tuple(f"class {index}" for index in range(classes)) if head not in ("span", "multiple_choice") else ()
    task = FinetunedTask(head, classes, labels)
    with keras.device("cpu"):
        tuned = make_finetuning_model(model.config, head, classes, classifier_dropout_prob=0.3)
    save_hugging_face_bert(tuned, str(tmp_path / "theirs"), task=task)
    config = json.loads((tmp_path / "theirs/config.json").read_text())
    assert config["architectures"][0].startswith("BertFor") and config["classifier_dropout"] == 0.3
    found = load_pretrained(str(tmp_path / "theirs"))
    assert (found.task.head, found.task.num_labels, found.task.labels) == (head, classes, labels)
    assert found.model.classifier_dropout_prob == 0.3
    _same(tuned, found.model, values_of)
    # Where the head's own rate is not said, it is that of the hidden units.
    _edit_config(tmp_path / "theirs", classifier_dropout=None, hidden_dropout_prob=0.2)
    assert load_pretrained(str(tmp_path / "theirs")).task.classifier_dropout_prob == 0.2


def test_files_of_2019_name_layer_norms_as_tensorflow_does(model, folder, values_of):
    def rename(arrays):
        renamed = {}
        for name, array in arrays.items():
            old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            renamed[old] = array
        return renamed

    _edit(folder, rename)
    # They lay beside a bert_config.json, which says no model_type.
    _edit_config(folder, model_type=None)
    (folder / "config.json").rename(folder / "bert_config.json")
    assert recognise(str(folder)) is HUGGING_FACE_BERT
    _same(model, load_hugging_face_bert(str(folder)), values_of)


def test_tensors_that_are_stored_twice_must_be_the_same(model, folder, values_of):
    def tie(arrays):
        return arrays | {
            "cls.predictions.decoder.weight": arrays["bert.embeddings.word_embeddings.weight"],
            "cls.predictions.decoder.bias": arrays["cls.predictions.bias"],
            "bert.embeddings.position_ids": np.arange(17)[np.newaxis],
        }

    _edit(folder, tie)
    _same(model, load_hugging_face_bert(str(folder)), values_of)
    _edit(folder, lambda arrays: arrays | {"cls.predictions.decoder.bias": arrays["cls.predictions.bias"] * 0})
    _refused(folder, r"cls.predictions.decoder.bias differs from cls.predictions.bias, and must be the same")


@pytest.mark.parametrize("is_bare", [False, True])
def test_a_folder_is_a_berts_by_its_config_or_by_its_tensors(is_bare, model, tmp_path, random_model):
    folder, albert = tmp_path / "bert", tmp_path / "albert"
    save_hugging_face_bert(model, str(folder), architecture="BertModel" if is_bare else None)
    HUGGING_FACE.save(random_model(**BERT), str(albert))
    for changes in ({}, {"model_type": None}):
        _edit_config(folder, **changes)
        _edit_config(albert, **changes)
        for path in (folder, folder / WEIGHTS):
            assert recognise(str(path)) is HUGGING_FACE_BERT
        assert recognise(str(albert)) is HUGGING_FACE
    (folder / "config.json").unlink()
    assert recognise(str(folder)) is HUGGING_FACE_BERT
    _refused(folder, "--albert_config_file")
    load_hugging_face_bert(str(folder), model.config, allow_missing_heads=True)


def test_a_model_of_a_different_type_is_none_of_them(folder):
    with pytest.raises(InputError, match="of type 'bert', which --from=hugging_face_bert reads"):
        load_hugging_face(str(folder))
    # A bare RobertaModel has the same names.
    _edit_config(folder, model_type="roberta")
    with pytest.raises(InputError, match="is of a model of type 'roberta'; only 'albert' and 'bert' models cross over"):
        load_pretrained(str(folder))
    with pytest.raises(InputError, match="no checkpoint here: a Hugging Face BERT checkpoint was expected"):
        recognise(str(folder), "hugging_face_bert")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda a: {n: x for n, x in a.items() if not n.startswith(LAYER)}, "missing albert/encoder/block_1_0/"),
        (lambda a: a | {f"{LAYER}crossattention.self.query.bias": np.zeros(2, "f")}, "unexpected bert.encoder.layer.1"),
        (
            lambda a: a | {f"{LAYER}output.dense.weight": np.zeros((40, 24), "f")},
            r"output.dense.weight is \[40, 24\], the model needs \[24, 40\]",
        ),
    ],
    ids=["a layer missing", "left over", "wrongly shaped"],
)
def test_tensors_that_do_not_fit_are_refused(folder, change, match):
    _edit(folder, change)
    _refused(folder, match, allow_missing_heads=True)


@pytest.mark.parametrize("name", ["hugging_face_bert", "official_bert"])
@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"embedding_size": 24},
            "parameters of its own in every layer .*'all' with num_hidden_groups 1 and num_hidden_layers 3",
        ),
        ({"embedding_size": 24, "parameter_sharing": "ffn"}, "parameters of its own in every layer .*'ffn'"),
        ({"parameter_sharing": "none"}, r"embeddings as wide as its layers .* 10 and 24\)"),
        (BERT | {"inner_group_num": 2}, r"one block in a layer \(inner_group_num 1; here it is 2\)"),
    ],
    ids=["shared", "half shared", "projection", "two blocks"],
)
def test_a_model_that_is_no_bert_is_refused(name, changes, match, random_model, tmp_path):
    with pytest.raises(InputError, match=f"holds a BERT, which has {match}") as error:
        FORMATS[name].save(random_model(**changes), str(tmp_path / "theirs"))
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_an_architecture_goes_with_its_own_format(model, tmp_path):
    for name, architecture, match in (
        (
            "hugging_face_bert",
            "AlbertModel",
            "one of BertForPreTraining, .* in format hugging_face_bert. Rec.*'AlbertMo",
        ),
        ("hugging_face", "BertModel", "one of AlbertForPreTraining, .* in format hugging_face. Received 'BertModel'"),
        ("official_bert", "BertModel", "goes with --to=hugging_face and --to=hugging_face_bert, not with --to=off"),
    ):
        with pytest.raises(InputError, match=match):
            output_format(name, architecture)
    with pytest.raises(InputError, match=r"no head for BertForQuestionAnswering, which needs span/\*"):
        save_hugging_face_bert(model, str(tmp_path / "theirs"), architecture="BertForQuestionAnswering")
    assert list(tmp_path.iterdir()) == []


def test_a_vocabulary_of_word_pieces_goes_along(model, values_of, tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"##{index}" for index in range(96))]
    (tmp_path / "pieces.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    folders = [str(tmp_path / name) for name in ("theirs", "ours", "official", "again")]
    save_hugging_face_bert(model, folders[0], str(tmp_path / "pieces.txt"))
    for source, target, name in zip(folders, folders[1:], ("albert_tf", "official_bert", "hugging_face_bert")):
        convert(ConversionSettings(input=source, output=target, to_format=name))
    for folder in folders:
        found = load_pretrained(folder)
        assert (found.vocabulary["file"], found.vocabulary["size"]) == ("vocab.txt", 101)
        with open(found.vocabulary_file, "rb") as file:
            assert file.read() == (tmp_path / "pieces.txt").read_bytes()
        _same(model, found.model, values_of)


def test_every_group_of_an_albert_can_start_from_a_berts_first_layer(model, original, random_model):
    albert = AlbertForPretraining(random_model(embedding_size=24, num_hidden_groups=2).config)
    with pytest.raises(InputError, match="holds a BERT, which has parameters of its own in every layer"):
        initialise(albert, str(original))
    initialise(albert, str(original), from_group0=True)
    query = named_weights(model)["albert/encoder/block_0_0/attention/query_kernel"].numpy()
    for group in (0, 1):
        found = named_weights(albert)[f"albert/encoder/block_{group}_0/attention/query_kernel"].numpy()
        np.testing.assert_array_equal(found, query)
