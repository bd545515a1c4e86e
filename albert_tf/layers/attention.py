"""Multi-head self-attention with its output projection, residual connection and LayerNorm.

Shapes: B batch, S sequence, P positions, H hidden, N heads.
"""

import contextlib
import contextvars

import keras
from keras import ops

from albert_tf import kernels
from albert_tf.layers.base import ConfiguredLayer, make_initializer, make_layer_norm
from albert_tf.layers.dropout import StatelessDropout

_APART, _MERGED = ("query", "key", "value"), ("query_key_value",)
_projections = contextvars.ContextVar("projections", default=_APART)


@contextlib.contextmanager
def merged_projections():
    """Within it, layers are built with one kernel of queries, keys and values, which no call has to put together.

    For models that are served: an optimizer would take the three for one.
    """
    before = _projections.set(_MERGED)
    try:
        yield
    finally:
        _projections.reset(before)


def merge_projections(weights):
    """The weights of a model as one has them that was built within `merged_projections`.

    Args:
        weights: arrays or variables by the names of models.named_weights; of either kind of model.
    """
    (merged,) = _MERGED
    weights = dict(weights)
    for kind in ("kernel", "bias"):
        ending = f"/{_APART[0]}_{kind}"
        for layer in [name.removesuffix(ending) for name in weights if name.endswith(ending)]:
            parts = [weights.pop(f"{layer}/{part}_{kind}") for part in _APART]
            weights[f"{layer}/{merged}_{kind}"] = ops.concatenate(parts, axis=-1)
    return weights


@keras.saving.register_keras_serializable("albert_tf")
class SelfAttention(ConfiguredLayer):
    """The attention half of a block: LayerNorm(x + Dropout(Dense(Attention(x)))) (BERT, post-LayerNorm).

    Queries, keys and values have kernels of their own, as LAMB's trust ratio is taken of each by itself, and are
    computed by one matrix product with the three side by side. A caller that applies the layer many times may put
    them side by side and cast them once (`step_weights`), and hand the result to every call. Served, they lie side by
    side from the start (`merged_projections`).

    Args:
        config: AlbertConfig, or the dict of one.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.output_projection = self.make_projection(self.config.hidden_size, "output")
        self.attention_dropout = StatelessDropout(
            self.config.attention_probs_dropout_prob, site=0, name="attention_dropout"
        )
        self.hidden_dropout = StatelessDropout(self.config.hidden_dropout_prob, site=1, name="hidden_dropout")
        self.layer_norm = make_layer_norm(self.dtype_policy)

    def build(self, input_shape=None):
        size = self.config.hidden_size
        self.kernels, self.biases = [], []
        projections = _projections.get()
        width = size * len(_APART) // len(projections)
        for name in projections:
            # Each with an initializer of its own: one would start all three alike.
            initializer = make_initializer(self.config.initializer_range)
            self.kernels.append(self.add_weight(name=f"{name}_kernel", shape=(size, width), initializer=initializer))
            self.biases.append(self.add_weight(name=f"{name}_bias", shape=(width,), initializer="zeros"))
        self.output_projection.build((None, None, size))
        self.layer_norm.build((None, None, size))

    def step_weights(self):
        """The weights that a caller reads once, if it applies the layer many times, and hands to every call.

        Returns:
            (kernels, vectors): float32 [H, 3 H], the three projections side by side, and [H, H], of the output;
            float32 biases [3 H] and [H], gamma [H] and beta [H].
        """
        kernel, bias = (
            ops.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0] for parts in (self.kernels, self.biases)
        )
        vectors = [bias, self.output_projection.bias, self.layer_norm.gamma, self.layer_norm.beta]
        return [kernel, self.output_projection.kernel], vectors

    def call(self, hidden, view, weights=None):
        """Attends.

        Args:
            hidden: float [B, S, H].
            view: kernels.View of the batch.
            weights: those of `step_weights` as tensors, kernels in the compute dtype; None reads them here.

        Returns:
            float [B, S, H], or with view.positions [B, P, H].
        """
        (kernel, output_kernel), (bias, output_bias, gamma, beta) = weights or self.compute_weights()
        hidden = ops.cast(hidden, kernel.dtype)
        wanted = view.wanted(hidden)
        heads, norm = self.config.num_attention_heads, (gamma, beta, self.layer_norm.epsilon)
        context = kernels.attend(wanted, hidden, kernel, bias, heads, self.attention_dropout, view)
        return kernels.add_projection(context, (output_kernel, output_bias), wanted, norm, self.hidden_dropout, view)

    def probabilities(self, hidden, view):
        """The share of its attention that each position gives each other, before dropout, for whoever looks inside.

        Args:
            hidden: float [B, S, H], what the layer is applied to.
            view: kernels.View of the batch.

        Returns:
            float32 [B, N, S, S]: of each head, of the row's position to the column's.
        """
        (kernel, _), (bias, *_) = self.compute_weights()
        heads = self.config.num_attention_heads
        return kernels.attention_probabilities(ops.cast(hidden, kernel.dtype), kernel, bias, heads, view)
