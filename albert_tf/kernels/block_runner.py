"""Applying a few blocks many times in one step: kernels read and cast once, gradients added up once a kernel.

Shapes: B batch, S sequence, P positions, E embedding, H hidden.
"""

import typing

from keras import ops

from albert_tf.kernels import backend


class Factors(typing.NamedTuple):
    """What a layer's input is the product of: x @ kernel + bias.

    Queries, keys and values can then be projected from x, by the product of both kernels: the work of E columns, not
    of H, and once a product of kernels.

    Attributes:
        x: float [B, S, E].
        kernel: [E, H].
        bias: [H].
        are_used: bool scalar, whether to project from x; None: yes.
    """

    x: typing.Any
    kernel: typing.Any
    bias: typing.Any
    are_used: typing.Any = None

    def replace(self, hidden, weights):
        """(x, weights of an attention part that projects from x), or if `are_used` is not so (hidden, weights)."""
        (first, *others), (first_bias, *other_vectors) = weights

        def compose():
            bias = ops.matmul(ops.cast(self.bias, first.dtype)[None, :], first)[0]
            return self.x, ops.matmul(self.kernel, first), first_bias + ops.cast(bias, first_bias.dtype)

        if self.are_used is None:
            x, kernel, bias = compose()
        else:
            x, kernel, bias = ops.cond(self.are_used, compose, lambda: (hidden, first, first_bias))
        return x, ([kernel, *others], [bias, *other_vectors])


class BlockApplications:
    """The applications of one encoder's blocks to one batch.

    Args:
        attention_bias: float32 [B, 1, 1, S], see chains.make_attention_bias.
        compute_dtype: of the matrix products.
        unpadding: Unpadding by which the hidden states are stripped; None where they have their padding.
        seed: int32 [2] for dropout; every application folds its own number into it. None where nothing is dropped.
        training: bool.
        remat: whether the inside of an application is computed again for its gradient, rather than kept.
    """

    def __init__(self, attention_bias, compute_dtype, unpadding=None, seed=None, training=False, remat=False):
        self._attention_bias = attention_bias
        self._compute_dtype = compute_dtype
        self._unpadding = unpadding
        self._seed = seed
        self._training = training
        self._remat = remat and training
        # For each part that a block has, shared or not: [kernels as trained, the same cast, vectors].
        self._weights = {}
        # Of lent kernels the gradient goes by the kernels as trained, and by their copies else.
        self._copy = ops.stop_gradient if training else lambda kernel: kernel

    def _prepare(self, blocks):
        for block in blocks:
            for part in (block.attention, block.feed_forward):
                if id(part) not in self._weights:
                    kernels, vectors = part.step_weights()
                    copies = [ops.cast(self._copy(kernel), self._compute_dtype) for kernel in kernels]
                    self._weights[id(part)] = [kernels, copies, vectors]

    def _borrow(self, part):
        masters, copies, vectors = self._weights[id(part)]
        if not self._training:
            return copies, vectors
        self._weights[id(part)][0], kernels = backend.lend_kernels(masters, copies)
        return kernels, vectors

    def apply(self, blocks, hidden, layer, positions=None, factors=None):
        """Applies the blocks of one layer, one after the other.

        Args:
            blocks: list of TransformerBlock.
            hidden: float [B, S, H].
            layer: number of the layer, a Python or a tensor integer.
            factors: Factors of which `hidden` is the product; None: hidden is no such product.
            positions: int32 [B, P]: the only positions whose output is wanted; None: all.

        Returns:
            float [B, S, H], or [B, P, H].
        """
        self._prepare(blocks)
        for inner, block in enumerate(blocks):
            seed = self._seed
            if seed is not None:
                seed = backend.fold_in(seed, layer * len(blocks) + inner)
            read = positions if inner == len(blocks) - 1 else None
            if read is not None and self._unpadding is not None:
                hidden = self._unpadding.restore(hidden)
            weights = self._borrow(block.attention), self._borrow(block.feed_forward)
            source = []
            if factors is not None and inner == 0 and read is None:
                x, composed = factors.replace(hidden, weights[0])
                source, weights = [x], (composed, weights[1])
            hidden = self._apply_block(block, hidden, source, weights, read, seed)
        return hidden

    def _apply_block(self, block, hidden, source, weights, positions, seed):
        # All tensors are arguments: what a function merely refers to has no gradient when it is computed again.
        (kernels, vectors), (more_kernels, more_vectors) = weights
        counts = len(source), len(kernels), len(vectors), len(more_kernels)

        def function(hidden, *tensors):
            starts = [sum(counts[:at]) for at in range(5)]
            given, *parts = (list(tensors[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True))
            return block(
                hidden,
                self._attention_bias,
                weights=(parts[:2], parts[2:]),
                source=given[0] if given else None,
                positions=positions,
                unpadding=None if positions is not None else self._unpadding,
                seed=seed,
                training=self._training,
            )

        if self._remat:
            function = backend.remat(function)
        return function(hidden, *source, *kernels, *vectors, *more_kernels, *more_vectors)

    def repeat(self, blocks, hidden, layers):
        """Applies the blocks of several layers in a loop of the device.

        Args:
            blocks: list of TransformerBlock.
            hidden: float [B, S, H].
            layers: list of consecutive layer numbers; may be empty.

        Returns:
            float [B, S, H].
        """
        if not layers:
            return hidden
        self._prepare(blocks)
        outside = {part: list(weights) for part, weights in self._weights.items()}

        def body(layer, hidden):
            # What is borrowed inside the loop is the loop's own; its gradients are added up by the loop.
            self._weights = {part: list(weights) for part, weights in outside.items()}
            return self.apply(blocks, hidden, layer)

        hidden = backend.repeat(body, layers[0], layers[-1] + 1, hidden)
        self._weights = outside
        return hidden
