"""The fields that a fine-tuned model takes, and the names of its classes, whatever format it is in."""

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.tasks.entity_recognition import ENTITIES
from albert_tf.tasks.thresholds import parse_thresholds

TEXT, TEXT_PAIR = "text", "text_pair"
# Fields whose values are lists of texts.
OPTIONS, WORDS = LIST_FIELDS = ("options", "words")
# The fields of a task that names none, as one of other code does, by its head.
_BY_HEAD = {
    "multiple_choice": ("article", "question", OPTIONS),
    **dict.fromkeys(("span", "span_beam"), ("question", "context")),
}


def answer_kind(task: FinetunedTask) -> str:
    """The kind of a model's answers: its head, or ENTITIES where its tags mark entities of a text."""
    return ENTITIES if task.name == ENTITIES else task.head


def fields_of(task: FinetunedTask) -> tuple[str, ...]:
    """The names of the fields that a model of the task takes; one with a question mark may be left out."""
    if answer_kind(task) == "token_classification":
        # Whatever the task names: a text is cut into words before the model sees it.
        return (WORDS,)
    return tuple(task.input_fields) or _BY_HEAD.get(task.head, (TEXT,))


def may_have_no_answer(task: FinetunedTask) -> bool:
    """Tells whether a model of answers may say that a text holds none: by its task, or where none is known its head."""
    return task.name == "squad_v2" or (task.head == "span_beam" and task.name != "squad_v1")


def label_names(task: FinetunedTask) -> tuple[str, ...]:
    """The names of the classes by index; LABEL_0, LABEL_1, ... where nobody named them."""
    return task.labels or tuple(f"LABEL_{index}" for index in range(task.num_labels))


def label_thresholds(task: FinetunedTask) -> tuple[float, ...] | None:
    """The probabilities from which on each label is given; None where the task has none of its own, or not yet."""
    text = task.options.get("label_threshold")
    return None if text is None else parse_thresholds(text, label_names(task))
