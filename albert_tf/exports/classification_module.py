"""The signatures of fine-tuned models of texts: from a text or a pair to a class, classes, or a number.

Shapes: B batch, C classes.
"""

import tensorflow as tf

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import label_thresholds
from albert_tf.exports.finetuned_module import CLASSIFY, SCORE, FinetunedModule
from albert_tf.exports.window_context import window_rows, windows_of_texts
from albert_tf.models.early_exit import EarlyExit
from albert_tf.tasks.text_windows import CUT, MAX
from albert_tf.tokenization.base import Tokenizer


class ClassificationModule(FinetunedModule):
    """One of C classes: "label" string [B], "probabilities" float32 [B, C], and "labels" string [B, C].

    Where texts may leave early there is also "layers" int32 [B]: after how many layers each did, or the last of its
    windows. So it is for labels and numbers.

    Args:
        model, tokenizer, task, max_seq_length: see FinetunedModule.
        rule: heads.exits.ExitRule by which texts leave; None: all layers are computed.
    """

    signature = CLASSIFY

    def __init__(self, model, tokenizer: Tokenizer, task: FinetunedTask, max_seq_length: int, rule=None):
        self._long_texts = task.options.get("long_texts", CUT)
        super().__init__(model, tokenizer, task, max_seq_length)
        if rule is not None:
            run = EarlyExit(model, rule)
            self._head = lambda inputs: run(inputs)

    def _predict(self, *fields):
        outputs = self._outputs(*fields)
        return {**self._interpret(outputs.pop("logits")), **outputs}

    def _outputs(self, text, *rest):
        first = self.tokenizer.encode(text)
        if self._long_texts != CUT:
            return self._outputs_of_windows(first)
        if not rest:
            return self.from_ids(**self._pack(first))
        tf.debugging.assert_equal(tf.shape(text), tf.shape(rest[0]), message="As many first texts as second ones.")
        packed = self._pack(first, self.tokenizer.encode(rest[0]))
        if self.fields[1].endswith("?"):
            # A text alone has room for a piece more than a pair.
            packed = _alone_where_empty(packed, self._pack(first), rest[0], self.tokenizer.pad_id)
        return self.from_ids(**packed)

    def _outputs_of_windows(self, pieces):
        """The logits of whole texts, float32 [B, C], as tasks.text_windows has them, and what else there is."""
        text, starts, lengths = windows_of_texts(pieces, self.max_seq_length - 2, self._settings.doc_stride)
        outputs = self.from_ids(**window_rows(pieces.values, starts, lengths, self.tokenizer))
        pool = tf.math.segment_max if self._long_texts == MAX else tf.math.segment_mean
        rest = {name: tf.math.segment_max(values, text) for name, values in outputs.items() if name != "logits"}
        return {"logits": pool(outputs["logits"], text), **rest}

    def _interpret(self, logits):
        names = tf.constant(list(self.label_names))
        return {
            "label": tf.gather(names, tf.argmax(logits, axis=-1)),
            "probabilities": tf.nn.softmax(logits),
            "labels": tf.tile(names[tf.newaxis], [tf.shape(logits)[0], 1]),
        }


class MultiLabelModule(ClassificationModule):
    """Any of C classes: "probabilities" float32 [B, C], each of its own, and "labels" string [B, C].

    Where the task has thresholds of its own there are also "thresholds" float32 [B, C]: from these on a label is given.
    """

    def __init__(self, model, tokenizer, task, max_seq_length, rule=None):
        super().__init__(model, tokenizer, task, max_seq_length, rule)
        self._thresholds = label_thresholds(task)

    def _interpret(self, logits):
        outputs = super()._interpret(logits)
        found = {"probabilities": tf.sigmoid(logits), "labels": outputs["labels"]}
        if self._thresholds is None:
            return found
        return {**found, "thresholds": tf.tile(tf.constant([self._thresholds]), [tf.shape(logits)[0], 1])}


class RegressionModule(ClassificationModule):
    """A number: "score" float32 [B]."""

    signature = SCORE

    def _interpret(self, logits):
        return {"score": logits[:, 0]}


def _alone_where_empty(pairs: dict, alone: dict, second: tf.Tensor, pad_id: int) -> dict:
    """The rows of pairs, and in place of those whose second text is "" the rows of the first texts alone."""
    is_single = (tf.strings.length(second) == 0)[:, tf.newaxis]
    width = tf.maximum(*(tf.shape(packed["input_mask"])[1] for packed in (pairs, alone)))
    fillers = {"input_ids": pad_id, "input_mask": 0, "segment_ids": 0}

    def widened(packed, name):
        ids = packed[name]
        return tf.pad(ids, [[0, 0], [0, width - tf.shape(ids)[1]]], constant_values=fillers[name])

    return {name: tf.where(is_single, widened(alone, name), widened(pairs, name)) for name in fillers}
