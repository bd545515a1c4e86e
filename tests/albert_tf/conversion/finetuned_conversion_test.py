"""Fine-tuned models carried between the formats: the dropout of their heads, and official heads of one row."""

import dataclasses
import json
import re

import keras
import numpy as np
import pytest

import albert_tf
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.tensor_files import load_tensors, save_tensors
from albert_tf.conversion.checkpoint_format import build_model
from albert_tf.conversion.converter import convert
from albert_tf.conversion.hugging_face import load_hugging_face, save_hugging_face
from albert_tf.conversion.official import load_official
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.conversion.task_of_model import task_of
from albert_tf.models.classification import AlbertForSequenceClassification
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning

HEADS = {"classification": 3, "multi_label": 4, "regression": 1, "token_classification": 5, "multiple_choice": 1}


@pytest.fixture(scope="module")
def config(random_model):
    return random_model().config


def _convert(source, target, name, **changes):
    convert(ConversionSettings(input=str(source), output=str(target), to_format=name, **changes))


def _make(config, head, **changes):
    with keras.device("cpu"):
        return make_finetuning_model(config, head, HEADS.get(head, 2), **changes)


@pytest.mark.parametrize("head", [*HEADS, "span"])
def test_the_dropout_of_a_head_goes_along_both_ways(head, config, tmp_path):
    model = _make(config, head, classifier_dropout_prob=0.3)
    # The task as a checkpoint of other code has it, and as the model itself has it.
    task = FinetunedTask(head, HEADS.get(head, 2)) if head != "classification" else None
    save_hugging_face(model, str(tmp_path / "theirs"), task=task)
    assert json.loads((tmp_path / "theirs/config.json").read_text())["classifier_dropout_prob"] == 0.3
    assert load_hugging_face(str(tmp_path / "theirs")).classifier_dropout_prob == 0.3
    _convert(tmp_path / "theirs", tmp_path / "ours", "albert_tf")
    found = load_pretrained(str(tmp_path / "ours"))
    assert (found.model.classifier_dropout_prob, found.task.classifier_dropout_prob) == (0.3, 0.3)
    _convert(tmp_path / "ours", tmp_path / "again", "hugging_face")
    assert json.loads((tmp_path / "again/config.json").read_text())["classifier_dropout_prob"] == 0.3


def test_an_official_classifier_without_a_pooler_is_one_of_pieces(config, tmp_path):
    albert_tf.save(_make(config, "token_classification"), tmp_path / "official", "official")
    task = load_pretrained(str(tmp_path / "official")).task
    assert (task.head, task.num_labels) == ("token_classification", 5)


def test_texts_of_a_fine_tuned_model_stay_as_they_were(config, tmp_path):
    task = FinetunedTask("classification", 3, cleaning=dataclasses.asdict(TextCleaning()))
    cased = TextCleaning(do_lower_case=False)
    with pytest.raises(InputError, match="its texts stay so. Received `cleaning` TextCleaning.do_lower_case=False"):
        albert_tf.save(_make(config, "classification"), tmp_path / "x", "hugging_face", task=task, cleaning=cased)


def test_the_labels_of_a_task_are_different():
    with pytest.raises(InputError, match="the labels of a task must be different. Received"):
        FinetunedTask("classification", 2, ("x", "x"))


def test_an_export_is_no_checkpoint(tmp_path):
    for place in ("", "assets.extra"):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "export.json").write_text("{}")
        with pytest.raises(InputError, match="is an export; name the run or the checkpoint that it was made of"):
            load_pretrained(str(tmp_path))
        (tmp_path / place / "export.json").unlink()


def test_a_head_that_transformers_has_none_of_is_refused(config, tmp_path):
    model = make_finetuning_model(config, "span_categories", 3, max_span_length=5)
    with pytest.raises(
        InputError, match="has no place for this fine-tuned model's span_categories/start_kernel, span_c"
    ):
        save_hugging_face(model, str(tmp_path / "theirs"))
    assert not (tmp_path / "theirs").exists()
    task = task_of(model)
    assert (task.head, task.num_labels, task.settings) == ("span_categories", 3, {"max_span_length": 5})
    assert build_model(config, "here", task).max_span_length == 5


def test_a_classifier_that_reads_the_mean_is_refused_by_every_format(config, tmp_path):
    model = AlbertForSequenceClassification(config, num_labels=2, classifier_pooling="mean")
    with pytest.raises(InputError, match="no place for a classifier that reads the mean"):
        albert_tf.save(model, str(tmp_path / "ours"))
    assert not (tmp_path / "ours").exists()
    with pytest.raises(InputError, match="`classifier_pooling` must be pooled, or mean without `early_exit`"):
        AlbertForSequenceClassification(config, num_labels=2, classifier_pooling="mean", early_exit=True)


@pytest.mark.parametrize(
    ("change", "rate"),
    [
        (lambda values: values.update(classifier_dropout_prob=0), 0.0),
        (lambda values: values.pop("classifier_dropout_prob"), 0.1),
        (lambda values: values.update(classifier_dropout_prob=None, hidden_dropout_prob=0.2), 0.2),
    ],
    ids=["none", "not there", "null"],
)
def test_a_dropout_that_is_not_there_is_that_of_transformers(change, rate, config, tmp_path):
    save_hugging_face(_make(config, "token_classification", classifier_dropout_prob=0.4), str(tmp_path / "theirs"))
    path = tmp_path / "theirs/config.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    assert load_hugging_face(str(tmp_path / "theirs")).classifier_dropout_prob == rate


