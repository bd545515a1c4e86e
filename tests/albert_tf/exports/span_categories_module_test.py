"""Spans found by the graph of an export: those of the task, for odd texts, long ones, and several at once."""

import pytest
from found_parts import assert_served_as_by_task, odd_texts

from albert_tf.runtime.errors import InputError
from albert_tf.serving.predictor import Predictor
from albert_tf.tasks.span_categories import SpanCategories
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer

LABELS = ("X", "Y")


@pytest.mark.slow
def test_spans_are_those_of_the_task_from_a_checkpoint_and_a_saved_model(tmp_path, save_finetuned, export_vocabulary):
    model = save_finetuned(tmp_path / "run", "span_categories", LABELS, ("text",), "span_categories", doc_stride=9)
    task, settings = SpanCategories(None, labels=LABELS), TaskSettings(24, doc_stride=9, max_span_length=4)
    texts = odd_texts(6, 20)
    assert_served_as_by_task(model, task, AlbertTokenizer(export_vocabulary), settings, texts, tmp_path, 200)


def test_a_length_without_room_for_two_of_the_longest_spans_is_refused(tmp_path, save_finetuned):
    save_finetuned(tmp_path / "run", "span_categories", LABELS, ("text",), "span_categories", max_span_length=11)
    with pytest.raises(InputError, match="max_span_length=11 pieces need a max_seq_length of 25 or more"):
        Predictor(str(tmp_path / "run"))
