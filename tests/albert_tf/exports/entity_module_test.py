"""Entities found by the graph of an export: those of the task, for odd texts, long ones, and several at once."""

import pytest
from found_parts import assert_served_as_by_task, odd_texts

from albert_tf.tasks.entity_recognition import EntityRecognition
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.tokenizer import AlbertTokenizer

LABELS = ("O", "B-X", "I-X", "B-Y", "I-Y")


@pytest.mark.slow
def test_entities_are_those_of_the_task_from_a_checkpoint_and_a_saved_model(
    tmp_path, save_finetuned, export_vocabulary
):
    model = save_finetuned(tmp_path / "run", "token_classification", LABELS, ("text",), "entities", doc_stride=9)
    task, settings = EntityRecognition(None, labels=LABELS), TaskSettings(max_seq_length=24, doc_stride=9)
    texts = odd_texts(8, 25)
    assert_served_as_by_task(model, task, AlbertTokenizer(export_vocabulary), settings, texts, tmp_path, 40)
