"""An embedder that needs no model: a text's vector counts its letters a, b and c; its length is 1 where it has any."""

import numpy as np

from albert_tf.heads.pooling import Pooling
from albert_tf.runtime.errors import InputError


class LetterVectors:
    """Notes the texts that came at once; fails on the text "fails"."""

    path, hidden_size = "letters", 3

    def __init__(self, before_batch=lambda count: None):
        self.pooling, self.batches = Pooling(max_seq_length=16), []
        self._before_batch = before_batch

    def embed(self, texts, batch_size=32):
        self._before_batch(len(self.batches))
        self.batches.append(list(texts))
        if "fails" in texts:
            raise InputError("the model failed")
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32).reshape(-1, 3)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-12)
