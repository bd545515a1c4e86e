"""Draws the curves of one or several training runs from their train_log.jsonl."""

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from albert_tf import files
from albert_tf.errors import InputError

LOG_NAME = "train_log.jsonl"

_SMOOTHING = 0.03  # the curve is a moving average over this share of the run
# Name in the log, name in the legend, mark of an evaluation.
_TASKS = (("masked_lm", "masked LM", "o"), ("sentence_order", "sentence order", "s"))
_RATE_COLOR = "tab:green"


@dataclass(frozen=True)
class Curves:
    """The log of one run.

    Attributes:
        name: what to call it in the legend.
        train: {key: (steps, values)} of the training lines.
        evaluation: the same of the evaluation lines.
    """

    name: str
    train: dict[str, tuple[list[int], list[float]]]
    evaluation: dict[str, tuple[list[int], list[float]]]


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
            InputError: no "=", or no number between 0 and 1 behind it.
        """
        label, separator, number = text.rpartition("=")
        try:
            accuracy = float(number)
        except ValueError:
            accuracy = math.nan
        if not (separator and label and 0 <= accuracy <= 1):
            raise InputError(f"--baseline must be LABEL=ACCURACY with an accuracy from 0 to 1; received {text!r}")
        return cls(label, accuracy)


def read_log(path: str, name: str = "") -> Curves:
    """Reads the log of a run.

    A run that was resumed has repeated the steps after its last checkpoint; of each step the last line counts. A
    last line that is cut off, as in a run that is still writing, is left out.

    Args:
        path: a train_log.jsonl, or the output_dir that holds it.
        name: for the legend; the name of the output_dir if left out.

    Raises:
        InputError: no such file, a line that is not JSON, or no training steps.
    """
    if not path.endswith(".jsonl"):
        path = os.path.join(path, LOG_NAME)
    try:
        with files.open_binary(path) as file:
            lines = file.read().decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        raise InputError(f"{path}: no such log; --output_dir of a run_pretraining that has started is wanted") from None
    tables: dict[str, dict[str, dict[int, float]]] = {"train": {}, "eval": {}}
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            table, step = tables.get(entry["kind"], {}), int(entry["step"])
        except (ValueError, TypeError, KeyError):
            if number == len(lines):
                break
            raise InputError(f"{path}, line {number}: not a line of a training log: {line[:60]!r}") from None
        for key, value in entry.items():
            if key not in ("kind", "step") and isinstance(value, int | float):
                table.setdefault(key, {})[step] = float(value)
    if not tables["train"]:
        raise InputError(f"{path}: no training steps in it yet")
    name = name or os.path.basename(os.path.dirname(os.path.abspath(path)))
    return Curves(name, *({key: _columns(values) for key, values in tables[kind].items()} for kind in tables))


def draw(runs: Sequence[Curves], output_file: str, baselines: Sequence[Baseline] = (), title: str = "") -> None:
    """Draws losses, accuracies and the learning rate of the runs over their steps, and writes a PNG.

    Args:
        runs: at least one. The colours tell the two tasks of one run apart, or, of several, the runs.
        output_file: the PNG; appears whole or not at all.
        baselines: lines among the accuracies.
        title: above the figure.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise InputError("drawing needs matplotlib: pip install 'albert_tf[plot]'") from None
    figure, (loss, accuracy, rate) = pyplot.subplots(
        3, 1, figsize=(9, 10), sharex=True, height_ratios=(3, 3, 1.4), layout="constrained"
    )
    for number, run in enumerate(runs):
        several = len(runs) > 1
        for task, (key, label, mark) in enumerate(_TASKS):
            look = _Look(
                label=f"{run.name}: {label}" if several else label,
                color=f"C{number if several else task}",
                line="--" if several and task else "-",
                mark=mark,
            )
            _draw_curve(loss, run, f"{key}_loss", look, "{:.2f}")
            _draw_curve(accuracy, run, f"{key}_accuracy", look, "{:.1%}")
        steps, values = run.train.get("learning_rate", ([], []))
        color = f"C{number}" if several else _RATE_COLOR
        rate.plot(steps, values, color=color, linewidth=1.8, label=run.name)
    for baseline, color in zip(baselines, _grays(len(baselines)), strict=True):
        text = f"{baseline.label}: {baseline.accuracy:.1%}"
        accuracy.axhline(baseline.accuracy, color=color, linewidth=1.2, linestyle=(0, (6, 3)), label=text)
    _label_axes(loss, accuracy, rate, several=len(runs) > 1)
    if title:
        figure.suptitle(title)
    try:
        with files.replace_file(output_file) as file:
            figure.savefig(file, format="png", dpi=130)
    finally:
        pyplot.close(figure)


def moving_average(values: Sequence[float], window: int) -> list[float]:
    """The mean of the finite values among each value and those around it, `window` in all where there are as many.

    Centred, so that the curve does not lag behind the values.
    """
    averages = []
    for index in range(len(values)):
        around = values[max(0, index - window // 2) : index + window // 2 + 1]
        near = [value for value in around if math.isfinite(value)]
        averages.append(sum(near) / len(near) if near else math.nan)
    return averages


def _columns(values: dict[int, float]) -> tuple[list[int], list[float]]:
    steps = sorted(values)
    return steps, [values[step] for step in steps]


@dataclass(frozen=True)
class _Look:
    """How the curve of one task of one run looks: its name, colour, line style, and the mark of an evaluation."""

    label: str
    color: str
    line: str
    mark: str


def _draw_curve(axes, run: Curves, key: str, look: _Look, number: str) -> None:
    """Draws a faint line of the values, a strong one of their average, and a mark at each evaluation.

    Args:
        number: the format of the last evaluation's value in the legend.
    """
    strong = {"color": look.color, "linestyle": look.line, "linewidth": 1.8, "label": look.label}
    steps, values = run.train.get(key, ([], []))
    window = max(1, round(len(values) * _SMOOTHING))
    if window > 1:
        axes.plot(steps, values, color=look.color, alpha=0.25, linewidth=0.8)
        axes.plot(steps, moving_average(values, window), **strong)
    elif values:
        axes.plot(steps, values, **strong)
    steps, values = run.evaluation.get(key, ([], []))
    if values:
        label = f"{look.label}, held out (last: {number.format(values[-1])})"
        marks = {"linestyle": "none", "marker": look.mark, "markeredgecolor": "white"}
        axes.plot(steps, values, color=look.color, label=label, **marks)


def _label_axes(loss, accuracy, rate, several: bool) -> None:
    loss.set_ylabel("loss (nats)")
    loss.set_ylim(bottom=0)
    accuracy.set_ylabel("accuracy")
    accuracy.set_ylim(0, 1)
    accuracy.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    rate.set_ylabel("learning rate")
    rate.set_ylim(bottom=0)
    rate.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2))
    rate.set_xlabel("training step")
    for axes in (loss, accuracy, rate):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if axes is not rate or several:
            axes.legend(fontsize="small", framealpha=0.85)


def _grays(count: int) -> list[str]:
    return [str(0.25 + 0.4 * number / max(1, count - 1)) for number in range(count)]
