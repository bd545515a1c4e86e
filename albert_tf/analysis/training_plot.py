"""Draws the curves of one or several training runs."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from albert_tf.analysis.pyplot import drawable, import_pyplot, save_figure
from albert_tf.analysis.training_log import Curves, is_score
from albert_tf.runtime.errors import FlagError, InputError

_SMOOTHING = 0.03  # the curve is a moving average over this share of the run
_MOST_POINTS = 4000  # of a curve; the figure is 1,170 pixels wide
_LONGEST_TITLE, _TITLE_WIDTH = 300, 80  # characters
_RATE_COLOR = "tab:green"
_MARKS = "osD^vP"
_SENTENCE_TASKS = {"sop": "sentence order", "nsp": "next sentence"}


@dataclass(frozen=True)
class Baseline:
    """A horizontal line among the accuracies, such as that of always guessing the most frequent piece.

    Attributes:
        label: its name in the legend.
        accuracy: between 0 and 1.
    """

    label: str
    accuracy: float

    @classmethod
    def parse(cls, text: str) -> "Baseline":
        """Reads "label=0.05".

        Raises:
            InputError: no "=", or no number between 0 and 1 after it.
        """
        label, separator, number = text.rpartition("=")
        try:
            accuracy = float(number)
        except ValueError:
            accuracy = math.nan
        if not (separator and label and 0 <= accuracy <= 1):
            raise FlagError(f"--baseline must be LABEL=ACCURACY with an accuracy from 0 to 1; received {text!r}")
        return cls(label, accuracy)


def draw(runs: Sequence[Curves], output_file: str, baselines: Sequence[Baseline] = (), title: str = "") -> None:
    """Draws losses, accuracies and the learning rate of the runs over their steps, and writes a PNG.

    A panel for which no run has a value is left out.

    Args:
        runs: at least one. The colours tell the two tasks of one run apart, or, of several, the runs.
        output_file: the PNG; appears whole or not at all.
        baselines: lines among the accuracies.
        title: above the figure, as it is.

    Raises:
        InputError: matplotlib is not installed, the title is too long, or the runs have nothing to draw.
    """
    if len(title) > _LONGEST_TITLE:
        raise InputError(f"--title has {len(title)} characters; give at most {_LONGEST_TITLE}")
    pyplot = import_pyplot()
    panels = {kind: lines for kind in _PANELS if (lines := _lines_of(runs, kind))}
    if not panels:
        raise InputError(f"{', '.join(run.name for run in runs)}: no loss, accuracy or learning rate to draw")
    heights = [_PANELS[kind].height for kind in panels]
    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(9, 1.2 + 1.2 * sum(heights)), sharex=True, height_ratios=heights, squeeze=False
    )
    figure.set_layout_engine("constrained")
    try:
        for axis, (kind, lines) in zip(axes[:, 0], panels.items()):
            for line in lines:
                _draw_line(axis, line)
            if kind == "accuracy":
                _draw_baselines(axis, baselines)
            _label(axis, _PANELS[kind], with_legend=kind != "learning_rate" or len(runs) > 1)
        axes[-1, 0].set_xlabel("training step")
        if title:
            wrapped = "\n".join(textwrap.wrap(drawable(title), _TITLE_WIDTH))
            figure.suptitle(wrapped, parse_math=False)
        save_figure(figure, output_file)
    finally:
        pyplot.close(figure)


def moving_average(values: Sequence[float], window: int, places: Sequence[int] | None = None) -> list[float]:
    """The mean of the finite values among each value and those around it, `window` in all where there are as many.

    Centred, so that the curve is not later than the values.

    Args:
        values: of a curve.
        window: how many to take the mean of.
        places: indices of the values at which it is wanted; None: all.
    """
    averages = []
    for index in range(len(values)) if places is None else places:
        around = values[max(0, index - window // 2) : index + window // 2 + 1]
        near = [value for value in around if math.isfinite(value)]
        averages.append(math.fsum(near) / len(near) if near else math.nan)
    return averages


@dataclass(frozen=True)
class _Panel:
    """One of the drawings: its label, its height beside the others, how it shows a value, and its upper end."""

    label: str
    height: float
    number: str
    top: float | None = None


_PANELS = {
    "loss": _Panel("loss (nats)", 3, "{:.2f}"),
    "accuracy": _Panel("accuracy", 3, "{:.1%}", top=1.0),
    "learning_rate": _Panel("learning rate", 1.4, "{:.2e}"),
}


@dataclass(frozen=True)
class _Line:
    """A curve of a run: its values in training and in evaluation, and how it looks."""

    train: tuple[list[int], list[float]]
    evaluation: tuple[list[int], list[float]]
    label: str
    color: str
    style: str
    mark: str
    number: str


def _lines_of(runs: Sequence[Curves], kind: str) -> list[_Line]:
    """The curves of a panel that have a value."""
    lines = []
    several = len(runs) > 1
    for number, run in enumerate(runs):
        for task, (key, label) in enumerate(_keys_of(run, kind).items()):
            look = {
                "label": drawable(f"{run.name}: {label}" if several and label else label or run.name),
                "color": f"C{number if several else task}" if kind != "learning_rate" or several else _RATE_COLOR,
                "style": "--" if several and task else "-",
                "mark": _MARKS[task % len(_MARKS)],
            }
            nothing: tuple[list[int], list[float]] = ([], [])
            train, evaluation = run.train.get(key, nothing), run.evaluation.get(key, nothing)
            if train[0] or evaluation[0]:
                lines.append(_Line(train, evaluation, number=_PANELS[kind].number, **look))
    return lines


def _keys_of(run: Curves, kind: str) -> dict[str, str]:
    """The names in a run's log that belong to a panel, each with its name in the legend."""
    if kind == "learning_rate":
        return {kind: ""}
    if any(key.startswith("masked_lm_") for key in (*run.train, *run.evaluation)):
        tasks = {"masked_lm": "masked LM", "sentence_order": _SENTENCE_TASKS.get(run.sentence_task, "")}
        return {f"{task}_{kind}": label for task, label in tasks.items() if label}
    # A run of fine-tuning: its loss, and the scores that are shares.
    if kind == "loss":
        return {"loss": "loss"}
    return {
        key: key.replace("_", " ")
        for key, (_, values) in run.evaluation.items()
        if is_score(key) and all(0 <= value <= 1 for value in values)
    }


