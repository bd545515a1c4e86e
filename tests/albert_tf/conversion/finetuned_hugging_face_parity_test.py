"""Fine-tuned models carried to transformers and back: what both compute, and which classes they name."""

import json

import numpy as np
import pytest
import tensorflow as tf
from their_models import make_their_model

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.hugging_face import HUGGING_FACE
from albert_tf.conversion.hugging_face_bert import HUGGING_FACE_BERT
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights

pytestmark = pytest.mark.parity

TOLERANCE = 1e-5
BATCH, OPTIONS, LENGTH = 3, 4, 17
# family of transformers' classes: (format, what its configs need, ours and theirs)
FAMILIES = {
    "Albert": (HUGGING_FACE, {}, {"embedding_size": 10}),
    "Bert": (HUGGING_FACE_BERT, {"embedding_size": 24, "parameter_sharing": "none", "hidden_act": "gelu_erf"}, {}),
}
# head: (class without its family, classes, more of its config)
KINDS = {
    "classification": ("ForSequenceClassification", 3, {}),
    "multi_label": ("ForSequenceClassification", 4, {"problem_type": "multi_label_classification"}),
    "regression": ("ForSequenceClassification", 1, {}),
    "token_classification": ("ForTokenClassification", 5, {}),
    "multiple_choice": ("ForMultipleChoice", 1, {}),
    "span": ("ForQuestionAnswering", 2, {}),
}


def _randomise(model):
    rng = np.random.default_rng(4)
    for variable in model.trainable_variables:
        variable.assign(variable + 0.2 * rng.standard_normal(variable.shape).astype("f4"))
    return model


def _largest_error(ours, theirs, head, torch):
    rng = np.random.default_rng(3)
    shape = (BATCH, OPTIONS, LENGTH) if head == "multiple_choice" else (BATCH, LENGTH)
    lengths = np.resize([LENGTH, 9, 2], shape[:-1])[..., None]
    # Padding, and with it holes at random, but never a row without anything.
    mask = (np.arange(LENGTH) < lengths) & ((rng.random(shape) < 0.7) | (np.arange(LENGTH) == 1))
    mask[0] = np.arange(LENGTH) < lengths[0]
    batch = {
        "input_ids": rng.integers(0, 101, shape).astype("int32"),
        "input_mask": mask.astype("int32"),
        "segment_ids": rng.integers(0, 2, shape).astype("int32"),
    }
    outputs = ours({name: tf.constant(value) for name, value in batch.items()})
    arguments = {"attention_mask": "input_mask", "token_type_ids": "segment_ids", "input_ids": "input_ids"}
    with torch.no_grad():
        found = theirs.eval()(**{name: torch.tensor(batch[ours]).long() for name, ours in arguments.items()})
    return max(float(np.abs(value.numpy() - getattr(found, name).numpy()).max()) for name, value in outputs.items())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", KINDS)
def test_transformers_loads_what_we_write_and_computes_the_same(
    head, family, random_model, transformers, torch, tmp_path
):
    (kind, classes, _), (format, changes, _) = KINDS[head], FAMILIES[family]
    kind = f"{family}{kind}"
    model = _randomise(make_finetuning_model(random_model(**changes).config, head, classes))
    labels = tuple(f"class {index}" for index in range(classes)) if head != "span" else ()
    format.save(model, str(tmp_path / "theirs"), task=FinetunedTask(head, classes, labels))
    theirs, info = getattr(transformers, kind).from_pretrained(str(tmp_path / "theirs"), output_loading_info=True)
    assert {key: list(names) for key, names in info.items() if names} == {}
    assert _largest_error(model, theirs, head, torch) < TOLERANCE
    config = json.loads((tmp_path / "theirs" / "config.json").read_text())
    assert config["architectures"] == [kind]
    if head in ("classification", "token_classification"):
        assert theirs.config.id2label == dict(enumerate(labels))
    # And what transformers saves again comes home, with the classes' names.
    theirs.save_pretrained(str(tmp_path / "again"))
    again = format.load(str(tmp_path / "again"))
    assert type(again) is type(model)
    for name, variable in named_weights(model).items():
        np.testing.assert_array_equal(named_weights(again)[name].numpy(), variable.numpy(), err_msg=name)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", KINDS)
def test_a_model_fine_tuned_by_transformers_loads_with_its_head(head, family, transformers, torch, tmp_path):
    (kind, classes, more), (format, _, changes) = KINDS[head], FAMILIES[family]
    theirs = make_their_model(torch, transformers, f"{family}{kind}", **changes, num_labels=classes, **more)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    ours = format.load(str(tmp_path / "theirs"))
    assert not ours.load_report.missing and not ours.load_report.skipped
    assert _largest_error(ours, theirs, head, torch) < TOLERANCE
