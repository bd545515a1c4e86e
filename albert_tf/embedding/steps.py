"""The steps of a training of vectors, and of making them.

Shapes: B rows of a batch, K texts of a row, S sequence, H hidden.
"""

from keras import ops

from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, FEATURE_INDEX, INPUT_MASK
from albert_tf.inputs.finetuning_features import INPUT_IDS, SEGMENT_IDS
from albert_tf.kernels import fold_in
from albert_tf.models.text_vectors import EMBEDDING
from albert_tf.training.engine import EngineSteps

_TENSORS = (INPUT_IDS, INPUT_MASK, SEGMENT_IDS)


class EmbeddingSteps(EngineSteps):
    """Steps of an AlbertForEmbedding. "tokens" are the positions that go through it in a step, padding included.

    Args:
        strategy, model: see Steps.
        objective: objectives.Objective.
        optimizer, seed: see Steps.
        **kwargs: see Steps.
    """

    def __init__(self, strategy, model, objective, optimizer=None, seed=0, **kwargs):
        super().__init__(strategy, model, optimizer, seed, **kwargs)
        self.objective = objective
        self.metrics = ("loss", *objective.metrics, "tokens", "gradient_norm")

    def _counts(self, batch):
        return self.objective.counts(batch)

    def _losses(self, batch, counts, seed):
        vectors, tokens = self._vectors(batch, training=True, dropout_seed=seed)
        loss, shares = self.objective.loss(vectors, batch, counts)
        return loss, ops.stack([loss, *shares, ops.cast(tokens, "float32")])

    def _predict_share(self, batch):
        vectors, _ = self._vectors(batch, training=False, skip_padding=not self.static_shapes)
        return {EMBEDDING: vectors, **{name: batch[name] for name in (FEATURE_INDEX, EXAMPLE_WEIGHT)}}

    def _vectors(self, batch, training, dropout_seed=None, **kwargs):
        """(float32 [B, K, H], the positions that were computed)."""
        inputs = {name: batch[name] for name in _TENSORS}
        options = inputs[INPUT_IDS].shape[1]
        if options == 1 or self.static_shapes:
            passes = self.objective.passes if training else 1
            inputs = {name: ops.repeat(value, passes, axis=1) for name, value in inputs.items()}
            return self._of_all(inputs, options * passes, training=training, dropout_seed=dropout_seed, **kwargs)
        found = []
        for option in range(options):
            # Queries are shorter than what they ask for: each column is padded for itself.
            length = ops.max(ops.sum(inputs[INPUT_MASK][:, option], axis=-1))
            part = {name: value[:, option : option + 1, :length] for name, value in inputs.items()}
            seed = fold_in(dropout_seed, option) if training else None
            found.append(self._of_all(part, 1, training=training, dropout_seed=seed, **kwargs))
        return ops.concatenate([vectors for vectors, _ in found], axis=1), sum(tokens for _, tokens in found)

    def _of_all(self, inputs, options, **kwargs):
        """The same of texts that are padded to one length: int [B, K, S]."""
        rows = {name: ops.reshape(value, (-1, ops.shape(value)[-1])) for name, value in inputs.items()}
        vectors = self.model(rows, **kwargs)[EMBEDDING]
        return ops.reshape(vectors, (-1, options, vectors.shape[-1])), ops.size(rows[INPUT_IDS])
