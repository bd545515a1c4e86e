"""The figures of an analysis of layers as a table for a person."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

# Titles of figures of the layers, and of those of the heads, by their names.
LAYER_TITLES = {"l2_distance": "L2 distance of input and output", "angle": "angle of input and output (degrees)"}
HEAD_TITLES = {
    "entropy": "entropy of attention (nats)",
    "distance": "distance of attention (tokens)",
    "cls_share": "share of attention to [CLS]",
    "sep_share": "share of attention to [SEP]",
}
_HEADINGS = ("layer", "L2 distance", "cosine", "entropy", "distance", "[CLS]", "[SEP]")
_FORMATS = ("{:d}", "{:.2f}", "{:.3f}", "{:.2f}", "{:.1f}", "{:.1%}", "{:.1%}")


def format_layers(result: Mapping[str, Any]) -> str:
    """A block of lines for each model, a line for each layer; of the heads the mean.

    Args:
        result: of layers.analyse_layers.
    """
    blocks = []
    for model in result["models"]:
        rows = [_HEADINGS, *(_cells(model, layer) for layer in range(len(model["l2_distance"])))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        title = f"{model['name']}: {model['num_tokens']:,} tokens of {model['num_sequences']:,} sequences"
        blocks.append("\n".join([title, *lines]))
    return "\n\n".join(blocks)


def heads_of_layer(model: Mapping[str, Any], name: str, layer: int) -> list[float]:
    """The figures of a layer's heads, of all blocks that it applies.

    Args:
        model: one of "models" of a result.
        name: one of layer_sums.OF_HEADS.
        layer: from 0.
    """
    by_block = model["heads"][name]
    blocks = len(by_block) // len(model["l2_distance"])
    return list(itertools.chain.from_iterable(by_block[layer * blocks : (layer + 1) * blocks]))


def _cells(model: Mapping[str, Any], layer: int) -> list[str]:
    heads = (np.mean(heads_of_layer(model, name, layer)) for name in model["heads"])
    values = (layer + 1, model["l2_distance"][layer], model["cosine_similarity"][layer], *heads)
    return [form.format(value) for form, value in zip(_FORMATS, values, strict=True)]
