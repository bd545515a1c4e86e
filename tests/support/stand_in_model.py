"""A model that needs no TensorFlow to answer, for the tests of what stands around one."""

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.rows.answered_rows import answer_window, begin_rows
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.worker_pool import WorkerPool
from albert_tf.serving.input_fields import ExampleFields

TASK = FinetunedTask("classification", 2, ("odd", "even"), "classification", ("text",))


class Lengths:
    """Says whether a text's length is even, and notes the texts that came at once; fails on the text "fails"."""

    path, task, tasks, depth = "lengths", TASK, [TASK], None

    def __init__(self, before_batch=None):
        self.example_fields, self.batches = ExampleFields(("text",), TASK), []
        self._before_batch = before_batch

    def __reduce__(self):
        # In another process it is a new one.
        return Lengths, ()

    def answer(self, checked):
        texts = [example["text"] for example in checked]
        if self._before_batch is not None:
            self._before_batch(len(self.batches))
        self.batches.append(texts)
        if "fails" in texts:
            raise InputError("the model failed")
        chances = [{"odd": len(text) % 2 + 0.0, "even": 1.0 - len(text) % 2} for text in texts]
        return [{"label": max(chance, key=chance.get), "probabilities": chance} for chance in chances]


def answer_all(asker, rows, batch_size):
    """The results of all rows, asked here."""
    pool, windows = WorkerPool(1, asker), begin_rows(asker, rows, batch_size)
    return [result for window in windows for result in answer_window(pool, asker, window, batch_size)]
