"""Draws the score of a model with exits against the layers that it computes."""

from collections.abc import Mapping
from typing import Any

from albert_tf.analysis.pyplot import drawable, import_pyplot, save_figure
from albert_tf.checkpoints.depth_scores import CURVE, LAYERS, METRIC


def draw_exits(scores: Mapping[str, Any], output_file: str) -> None:
    """Draws every exit for all texts, and the rules by patience and by confidence, and writes a PNG.

    Args:
        scores: of checkpoints.depth_scores, with a curve.
        output_file: the PNG; appears whole or not at all.

    Raises:
        InputError: matplotlib is not installed.
    """
    pyplot = import_pyplot()
    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    figure.set_layout_engine("constrained")
    try:
        axis.plot(
            [int(layers) for layers in scores[LAYERS]],
            list(scores[LAYERS].values()),
            color="gray",
            marker="o",
            label="the same exit for all texts",
        )
        for name, mark in (("patience", "s"), ("confidence", "^"), ("confidence, of later exits", "v")):
            points = sorted((point["layers"], point["score"]) for point in scores[CURVE] if _kind_of(point) == name)
            if points:
                axis.plot(*zip(*points, strict=True), marker=mark, label=f"early exit by {name}")
        axis.set_xlabel("layers computed, mean of the dev split")
        axis.set_ylabel(drawable(scores[METRIC]))
        axis.grid(alpha=0.3)
        axis.legend()
        save_figure(figure, output_file)
    finally:
        pyplot.close(figure)


def _kind_of(point: Mapping[str, Any]) -> str:
    if "patience" in point:
        return "patience"
    return "confidence, of later exits" if "min_layers" in point else "confidence"
