"""Exits: a classifier after every layer but the last, and the rules by which a text leaves there.

Shapes: B batch, L layers, H hidden, C classes.
"""

import dataclasses
from typing import Any

import keras
import numpy as np
from keras import ops

from albert_tf.heads.exit_names import EXIT_HEADS, EXIT_POOLINGS
from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB, ClassificationHead
from albert_tf.heads.pooling import POOLED
from albert_tf.kernels import fold_in
from albert_tf.layers.base import ConfiguredLayer
from albert_tf.runtime.errors import InputError

# [CLS] of a layer alone, as a share of the whole layer: by operations 0.06 to 0.17, and more by time.
_FIRST_ONLY = 0.2


@keras.saving.register_keras_serializable("albert_tf")
class Exits(ConfiguredLayer):
    """A ClassificationHead after each of the first L - 1 layers; that of the last is the model's own.

    Args:
        config: AlbertConfig, or the dict of one, of two layers or more.
        num_labels, dropout_rate: see ClassificationHead.
        pooling: what the model gives them to read, one of EXIT_POOLINGS: "mean" of the text's pieces, which knows from
            the first layer on what words there are, or "pooled", the [CLS] of all by the one pooler, as in PABEE (Zhou
            et al., 2020, arXiv 2006.04152).
    """

    def __init__(self, config, num_labels, dropout_rate=CLASSIFIER_DROPOUT_PROB, pooling=POOLED, **kwargs):
        super().__init__(config, **kwargs)
        if pooling not in EXIT_POOLINGS:
            raise InputError(f"`exit_pooling` must be {' or '.join(EXIT_POOLINGS)}. Received {pooling!r}.")
        self.pooling = pooling
        if self.config.num_hidden_layers < 2:
            raise InputError("`early_exit` wants two layers or more. Received num_hidden_layers=1.")
        self.heads = [
            ClassificationHead(self.config, num_labels, dropout_rate, name=f"exit_{layer}")
            for layer in range(1, self.config.num_hidden_layers)
        ]

    def build(self, input_shape=None):
        for head in self.heads:
            head.build()

    def call(self, vectors, seed=None, training=False):
        """Scores the classes after each layer.

        Args:
            vectors: float [B, L - 1, H], what is read after each layer but the last.
            seed: int32 [2] for dropout, into which each exit folds its number; may be None where nothing is dropped.
            training: bool.

        Returns:
            float32 [B, L - 1, C], before softmax.
        """
        seeds = [None if seed is None else fold_in(seed, number) for number in range(len(self.heads))]
        logits = [
            head(vectors[:, number], seed=seeds[number], training=training) for number, head in enumerate(self.heads)
        ]
        return ops.stack(logits, axis=1)

    @property
    def is_untrained(self) -> bool:
        """True as long as all biases are the zeros that they begin with: nobody has trained the exits, or fitted them.

        A run of fitted exits that is stopped before its first regular checkpoint leaves such.
        """
        return not any(np.any(ops.convert_to_numpy(head.bias)) for head in self.heads)

    def get_config(self):
        head = self.heads[0]
        more = {"num_labels": head.num_labels, "dropout_rate": head.dropout_rate, "pooling": self.pooling}
        return {**super().get_config(), **more}


