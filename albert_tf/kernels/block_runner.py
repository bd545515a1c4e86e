"""Applying a few blocks many times in one step: kernels are read and cast once, their gradients added up once.

Shapes: B batch, S sequence, P positions, H hidden.
"""

from keras import ops

from albert_tf.kernels import backend


class BlockRunner:
    """Applies the blocks of one encoder to one batch.

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

    def __call__(self, blocks, hidden, layer, positions=None):
        """Applies the blocks of one layer, one after the other.

        Args:
            blocks: list of TransformerBlock.
            hidden: float [B, S, H].
            layer: number of the layer, a Python or a tensor integer.
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
            hidden = self._apply_block(block, hidden, weights, read, seed)
        return hidden

    def _apply_block(self, block, hidden, weights, positions, seed):
        # All tensors are arguments: what a function merely refers to has no gradient when it is computed again.
        (kernels, vectors), (more_kernels, more_vectors) = weights
        counts = len(kernels), len(vectors), len(more_kernels)

        def function(hidden, *tensors):
            starts = [sum(counts[:at]) for at in range(4)]
            parts = [list(tensors[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True)]
            return block(
                hidden,
                self._attention_bias,
                weights=(parts[:2], parts[2:]),
                positions=positions,
                unpadding=None if positions is not None else self._unpadding,
                seed=seed,
                training=self._training,
            )

        if self._remat:
            function = backend.remat(function)
        return function(hidden, *kernels, *vectors, *more_kernels, *more_vectors)

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
            return self(blocks, hidden, layer)

        hidden = backend.repeat(body, layers[0], layers[-1] + 1, hidden)
        self._weights = outside
        return hidden
