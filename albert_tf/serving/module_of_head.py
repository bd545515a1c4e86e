"""The module for each kind of fine-tuned model."""

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.serving.classification_module import (
    ClassificationModule,
    MultiLabelModule,
    RegressionModule,
)
from albert_tf.serving.finetuned_module import FinetunedModule
from albert_tf.serving.multiple_choice_module import MultipleChoiceModule
from albert_tf.serving.span_module import SpanModule
from albert_tf.serving.tagging_module import TaggingModule
from albert_tf.tokenization.tokenizer import AlbertTokenizer

_MODULES = {
    "classification": ClassificationModule,
    "multi_label": MultiLabelModule,
    "regression": RegressionModule,
    "multiple_choice": MultipleChoiceModule,
    "token_classification": TaggingModule,
    "span": SpanModule,
    "span_beam": SpanModule,
}


def make_module(model, tokenizer: AlbertTokenizer, task: FinetunedTask, max_seq_length: int) -> FinetunedModule:
    """The module for a fine-tuned model; arguments as FinetunedModule's.

    Raises:
        InputError: max_seq_length leaves no room for text.
    """
    return _MODULES[task.head](model, tokenizer, task, max_seq_length)