@dataclasses.dataclass(frozen=True)
class ExitRule:
    """The rule by which a text leaves before the last layer: by patience, or by confidence.

    Attributes:
        head: one of EXIT_HEADS.
        patience: leave after an exit that agrees with the one before, as so many in a row did (PABEE).
        confidence: leave after an exit whose probability of its answer is as high; of several labels, that of the least
            sure of them (as FastBERT, arXiv 2004.02178, and DeeBERT, arXiv 2004.12993, by entropy).
        difference: of a regression, by how much two numbers that agree differ at most.
        min_layers: the layers that every text has, by whatever exit it leaves.
        pooling: one of EXIT_POOLINGS, what the exits read.
    """

    head: str
    patience: int | None = None
    confidence: float | None = None
    difference: float = 0.0
    min_layers: int = 1
    pooling: str = POOLED

    def __post_init__(self) -> None:
        if self.head not in EXIT_HEADS or (self.patience is None) == (self.confidence is None):
            raise ValueError(f"An exit rule goes by patience or by confidence, of a head with exits. Received {self}.")

    @property
    def first_exit(self) -> int:
        """The number, from 1, of the first layer after which a text may leave."""
        return max(self.min_layers, 1 if self.patience is None else self.patience + 1)

    @property
    def asks_first(self) -> bool:
        """True where [CLS] is worth computing before the other tokens: where it is all that is read, and most texts
        leave at each exit they can.

        By patience they do. By confidence few leave at a time, and what is computed twice of the others costs more,
        unless the exits at which few leave are passed over: that is what `min_layers` is for.
        """
        return self.pooling == POOLED and (self.patience is not None or self.min_layers > 1)

    @property
    def remembers(self) -> bool:
        """True where an exit by which no text leaves yet has a say in what later ones decide."""
        return self.patience is not None

    def to_dict(self) -> dict[str, Any]:
        """The settings that are given, for JSON."""
        given = dataclasses.asdict(self)
        usual = {"min_layers": 1, "pooling": POOLED}
        return {name: value for name, value in given.items() if value and value != usual.get(name)}

    def start(self, logits: Any) -> tuple[Any, Any]:
        """The state before the first exit of logits like these, [B, C]: (answer float32 [B, C], agreed int32 [B])."""
        return ops.full_like(logits, np.inf), ops.zeros_like(logits[:, 0], dtype="int32")

    def step(self, logits: Any, answer: Any, agreed: Any) -> tuple[Any, Any, Any]:
        """The state after the next exit.

        Args:
            logits: float32 [B, C] of it.
            answer, agreed: of the exit before.

        Returns:
            (bool [B], which texts leave here; answer; agreed).
        """
        now = self._answer(logits)
        agrees = ops.all(ops.abs(now - answer) <= self.difference, axis=-1)
        agreed = ops.where(agrees, agreed + 1, 0)
        if self.patience is not None:
            return agreed >= self.patience, now, agreed
        return self._confidence(logits) >= self.confidence, now, agreed

    def _answer(self, logits: Any) -> Any:
        if self.head == "regression":
            return logits
        if self.head == "multi_label":
            return ops.cast(logits >= 0, "float32")
        # Not by argmax, in which Keras has operations that LiteRT lacks.
        return ops.cast(logits >= ops.max(logits, axis=-1, keepdims=True), "float32")

    def _confidence(self, logits: Any) -> Any:
        if self.head == "multi_label":
            return ops.min(ops.sigmoid(ops.abs(logits)), axis=-1)
        return ops.max(ops.softmax(logits, axis=-1), axis=-1)

    def work_of(self, layers: np.ndarray, depth: int) -> float:
        """The work of texts as a share of that of all layers, whose last is computed for [CLS] alone: an estimate.

        Args:
            layers: int [B], as layers_of gives them.
            depth: L.
        """
        is_last = layers == depth
        work = layers - (1 - _FIRST_ONLY) * (is_last | self.asks_first)
        if self.asks_first:
            # Exits by which a text did not leave.
            work = work + _FIRST_ONLY * (layers - self.first_exit)
        return float(np.mean(work) / (depth - 1 + _FIRST_ONLY))

    def layers_of(self, logits: np.ndarray) -> np.ndarray:
        """The number of layers that each text has: float32 [B, L, C] of all exits, the last among them -> int [B]."""
        answer, agreed = self.start(logits[:, 0])
        layers = np.full(len(logits), logits.shape[1])
        is_inside = np.ones(len(logits), bool)
        for number in range(logits.shape[1] - 1):
            done, answer, agreed = self.step(logits[:, number], answer, agreed)
            if number + 1 < self.first_exit:
                continue
            leaves = is_inside & np.asarray(done)
            layers[leaves] = number + 1
            is_inside &= ~leaves
        return layers
