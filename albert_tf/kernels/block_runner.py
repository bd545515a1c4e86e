"""Applying a few blocks many times in one step: kernels are read and cast once, their gradients added up once.

Shapes: B batch, S sequence, P positions, H hidden.
"""

import copy
import dataclasses

from keras import ops

from albert_tf.kernels import backend


class BlockRunner:
    """Applies the blocks of one encoder to one batch.

    Args:
        view: View of the batch; of its seed every application gets one of its own.
        compute_dtype: of the matrix products.
        remat: whether the inside of an application is computed again for its gradient, rather than kept.
    """

    def __init__(self, view, compute_dtype, remat=False):
        self._view = view
        self._compute_dtype = compute_dtype
        self._remat = remat and view.training
        self._in_loop = False
        # For each part that a block has, shared or not: [kernels as trained, the same cast, vectors].
        self._weights = {}
        # Of lent kernels the gradient goes by the kernels as trained, and by their copies else.
        self._copy = ops.stop_gradient if view.training else lambda kernel: kernel

    @staticmethod
    def read_weights(part):
        """The kernels and the vectors of `part.step_weights()` as tensors: two lists."""
        return tuple(list(map(backend.read, weights)) for weights in part.step_weights())

    def prepare(self, block):
        """Reads a block's weights, where it is not to be done where the block is applied first: inside a branch."""
        for part in (block.attention, block.feed_forward):
            if id(part) not in self._weights:
                kernels, vectors = self.read_weights(part)
                copies = [ops.cast(self._copy(kernel), self._compute_dtype) for kernel in kernels]
                self._weights[id(part)] = [kernels, copies, vectors]

    def seeing(self, view):
        """A runner of the same blocks, prepared or not, for another view of the batch."""
        other = copy.copy(self)
        other._view = view
        return other

    def _borrow(self, part):
        masters, copies, vectors = self._weights[id(part)]
        if not self._view.training:
            return copies, vectors
        self._weights[id(part)][0], kernels = backend.lend_kernels(masters, copies)
        return kernels, vectors

    def __call__(self, block, hidden, number, positions=None):
        """Applies a block.

        Args:
            block: TransformerBlock.
            hidden: float [B, S, H].
            number: which application this is, a Python or a tensor integer; its dropout is drawn by that.
            positions: int32 [B, P]: the only positions whose output is wanted; None: all.

        Returns:
            float [B, S, H], or [B, P, H].
        """
        self.prepare(block)
        view = self._view
        if view.seed is not None:
            view = dataclasses.replace(view, seed=backend.fold_in(view.seed, number))
        if positions is not None:
            hidden = view.restore(hidden)
            view = view.at(positions)
        parts = [self._borrow(block.attention), self._borrow(block.feed_forward)]
        # All weights are arguments: what a function merely refers to has no gradient when it is computed again.
        counts = [len(tensors) for part in parts for tensors in part]

        def function(hidden, *weights):
            groups, rest = [], list(weights)
            for count in counts:
                groups.append(rest[:count])
                rest = rest[count:]
            return block(hidden, view=view, weights=(groups[:2], groups[2:]))

        if self._remat:
            function = backend.remat(function)
        elif self._in_loop and view.training:
            function = backend.remat_in_loop(function)
        return function(hidden, *(tensor for part in parts for tensors in part for tensor in tensors))

    def repeat(self, blocks, hidden, layers):
        """Applies the blocks of several layers in a loop of the device.

        Args:
            blocks: list of TransformerBlock, which a layer applies one after the other.
            hidden: float [B, S, H].
            layers: list of consecutive layer numbers; may be empty.

        Returns:
            float [B, S, H].
        """
        if not layers:
            return hidden
        for block in blocks:
            self.prepare(block)
        outside = {part: list(weights) for part, weights in self._weights.items()}

        def body(layer, hidden):
            # What is borrowed inside the loop is the loop's own; its gradients are added up by the loop.
            self._weights = {part: list(weights) for part, weights in outside.items()}
            for inner, block in enumerate(blocks):
                hidden = self(block, hidden, layer * len(blocks) + inner)
            return hidden

        self._in_loop = True
        hidden = backend.repeat(body, layers[0], layers[-1] + 1, hidden)
        self._in_loop = False
        self._weights = outside
        return hidden
