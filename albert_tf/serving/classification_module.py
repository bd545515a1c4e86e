"""The signatures of fine-tuned models of texts: from a text or a pair to a class, classes, or a number.

Shapes: B batch, C classes.
"""

import tensorflow as tf

from albert_tf.serving.finetuned_module import CLASSIFY, SCORE, FinetunedModule


class ClassificationModule(FinetunedModule):
    """One of C classes: "label" string [B], "probabilities" float32 [B, C], and "labels" string [B, C]."""

    signature = CLASSIFY

    def _predict(self, *fields):
        return self._interpret(self._logits(*fields))

    def _logits(self, text, *rest):
        first = self.tokenizer.encode(text)
        if not rest:
            return self.from_ids(**self._pack(first))["logits"]
        tf.debugging.assert_equal(tf.shape(text), tf.shape(rest[0]), message="As many first texts as second ones.")
        packed = self._pack(first, self.tokenizer.encode(rest[0]))
        if self.fields[1].endswith("?"):
            packed = _without_empty_second(packed, rest[0], self.tokenizer.pad_id)
        return self.from_ids(**packed)["logits"]

    def _interpret(self, logits):
        names = tf.constant(list(self.label_names))
        return {
            "label": tf.gather(names, tf.argmax(logits, axis=-1)),
            "probabilities": tf.nn.softmax(logits),
            "labels": tf.tile(names[tf.newaxis], [tf.shape(logits)[0], 1]),
        }


class MultiLabelModule(ClassificationModule):
    """Any of C classes: "probabilities" float32 [B, C], each of its own, and "labels" string [B, C]."""

    def _interpret(self, logits):
        outputs = super()._interpret(logits)
        return {"probabilities": tf.sigmoid(logits), "labels": outputs["labels"]}


class RegressionModule(ClassificationModule):
    """A number: "score" float32 [B]."""

    signature = SCORE

    def _interpret(self, logits):
        return {"score": logits[:, 0]}


def _without_empty_second(packed: dict, second: tf.Tensor, pad_id: int) -> dict:
    """Takes the last [SEP] off rows whose second text is "": they are single texts."""
    lengths = tf.reduce_sum(packed["input_mask"], axis=1)
    is_single = tf.strings.length(second) == 0
    last = tf.one_hot(lengths - 1, tf.shape(packed["input_mask"])[1], on_value=True, off_value=False, dtype=tf.bool)
    gone = tf.logical_and(last, is_single[:, tf.newaxis])
    fillers = {"input_ids": pad_id, "input_mask": 0, "segment_ids": 0}
    return {name: tf.where(gone, fillers[name], values) for name, values in packed.items()}
