"""A model for tests of the server that loads in no time: texts to codes of their characters, or to faults."""

import threading
import time

import numpy as np

from albert_tf.portable.interface import TensorForm
from albert_tf.server.request_error import RequestError
from albert_tf.server.served_model import BATCH, SERVING_DEFAULT, ServedModel, Signature

REFUSED, BROKEN, SLOW, NOT_A_NUMBER = "refuse me", "break down", "slow", "not a number"
VOCAB_SIZE = 1000


def _forms(*forms):
    return {name: TensorForm(name, dtype, axes) for name, dtype, axes in forms}


_TEXT = ("text", "string", (BATCH,))
_IDS = [(name, "int32", (BATCH, "length")) for name in ("input_ids", "input_mask", "segment_ids")]
_ENCODED = [*_IDS, ("sequence_output", "float32", (BATCH, "length", 2)), ("pooled_output", "float32", (BATCH, 2))]
_WORDS = ("words", "string", (BATCH, "words"))


class WordModel(ServedModel):
    """Signatures with every kind of axis.

    Attributes:
        batches: the number of rows of each run.
        gate: while it is not set, runs wait.
    """

    path = "word_model"
    vocab_size = VOCAB_SIZE

    def __init__(self):
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()
        encode = Signature(_forms(_TEXT), _forms(*_ENCODED), "tokens_from_text")
        two = _forms(("label", "string", (BATCH,)), ("score", "float32", (BATCH,)))
        self.signatures = {
            SERVING_DEFAULT: encode,
            "tokens_from_text": encode,
            "tokens": Signature(_forms(*_IDS), _forms(*_ENCODED[3:])),
            "classify": Signature(_forms(_TEXT, ("text_pair", "string", (BATCH,))), two),
            "length": Signature(_forms(_TEXT), _forms(("length", "int32", (BATCH,)))),
            "tag": Signature(_forms(_WORDS), _forms(("tags", "string", (BATCH, "words")))),
            "fill_mask": Signature(
                _forms(_TEXT, ("top_k", "int32", ())),
                _forms(("mask_count", "int32", (BATCH,)), ("pieces", "string", (BATCH, "masks", "candidates"))),
            ),
            "from_ids": Signature(_forms(*_IDS), _forms(("logits", "float32", (BATCH,)))),
            "info": Signature({}, _forms(("name", "string", ()), ("is_small", "bool", ()))),
            "mixed": Signature(
                _forms(("flags", "bool", (BATCH,)), ("values", "float32", (BATCH, 2)), ("ids", "int64", (BATCH,))),
                _forms(("sum", "float32", (BATCH,)), ("echo_bytes", "string", (BATCH,))),
            ),
        }

    def run(self, signature, inputs):
        self.gate.wait()
        texts = [text.decode() for text in inputs.get("text", ())]
        if any(SLOW in text for text in texts):
            time.sleep(0.5)
        if any(REFUSED in text for text in texts):
            raise RequestError("the model refuses")
        if any(BROKEN in text for text in texts):
            raise ZeroDivisionError("a fault")
        self.batches.append(max((len(array) for array in inputs.values() if array.ndim), default=0))
        return getattr(self, f"_{signature}")(inputs, texts)

    def _serving_default(self, inputs, texts):
        return self._tokens_from_text(inputs, texts)

    def _tokens_from_text(self, inputs, texts):
        length = max(map(len, texts), default=0)
        ids = np.array([[*map(ord, text), *[0] * (length - len(text))] for text in texts], np.int32).reshape(-1, length)
        named = {"input_ids": ids, "input_mask": (ids > 0).astype(np.int32), "segment_ids": np.zeros_like(ids)}
        return named | self._tokens(named, texts)

    def _tokens(self, inputs, texts):
        ids, mask = inputs["input_ids"], inputs["input_mask"]
        values = (ids * mask)[:, :, np.newaxis].astype(np.float32)
        return {
            "sequence_output": np.concatenate([values, values + mask[:, :, np.newaxis]], 2),
            "pooled_output": values.sum(1) * [1, 2],
        }

    def _classify(self, inputs, texts):
        pairs = [pair.decode() for pair in inputs["text_pair"]]
        scores = [float("nan") if NOT_A_NUMBER in text else len(text) / 3 for text in texts]
        return {
            "label": _texts([text + pair for text, pair in zip(texts, pairs)]),
            "score": np.array(scores, np.float32),
        }

    def _length(self, inputs, texts):
        return {"length": np.array([len(text) for text in texts], np.int32)}

    def _tag(self, inputs, texts):
        return {
            "tags": _texts([word.decode().upper() for word in inputs["words"].ravel()]).reshape(inputs["words"].shape)
        }

    def _fill_mask(self, inputs, texts):
        counts = [text.count("[MASK]") for text in texts]
        top_k, most = int(inputs["top_k"]), max(counts, default=0)
        pieces = [
            [[text[0]] * top_k if at < count else [""] * top_k for at in range(most)]
            for text, count in zip(texts, counts)
        ]
        flat = [piece for row in pieces for mask in row for piece in mask]
        return {"mask_count": np.array(counts, np.int32), "pieces": _texts(flat).reshape(len(texts), most, top_k)}

    def _from_ids(self, inputs, texts):
        # Padding would change it.
        return {"logits": np.full(len(inputs["input_ids"]), inputs["input_ids"].shape[1], np.float32)}

    def _info(self, inputs, texts):
        return {"name": np.array(b"small", object), "is_small": np.array(True)}

    def _mixed(self, inputs, texts):
        sums = inputs["values"].sum(1) + inputs["flags"] + inputs["ids"]
        return {"sum": sums.astype(np.float32), "echo_bytes": _texts(["é"] * len(sums))}


def _texts(texts):
    array = np.empty(len(texts), object)
    array[:] = [text.encode() for text in texts]
    return array
