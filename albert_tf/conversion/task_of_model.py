"""The task that a model can be fine-tuned for, as far as its class tells."""

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.heads.pooling import POOLED
from albert_tf.models.finetuning import (
    AlbertForMultipleChoice,
    AlbertForSequenceClassification,
    AlbertForSpan,
    AlbertForTokenClassification,
)
from albert_tf.models.span_categories import AlbertForSpanCategories
from albert_tf.runtime.errors import InputError


def task_of(model) -> FinetunedTask | None:
    """The task a model can be fine-tuned for; None for an AlbertForPretraining.

    Raises:
        InputError: a checkpoint has no place for what its classifier reads.
    """
    if isinstance(model, AlbertForSequenceClassification):
        if model.classifier_pooling != POOLED:
            raise InputError(
                f"a checkpoint has no place for a classifier that reads the {model.classifier_pooling}: export the "
                "whole model with --num_layers"
            )
        head, outputs = "classification" if model.num_labels > 1 else "regression", model.num_labels
    elif isinstance(model, AlbertForTokenClassification):
        head, outputs = "token_classification", model.num_labels
    elif isinstance(model, AlbertForMultipleChoice):
        head, outputs = "multiple_choice", 1
    elif isinstance(model, AlbertForSpan):
        head, outputs = "span_beam" if model.beam else "span", 2
    elif isinstance(model, AlbertForSpanCategories):
        more = {"classifier_dropout_prob": model.classifier_dropout_prob}
        return FinetunedTask(
            "span_categories", model.num_labels, settings={"max_span_length": model.max_span_length}, **more
        )
    else:
        return None
    exits = getattr(model, "exits", None)
    more = {} if exits is None else {"early_exit": True, "exit_pooling": exits.pooling}
    return FinetunedTask(head, outputs, classifier_dropout_prob=model.classifier_dropout_prob, **more)