@pytest.mark.parametrize(
    ("task", "lost"),
    [
        (FinetunedTask("classification", 3, name="mnli", input_fields=("text", "text_pair")), "that a second text"),
        (FinetunedTask("classification", 3, options={"long_texts": "mean"}), r"in windows \(--long_texts=mean\)"),
        (FinetunedTask("multi_label", 4, options={"label_threshold": "0.4"}), "which probability a label is given"),
        (FinetunedTask("span", 2, name="squad_v2", input_fields=("question", "context")), "there may be no answer"),
        (FinetunedTask("classification", 3, settings={"max_seq_length": 48}), r"texts are cut \(max_seq_length=48\)"),
        (FinetunedTask("classification", 3, input_fields=("text",), options={"long_texts": "cut"}), None),
    ],
    ids=["pairs", "windows", "threshold", "no answer", "lengths", "plain"],
)
def test_what_a_format_does_not_say_of_a_task_is_warned_of(task, lost, config, tmp_path, caplog):
    albert_tf.save(_make(config, task.head), tmp_path / "ours", task=task)
    assert "does not say" not in caplog.text
    for name in ("official", "hugging_face"):
        _convert(tmp_path / "ours", tmp_path / name, name)
        said = re.search("checkpoint does not say (.*);", caplog.text)
        assert said is None if lost is None else re.search(lost, said[1])
        caplog.clear()


@pytest.mark.parametrize("rate", [1, -0.1, "0.1", True, float("nan")])
def test_a_dropout_that_is_no_rate_is_refused(rate, config, tmp_path):
    save_hugging_face(_make(config, "classification"), str(tmp_path / "theirs"))
    path = tmp_path / "theirs/config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"classifier_dropout_prob": rate}))
    with pytest.raises(InputError, match=r"config\.json: .*classifier_dropout_prob|config\.json: .*NaN"):
        load_hugging_face(str(tmp_path / "theirs"))


def test_entries_that_make_no_sense_are_as_if_they_were_not_there(config, tmp_path):
    save_hugging_face(_make(config, "classification"), str(tmp_path / "theirs"))
    path = tmp_path / "theirs/config.json"
    values = json.loads(path.read_text())
    for entries in ({"architectures": 5}, {"architectures": []}, {"problem_type": ["regression"]}):
        path.write_text(json.dumps(values | entries))
        assert load_pretrained(str(tmp_path / "theirs")).task.head == "classification"


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ({"0": "x", "1": "y", "2": "z"}, ("x", "y", "z")),
        ({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, ()),
        ({"0": "x", "1": "x", "2": "z"}, ("LABEL_0", "LABEL_1", "z")),
        ({"1": "x", "2": "y", "3": "z"}, ("LABEL_0", "x", "y")),
    ],
    ids=["each", "counted", "twice", "from one"],
)
def test_a_class_has_a_name_of_its_own(names, labels, config, tmp_path, caplog):
    save_hugging_face(_make(config, "classification"), str(tmp_path / "theirs"))
    path = tmp_path / "theirs/config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"id2label": names}))
    assert load_pretrained(str(tmp_path / "theirs")).task.labels == labels
    called = "these are called " + ", ".join(label for label in labels if label.startswith("LABEL"))
    assert (called in caplog.text) == ("LABEL_0" in labels)


@pytest.fixture
def one_row(random_model, tmp_path):
    """A fine-tuned checkpoint of the official code with one output, and its head's tensors."""
    from albert_tf.conversion.official import save_official

    save_official(random_model(), str(tmp_path / "pretrained"))
    arrays = load_tensors(str(tmp_path / "pretrained/model.ckpt-best"))
    rng = np.random.default_rng(5)
    head = {
        "output_weights": rng.normal(size=(1, 24)).astype("f4"),
        "output_bias": rng.normal(size=1).astype("f4"),
    }
    folder = tmp_path / "official"
    folder.mkdir()
    encoder = {name: value for name, value in arrays.items() if name.startswith("bert/")}
    save_tensors(str(folder / "model.ckpt-best"), encoder | head)
    (folder / "albert_config.json").write_bytes((tmp_path / "pretrained/albert_config.json").read_bytes())
    return folder, head


def test_an_official_head_of_one_row_scores_as_the_official_code_does(one_row):
    folder, head = one_row
    model = load_official(str(folder))
    batch = {"input_ids": np.arange(12).reshape(2, 6)}
    pooled = model.albert(batch)["pooled_output"].numpy()
    # run_classifier.py: logits = matmul(output_layer, output_weights, transpose_b=True) + output_bias
    expected = pooled @ head["output_weights"].T + head["output_bias"]
    np.testing.assert_allclose(np.reshape(model(batch)["logits"], [2, 1]), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("architecture", "head", "named"),
    [
        (None, "regression", ("AlbertForSequenceClassification", "regression")),
        ("AlbertForMultipleChoice", "multiple_choice", ("AlbertForMultipleChoice", None)),
    ],
)
def test_an_official_head_of_one_row_crosses_as_a_number_or_as_a_choice(architecture, head, named, one_row, tmp_path):
    folder, tensors = one_row
    _convert(folder, tmp_path / "theirs", "hugging_face", hugging_face_architecture=architecture)
    values = json.loads((tmp_path / "theirs/config.json").read_text())
    assert (*values["architectures"], values.get("problem_type")) == named
    found = load_pretrained(str(tmp_path / "theirs"))
    assert (found.task.head, found.task.num_labels) == (head, 1)
    weights = named_weights(found.model)
    np.testing.assert_array_equal(weights["classifier/kernel"].numpy(), tensors["output_weights"].T)
    np.testing.assert_array_equal(weights["classifier/bias"].numpy(), tensors["output_bias"])
    _convert(tmp_path / "theirs", tmp_path / "again", "official")
    again = load_tensors(str(tmp_path / "again/model.ckpt-best"))
    assert all(np.array_equal(again[name], value) for name, value in tensors.items())