def _draw_line(axes, line: _Line) -> None:
    """Draws a faint line of the values, a strong one of their average, and a mark at each evaluation."""
    strong = {"color": line.color, "linestyle": line.style, "linewidth": 1.8, "label": line.label}
    steps, values = line.train
    window = max(1, round(len(values) * _SMOOTHING))
    places = range(0, len(values), max(1, math.ceil(len(values) / _MOST_POINTS)))
    shown = [steps[place] for place in places]
    if window > 1:
        axes.plot(shown, [values[place] for place in places], color=line.color, alpha=0.25, linewidth=0.8)
        axes.plot(shown, moving_average(values, window, places), **strong)
    elif values:
        axes.plot(steps, values, marker="." if len(values) == 1 else "", **strong)
    steps, values = line.evaluation
    if values:
        label = f"{line.label}, held out (last: {line.number.format(values[-1])})"
        marks = {"linestyle": "none", "marker": line.mark, "markeredgecolor": "white"}
        axes.plot(steps, values, color=line.color, label=label, **marks)


def _draw_baselines(axes, baselines: Sequence[Baseline]) -> None:
    for number, baseline in enumerate(baselines):
        gray = str(0.25 + 0.4 * number / max(1, len(baselines) - 1))
        text = drawable(f"{baseline.label}: {baseline.accuracy:.1%}")
        axes.axhline(baseline.accuracy, color=gray, linewidth=1.2, linestyle=(0, (6, 3)), label=text)


def _label(axes, panel: _Panel, with_legend: bool) -> None:
    axes.set_ylabel(panel.label)
    lowest = axes.dataLim.y0 if panel.top is None else 0.0
    axes.set_ylim(bottom=min(0.0, lowest), top=panel.top)
    if panel.top is None:
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 4))
    else:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if with_legend:
        for text in axes.legend(fontsize="small", framealpha=0.85).get_texts():
            text.set_parse_math(False)
