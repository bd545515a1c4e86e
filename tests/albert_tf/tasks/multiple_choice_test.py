"""Questions with options, whatever task they are of: where an option stands, how many there are."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.multiple_choice import ChoiceExample, MultipleChoice, join_question
from albert_tf.tasks.race import RaceTask
from albert_tf.tasks.superglue import CopaTask, make_split_files


def test_an_option_stands_in_the_blank_or_after_the_question():
    assert join_question("The film was _ .", "good") == "The film was good ."
    assert join_question("_ and _ ?", "x") == "x and x ?"
    assert join_question("Where?", "here") == "Where? here"


@pytest.mark.parametrize(
    ("task", "wanted"), [(RaceTask("nowhere"), 4), (CopaTask("copa", make_split_files("copa", None)), 2)]
)
def test_a_question_that_was_typed_has_as_many_options_as_the_task(task: MultipleChoice, wanted):
    fields = {"article": "a", "question": "b", "options": list("123456")[:wanted]}
    assert task.make_example(fields, "line 1") == ChoiceExample("line 1", "a", "b", tuple(fields["options"]))
    with pytest.raises(InputError, match=f"line 1: 1 options; {task.title} has {wanted}"):
        task.make_example(fields | {"options": ["1"]}, "line 1")


def test_predictions_without_labels_have_no_scores():
    task = RaceTask("nowhere")
    example = ChoiceExample("0", "a", "b", ("1", "2", "3", "4"))
    with pytest.raises(InputError, match="race: these questions have no answers"):
        task.scores([example], task.predictions([example], [], {"logits": [[0.0, 1.0, 0.0, 0.0]]}, None))
