"""The places of the lines, dots and bars of a chart; the page's templates draw them as SVG.

A chart is WIDTH x HEIGHT units, of which the plot takes what PLOT says; y grows downwards, as in SVG.
"""

import bisect
import dataclasses
import math
from collections.abc import Callable, Sequence

from albert_tf.analysis.training_plot import moving_average

WIDTH, HEIGHT = 480, 250
# Left, top, right and bottom edges of the plot.
PLOT = (48, 26, 468, 212)
_SMOOTHING = 0.03  # as in training_plot: the curve is a moving average over this share of the run
_MOST_POINTS = 300  # of a curve; a wide screen shows a chart some 500 pixels wide
_ROOM = 0.06  # of the range of values, above and below it
_TICKS = 5
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Colours of the page's style sheet, which has as many.
COLORS = 8

Points = tuple[Sequence[float], Sequence[float]]


@dataclasses.dataclass(frozen=True)
class Curve:
    """Values to draw.

    Attributes:
        label: in the legend.
        points: (x, y) of a line; empty for none.
        marks: (x, y) of single dots, such as evaluations.
        color: number of a colour of the page.
        is_dashed: as a line of reference is.
        is_smoothed: whether a moving average is the line.
        has_faint: whether the values are faint behind that.
    """

    label: str
    points: Points = ((), ())
    marks: Points = ((), ())
    color: int = 0
    is_dashed: bool = False
    is_smoothed: bool = True
    has_faint: bool = True


@dataclasses.dataclass(frozen=True)
class Dot:
    """A dot, and the text that a pointer over it shows."""

    x: str
    y: str
    text: str


@dataclasses.dataclass(frozen=True)
class Line:
    """A curve as it is drawn: SVG's points of the line and of the faint one behind it, and dots."""

    label: str
    color: int
    is_dashed: bool
    strong: str
    faint: str
    dots: tuple[Dot, ...]


@dataclasses.dataclass(frozen=True)
class Tick:
    """A place on an axis, in units of the chart, and what stands there."""

    place: str
    text: str


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar of a histogram: left edge, top, width, height; and the text that a pointer over it shows."""

    x: str
    y: str
    width: str
    height: str
    text: str


@dataclasses.dataclass(frozen=True)
class Chart:
    """A chart, ready to be drawn.

    Attributes:
        title: above it, with the unit.
        x_title: of the lower axis.
        top_title: of the upper axis; "" where there is none.
    """

    title: str
    x_title: str
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    top_title: str = ""
    top_ticks: tuple[Tick, ...] = ()
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()


@dataclasses.dataclass(frozen=True)
class Scale:
    """Values to places along an axis."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> str:
        """The place of a value, to a tenth of a unit; what lies far outside is held near the edge."""
        share = (value - self.low) / (self.high - self.low)
        return f"{self.start + min(max(share, -1.0), 2.0) * (self.end - self.start):.1f}"


def line_chart(
    title: str,
    curves: Sequence[Curve],
    number: Callable[[float], str],
    x_title: str = "training step",
    bounds: tuple[float | None, float | None] = (None, None),
    top: tuple[str, Sequence[tuple[float, float]]] = ("", ()),
    from_zero: bool = True,
    most_dots: int = 100,
    whole: bool = True,
) -> Chart | None:
    """Curves over one another.

    Args:
        title: of the chart.
        curves: those without values are left out.
        number: how a value of the y axis is written.
        x_title: of the lower axis.
        bounds: lowest and highest value of the y axis; None: by the values.
        top: title of an upper axis, and (x, its value there), both ascending.
        from_zero: whether the lower axis begins at 0, as that of steps does.
        most_dots: of a curve.
        whole: whether the lower axis has whole numbers alone, as steps and layers are.

    Returns:
        None without a value to draw.
    """
    curves = [curve for curve in curves if curve.points[0] or curve.marks[0]]
    xs = [x for curve in curves for x in (*curve.points[0], *curve.marks[0])]
    if not xs:
        return None
    averages = [_average(curve) for curve in curves]
    values = [y for average in averages for y in average[1]] + [y for curve in curves for y in curve.marks[1]]
    x_scale = scale_of(0.0 if from_zero else min(xs), max(xs), PLOT[0], PLOT[2], room=0.0)
    y_scale = scale_of(min(values), max(values), PLOT[3], PLOT[1], bounds)
    x_ticks = [at for at in ticks(x_scale.low, x_scale.high) if not whole or round(at) == round(at, 6)]
    lines = [_line(curve, average, x_scale, y_scale, number, most_dots) for curve, average in zip(curves, averages)]
    return Chart(
        title,
        x_title,
        tuple(Tick(x_scale(at), short_number(at)) for at in x_ticks),
        tuple(Tick(y_scale(at), number(at)) for at in ticks(y_scale.low, y_scale.high)),
        top[0] if top[1] else "",
        tuple(_top_ticks(top[1], x_scale)),
        tuple(lines),
    )


