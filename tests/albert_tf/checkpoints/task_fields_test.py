"""Fields and classes of fine-tuned models, whoever fine-tuned them."""

import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import answer_kind, fields_of, label_names, may_have_no_answer


@pytest.mark.parametrize(
    ("head", "named", "fields"),
    [
        ("classification", ("text", "text_pair?"), ("text", "text_pair?")),
        ("classification", (), ("text",)),
        ("span", (), ("question", "context")),
        ("multiple_choice", (), ("article", "question", "options")),
        ("token_classification", ("words?", "text?"), ("words",)),
    ],
)
def test_fields_are_those_that_the_task_names_or_those_of_its_head(head, named, fields):
    assert fields_of(FinetunedTask(head, 2, (), "mine", named)) == fields


def test_a_model_of_entities_takes_a_text_whose_pieces_it_tags():
    entities = FinetunedTask("token_classification", 3, ("O", "B-X", "I-X"), "entities", ("text",))
    assert (answer_kind(entities), fields_of(entities)) == ("entities", ("text",))
    assert answer_kind(FinetunedTask("token_classification", 2)) == "token_classification"


@pytest.mark.parametrize(
    ("head", "name", "may"),
    [
        *(("span", "squad_v1", False), ("span", "squad_v2", True), ("span", None, False)),
        *(("span_beam", "squad_v1", False), ("span_beam", "squad_v2", True), ("span_beam", None, True)),
    ],
)
def test_there_may_be_no_answer_where_the_task_has_such_questions(head, name, may):
    assert may_have_no_answer(FinetunedTask(head, 2, name=name)) == may


def test_classes_that_nobody_named_have_numbers():
    assert label_names(FinetunedTask("classification", 3)) == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert label_names(FinetunedTask("classification", 2, ("good", "bad"))) == ("good", "bad")
