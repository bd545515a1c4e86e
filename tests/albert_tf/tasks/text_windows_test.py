"""Long texts in windows: every piece is read, logits are pooled by text, and options that do not go together."""

import json
import types

import numpy as np
import pytest

from albert_tf.finetuning.distillation import check_teacher
from albert_tf.finetuning.ensemble import check_ensemble
from albert_tf.inputs.finetuning_features import FeatureSet
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.tasks.registry import TaskOptions, make_task
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import TextExample
from albert_tf.tasks.text_windows import MAX, MEAN, pool_logits, window_features

LONG = "the river was in the city of paris and the film was good " * 4


@pytest.fixture
def make(write):
    """A function of options that returns a task of two classes."""

    def make_own(**options):
        rows = [{"text": LONG, "label": "a"}, {"text": "good", "label": "b"}, {"text": "", "label": "a"}]
        path = write("train.jsonl", "\n".join(map(json.dumps, rows)))
        return make_task("classification", None, TaskOptions(train_file=path, dev_file=path, **options))

    return make_own


@pytest.mark.parametrize(("length", "stride"), [(8, 3), (8, 100), (20, 7), (512, 128)])
def test_every_piece_of_a_text_is_read(tokenizer, length, stride):
    pieces = tokenizer.encode(LONG)
    features = window_features(5, TextExample("x", LONG, label=1), tokenizer, TaskSettings(length, doc_stride=stride))
    read, start = [], 0
    for feature in features:
        assert (feature.input_ids[0], feature.input_ids[-1]) == (tokenizer.cls_id, tokenizer.sep_id)
        assert (feature.example, feature.label, feature.pieces_cut) == (5, 1, 0)
        assert len(feature.input_ids) <= length
        window = feature.input_ids[1:-1]
        assert window == pieces[start : start + len(window)]
        read[start:] = window
        start += min(stride, length - 2)
    assert read == pieces
    assert (len(features) == 1) == (len(pieces) <= length - 2)


def test_a_text_of_one_window_has_the_feature_of_a_cut_one(make, tokenizer):
    settings = TaskSettings(16)
    for text in ("good", ""):
        example = TextExample("x", text, label=0)
        cut, [window] = (
            make().features(0, example, tokenizer, settings),
            make(long_texts="mean").features(0, example, tokenizer, settings),
        )
        assert (window.input_ids, window.segment_ids) == (cut[0].input_ids, cut[0].segment_ids)


def test_logits_of_a_text_are_the_mean_or_the_largest_of_its_windows():
    features = [types.SimpleNamespace(example=number) for number in (0, 1, 1, 1)]
    logits = [np.array(row, np.float32) for row in ([1, 2], [0, 3], [3, 0], [6, -6])]
    assert pool_logits(features, logits, 2, MEAN).tolist() == [[1, 2], [3, -1]]
    assert pool_logits(features, logits, 2, MAX).tolist() == [[1, 2], [6, 3]]


def test_predictions_and_scores_are_of_whole_texts(make, tokenizer):
    task, settings = make(long_texts="max"), TaskSettings(10, doc_stride=5)
    examples = task.examples("dev")
    made = [one for index, text in enumerate(examples) for one in task.features(index, text, tokenizer, settings)]
    assert len(made) > 8
    features = FeatureSet.from_features(made, "classification")
    # One window alone is sure of the first class.
    logits = np.array([[9.0 if number == 4 else 0.0, 1.0] for number in range(len(made))])
    logits[-1] = [2.0, 1.0]
    found = task.predictions(examples, features, {"logits": logits}, settings)
    assert [one.value for one in found] == [0, 1, 0]
    assert found[0].probabilities[0] == pytest.approx(1 / (1 + np.exp(-8)))
    assert task.scores(examples, found)["accuracy"] == 1.0
    mean = make(long_texts="mean").predictions(examples, features, {"logits": logits}, settings)
    assert mean[0].value == 1


def test_a_cache_knows_how_texts_were_read(make):
    assert make().options() != make(long_texts="mean").options()


def test_options_that_do_not_go_together_are_refused(make, tokenizer):
    with pytest.raises(FlagError, match="--long_texts=mean is for single texts; pairs are cut"):
        make(long_texts="mean", text_pair_column="other")
    with pytest.raises(InputError, match="--long_texts must be one of cut, mean, max"):
        make(long_texts="windows")
    with pytest.raises(InputError, match="--long_texts means nothing to --task_name=entities"):
        make_task("entities", None, TaskOptions(long_texts="max"))
    with pytest.raises(InputError, match="windows need max_seq_length of 3 or more"):
        window_features(0, TextExample("x", "a"), tokenizer, TaskSettings(2))
    task = make(long_texts="mean")
    with pytest.raises(FlagError, match="--teacher speaks of whole texts"):
        check_teacher(types.SimpleNamespace(teacher="t", do_train=True), task)
    with pytest.raises(FlagError, match="--ensemble takes the mean of whole texts' outputs"):
        check_ensemble(types.SimpleNamespace(ensemble=True, num_runs=2), task)
