"""Draws what each layer of several models does, and where its heads look."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.analysis.layer_table import HEAD_TITLES, LAYER_TITLES, heads_of_layer
from albert_tf.analysis.pyplot import drawable, import_pyplot, save_figure

_MARKS = "os^Dvp"
_LONGEST_NAME = 60  # characters


def draw_layers(result: Mapping[str, Any], output_file: str) -> None:
    """Draws two panels of the layers and four of their heads, and writes a PNG.

    Colour and mark tell the models apart. A strong line is the mean of a layer's heads, a faint mark one head, a dotted
    line what it were if every token looked at all tokens alike.

    Args:
        result: of layers.analyse_layers.
        output_file: the PNG; appears whole or not at all.

    Raises:
        InputError: matplotlib is not installed.
    """
    pyplot = import_pyplot()
    figure, axes = pyplot.subplots(2, 3, figsize=(12.5, 7))
    figure.set_layout_engine("constrained")
    try:
        for number, model in enumerate(result["models"]):
            look = {"color": f"C{number % 10}", "marker": _MARKS[number % len(_MARKS)]}
            for axis, name in zip(axes[0], LAYER_TITLES):
                axis.plot(_numbers(model), model[name], label=_title(model), markersize=4, linewidth=1.6, **look)
            # In the four places of the grid that are left.
            for axis, name in zip((axes[0, 2], *axes[1]), HEAD_TITLES):
                _draw_heads(axis, model, name, look)
            if result["applications"] is not None:
                for axis in axes.flat:
                    axis.axvline(model["num_hidden_layers"], color=look["color"], linestyle="--", linewidth=0.8)
        x_label = "layer" if result["applications"] is None else "application of the layer (dashed: trained with)"
        for axis, label in zip(axes.flat, (*LAYER_TITLES.values(), *HEAD_TITLES.values())):
            _label(axis, label, x_label, result["models"])
        _explain(figure, axes)
        save_figure(figure, output_file)
    finally:
        pyplot.close(figure)


def _explain(figure, axes) -> None:
    """Says above the panels which model is which, and what the faint marks and the dotted lines are."""
    handles, labels = axes[0, 0].get_legend_handles_labels()
    gray = {"color": "gray", "markersize": 4}
    handles += axes[0, 0].plot([], [], linestyle="none", marker="o", alpha=0.4, **gray)
    handles += axes[0, 0].plot([], [], linestyle=":", **gray)
    labels += ["one head", "if every token looked at all alike"]
    legend = figure.legend(handles, labels, loc="outside upper center", ncols=min(5, len(labels)), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _title(model: Mapping[str, Any]) -> str:
    return drawable(model["name"][:_LONGEST_NAME])


def _numbers(model: Mapping[str, Any]) -> Sequence[int]:
    return range(1, len(model["l2_distance"]) + 1)


def _draw_heads(axis, model: Mapping[str, Any], name: str, look: Mapping[str, str]) -> None:
    layers = [heads_of_layer(model, name, number - 1) for number in _numbers(model)]
    for number, values in zip(_numbers(model), layers):
        axis.plot([number] * len(values), values, linestyle="none", alpha=0.3, markersize=3, **look)
    axis.plot(_numbers(model), [float(np.mean(values)) for values in layers], markersize=4, linewidth=1.6, **look)
    axis.axhline(model["uniform"][name], color=look["color"], linestyle=":", linewidth=1.2)


def _label(axis, label: str, x_label: str, models: Sequence[Mapping[str, Any]]) -> None:
    axis.set_title(label, fontsize="medium")
    axis.set_xlabel(x_label)
    axis.set_ylim(bottom=0)
    axis.set_xlim(0.5, max(len(model["l2_distance"]) for model in models) + 0.5)
    axis.xaxis.get_major_locator().set_params(integer=True)
    if "share" in label:
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
