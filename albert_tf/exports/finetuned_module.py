"""Base of every exported fine-tuned model: a signature from the fields of an example, and one from ids.

Shapes: B batch, S sequence. docs/serving.md has the table of inputs and outputs.
"""

from collections.abc import Callable

import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import LIST_FIELDS, fields_of, label_names
from albert_tf.exports.text_module import (
    SEQUENCE,
    SERVING_DEFAULT,
    TOKENIZATION_INFO,
    TextModule,
)
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.base import Tokenizer

FROM_IDS = "from_ids"
# The signatures from fields, by what the model says.
SIGNATURES = ("classify", "score", "choose", "answer", "tag", "find_entities")
CLASSIFY, SCORE, CHOOSE, ANSWER, TAG, FIND_ENTITIES = SIGNATURES


class FinetunedModule(TextModule):
    """A fine-tuned model: from the fields of an example to what the model says, under `signature` and as the default.

    Args:
        model: of models.finetuning.
        tokenizer: the vocabulary, read from a file that still exists when the module is saved.
        task: what the model was fine-tuned for.
        max_seq_length: where texts are cut.
    """

    signature: str

    def __init__(self, model, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int):
        super().__init__(model, tokenizer, max_seq_length)
        self._settings = TaskSettings(**{**task.settings, "max_seq_length": max_seq_length})
        self.fields = fields_of(task)
        self.label_names = label_names(task)
        self._head = lambda inputs: model(inputs, training=False, skip_padding=True)
        specs = [self._field_spec(field) for field in self.fields]
        self.predict = tf.function(self._predict, input_signature=specs, autograph=False)
        self.from_ids = tf.function(self._from_ids, input_signature=self._id_specs(), autograph=False)

    def signatures(self) -> dict[str, Callable]:
        """The functions by the names they are served under."""
        return {
            SERVING_DEFAULT: self.predict,
            self.signature: self.predict,
            FROM_IDS: self.from_ids,
            TOKENIZATION_INFO: self.tokenization_info,
        }

    def _field_spec(self, field: str) -> tf.TensorSpec:
        # Of a list "" stands after the last text.
        shape = [None, None] if field in LIST_FIELDS else [None]
        return tf.TensorSpec(shape, tf.string, name=field.rstrip("?"))

    def _id_specs(self):
        return SEQUENCE

    def _from_ids(self, input_ids, input_mask, segment_ids):
        """The outputs that models.finetuning has with skip_padding, for int32 [B, S] each."""
        input_ids, segment_ids = self._checked(input_ids, segment_ids)
        return self._head({"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids})

    def _predict(self, *fields):
        raise NotImplementedError
