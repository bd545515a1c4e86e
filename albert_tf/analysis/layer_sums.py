"""Figures of what each layer does to the hidden states and where its heads look, summed over batches in NumPy.

Shapes: B batch, S sequence, H hidden, L layers, A applications of a block, N heads.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Least length of a vector that has a direction.
_TINY = 1e-30
OF_LAYERS = ("l2_distance", "cosine_similarity", "angle")
OF_HEADS = ("entropy", "distance", "cls_share", "sep_share")


class LayerSums:
    """Means over the tokens of all batches that are added; padding counts nowhere.

    A sequence is [CLS], then tokens, the last of which is a [SEP]; then padding.
    """

    def __init__(self) -> None:
        self.num_tokens, self.num_sequences = 0, 0
        self._sums: dict[str, np.ndarray] = {}

    def add(
        self, hidden_states: Sequence[Any], attentions: Sequence[Any], input_ids: np.ndarray, input_mask: np.ndarray
    ) -> None:
        """Adds a batch.

        Args:
            hidden_states: L + 1 float [B, S, H], before the first layer and after each.
            attentions: A float [B, N, S, S], the probabilities of each application of a block.
            input_ids: int [B, S].
            input_mask: int [B, S], 1 for a token, 0 for padding.
        """
        is_token = np.asarray(input_mask) > 0
        self.num_tokens += int(is_token.sum())
        self.num_sequences += int(is_token.any(axis=1).sum())
        states = [np.asarray(state, np.float64)[is_token] for state in hidden_states]
        self._add("norm", [np.linalg.norm(state, axis=-1).sum() for state in states])
        changes = [_change(before, after) for before, after in itertools.pairwise(states)]
        for name, values in zip(OF_LAYERS, zip(*changes, strict=True), strict=True):
            self._add(name, values)
        is_sep = _separators(np.asarray(input_ids), is_token)
        looks = [_look(np.asarray(one, np.float64), is_token, is_sep) for one in attentions]
        for name, sums in zip(OF_HEADS, zip(*looks, strict=True), strict=True):
            self._add(name, sums)
        # What they were if every token looked at all others alike.
        counts = is_token.sum(axis=1, keepdims=True)
        alike = (is_token[:, None, :] / np.maximum(counts, 1)[:, :, None])[:, None]
        alike = np.broadcast_to(alike, (*alike.shape[:2], is_token.shape[1], is_token.shape[1]))
        for name, sums in zip(OF_HEADS, _look(alike, is_token, is_sep), strict=True):
            self._add(f"uniform_{name}", sums[0])

    def _add(self, name: str, values: Any) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + np.asarray(values, np.float64)

    def means(self) -> dict[str, Any]:
        """The means, as lists of floats.

        Returns:
            "norm" [L + 1], the lengths of the hidden states; of each layer's input and output "l2_distance" [L],
            "cosine_similarity" [L] and "angle" [L], in degrees. "heads": "entropy" [A][N], in nats, "distance", how
            many tokens away attention looks, "cls_share" and "sep_share", of the attention, from 0 to 1. "uniform":
            the same four as they would be if every token looked at all tokens alike.
        """
        means: Mapping[str, Any] = {
            name: (sums / max(1, self.num_tokens)).tolist() for name, sums in self._sums.items()
        }
        return {
            **{name: means[name] for name in ("norm", *OF_LAYERS)},
            "heads": {name: means[name] for name in OF_HEADS},
            "uniform": {name: means[f"uniform_{name}"] for name in OF_HEADS},
        }


def _change(before: np.ndarray, after: np.ndarray) -> tuple[float, float, float]:
    """Sums over tokens, [T, H] each: distance, cosine, and angle in degrees, of a layer's input and output."""
    lengths = np.linalg.norm(before, axis=-1) * np.linalg.norm(after, axis=-1)
    cosines = np.clip((before * after).sum(axis=-1) / np.maximum(lengths, _TINY), -1.0, 1.0)
    distances = np.linalg.norm(after - before, axis=-1)
    return distances.sum(), cosines.sum(), np.degrees(np.arccos(cosines)).sum()


def _separators(input_ids: np.ndarray, is_token: np.ndarray) -> np.ndarray:
    """Tells where a [SEP] stands, bool [B, S]: the id of a sequence's last token."""
    last = np.maximum(is_token.sum(axis=1) - 1, 0)
    ends = np.take_along_axis(input_ids, last[:, None], axis=1)
    return (input_ids == ends) & is_token & (np.arange(input_ids.shape[1]) > 0)


def _look(probabilities: np.ndarray, is_token: np.ndarray, is_sep: np.ndarray) -> list[np.ndarray]:
    """Sums over the tokens that look, [N] each, of OF_HEADS, of float [B, N, S, S]."""
    places = np.arange(is_token.shape[1])
    logs = np.log(probabilities, where=probabilities > 0, out=np.zeros_like(probabilities))
    by_token = (
        -(probabilities * logs).sum(axis=-1),
        (probabilities * np.abs(places[:, None] - places)).sum(axis=-1),
        probabilities[..., 0],
        (probabilities * is_sep[:, None, None, :]).sum(axis=-1),
    )
    return [(values * is_token[:, None, :]).sum(axis=(0, 2)) for values in by_token]