def bar_chart(title: str, counts: Sequence[tuple[float, float]], x_title: str, most_bars: int = 48) -> Chart | None:
    """A histogram of whole numbers.

    Args:
        title: of the chart.
        counts: (number, how often), in any order.
        x_title: of the lower axis.
        most_bars: neighbouring numbers share a bar if there are more.
    """
    if not counts:
        return None
    low, high = min(value for value, _ in counts), max(value for value, _ in counts)
    width = max(1, math.ceil((high - low + 1) / most_bars))
    found: dict[int, float] = {}
    for value, count in counts:
        found[int((value - low) // width)] = found.get(int((value - low) // width), 0) + count
    x_scale = scale_of(low, low + width * (max(found) + 1), PLOT[0], PLOT[2], room=0.0)
    y_scale = scale_of(0, max(found.values()), PLOT[3], PLOT[1], bounds=(0, None))
    bars = []
    for place, count in sorted(found.items()):
        first = int(low + place * width)
        left, right = float(x_scale(first)), float(x_scale(first + width))
        name = f"{first}" if width == 1 else f"{first} to {first + width - 1}"
        top = float(y_scale(count))
        gap = min(1.0, (right - left) * 0.1)
        text = f"{name}: {count:,.0f}"
        bars.append(Bar(f"{left:.1f}", f"{top:.1f}", f"{right - left - gap:.1f}", f"{PLOT[3] - top:.1f}", text))
    return Chart(
        title,
        x_title,
        tuple(Tick(x_scale(at), short_number(at)) for at in ticks(x_scale.low, x_scale.high)),
        tuple(Tick(y_scale(at), short_number(at)) for at in ticks(0, y_scale.high)),
        bars=tuple(bars),
    )


def ticks(low: float, high: float, most: int = _TICKS) -> list[float]:
    """Round numbers from `low` to `high`, at most `most` or one more."""
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [step * number for number in range(first, math.floor(high / step + 1e-9) + 1)]


def short_number(value: float) -> str:
    """A number in a few characters: 1.5k, 20M, 0.003, 2e-05."""
    for size, prefix in _PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.4g}{prefix}"
    return f"{value:.4g}"


def percent(value: float) -> str:
    """A share on an axis."""
    return f"{100 * value:.4g} %"


def scale_of(low, high, start, end, bounds=(None, None), room=_ROOM) -> Scale:
    """A scale with some room around the values, except at a given bound.

    Args:
        low, high: lowest and highest value.
        start, end: the places of the axis's ends.
        bounds: values at the ends in place of those; None: by the values.
        room: beyond them, as a share of their range.
    """
    # Values that differ by their rounding alone are one.
    span = high - low if high - low > 1e-9 * max(abs(low), abs(high)) else abs(high) or 1.0
    lowest = low - room * span if bounds[0] is None else bounds[0]
    highest = high + room * span if bounds[1] is None else bounds[1]
    return Scale(lowest, highest if highest > lowest else lowest + span, start, end)


def _average(curve: Curve) -> Points:
    """The line of a curve: some of its points, smoothed if it is to be."""
    xs, ys = curve.points
    window = max(1, round(len(ys) * _SMOOTHING)) if curve.is_smoothed else 1
    places = _places(len(xs))
    return [xs[place] for place in places], moving_average(ys, window, places)


def _places(count: int, most: int = _MOST_POINTS) -> list[int]:
    """Indices of at most so many of the values, and of the last one."""
    if not count:
        return []
    return sorted({*range(0, count, math.ceil(count / most)), count - 1})


def _line(curve: Curve, average: Points, x_scale: Scale, y_scale: Scale, number, most_dots: int) -> Line:
    xs, ys = curve.points
    has_faint = curve.has_faint and curve.is_smoothed and round(len(ys) * _SMOOTHING) > 1
    faint = [(xs[place], ys[place]) for place in _places(len(xs))] if has_faint else []
    dots = [(curve.marks[0][place], curve.marks[1][place]) for place in _places(len(curve.marks[0]), most_dots)]
    # A line of one point would not be seen.
    dots += list(zip(xs, ys)) if len(xs) == 1 else []
    return Line(
        curve.label,
        curve.color % COLORS,
        curve.is_dashed,
        _svg_points(zip(*average), x_scale, y_scale),
        _svg_points(faint, x_scale, y_scale),
        tuple(Dot(x_scale(x), y_scale(y), f"{curve.label}: {number(y)} at {x:,.6g}") for x, y in dots),
    )


def _svg_points(points, x_scale: Scale, y_scale: Scale) -> str:
    return " ".join(f"{x_scale(x)},{y_scale(y)}" for x, y in points)


def _top_ticks(values: Sequence[tuple[float, float]], x_scale: Scale):
    """Round numbers of the upper axis, each where the values reach it."""
    if len(values) < 2 or values[-1][1] <= 0:
        return
    xs, tops = [x for x, _ in values], [top for _, top in values]
    for tick in ticks(0.0, tops[-1]):
        at = bisect.bisect_left(tops, tick)
        if tick <= 0 or at == 0 or at == len(tops):
            continue
        share = (tick - tops[at - 1]) / ((tops[at] - tops[at - 1]) or 1.0)
        x = xs[at - 1] + share * (xs[at] - xs[at - 1])
        if x_scale.low <= x <= x_scale.high:
            yield Tick(x_scale(x), short_number(tick))
