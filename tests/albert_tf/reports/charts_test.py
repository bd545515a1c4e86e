"""Charts: where values come to stand, by hand; what lies outside, and odd values."""

import math

import pytest

from albert_tf.reports.charts import PLOT, Curve, bar_chart, line_chart, percent, short_number, ticks

LEFT, TOP, RIGHT, BOTTOM = PLOT


def test_a_line_goes_from_corner_to_corner():
    curve = Curve("a", ([0, 100], [0.0, 1.0]), marks=([50], [0.5]), is_smoothed=False)
    chart = line_chart("share", [curve], percent, bounds=(0.0, 1.0))
    (line,) = chart.lines
    assert line.strong == f"{LEFT:.1f},{BOTTOM:.1f} {RIGHT:.1f},{TOP:.1f}"
    assert [(dot.x, dot.y, dot.text) for dot in line.dots] == [("258.0", "119.0", "a: 50 % at 50")]
    assert [tick.text for tick in chart.y_ticks] == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
    assert [tick.text for tick in chart.x_ticks] == ["0", "20", "40", "60", "80", "100"]


def test_the_upper_axis_has_round_numbers_where_they_are_reached():
    # Twice as many tokens a step in the second half.
    top = ("tokens", [(0, 0.0), (50, 1000.0), (100, 3000.0)])
    chart = line_chart("a", [Curve("a", ([1, 100], [1.0, 2.0]))], short_number, top=top)
    width = RIGHT - LEFT
    found = {tick.text: (float(tick.place) - LEFT) / width for tick in chart.top_ticks}
    assert found == pytest.approx({"1k": 0.5, "2k": 0.75, "3k": 1.0}, abs=0.01)


def test_a_long_curve_is_thinned_and_keeps_its_end():
    steps = list(range(1, 60_001))
    chart = line_chart("a", [Curve("a", (steps, [math.sin(step / 1e4) for step in steps]))], short_number)
    points = chart.lines[0].strong.split()
    assert len(points) <= 301
    assert points[-1].startswith(f"{RIGHT:.1f},")
    assert len(chart.lines[0].faint.split()) <= 301
    scored = line_chart("a", [Curve("a", marks=(steps, [0.5] * len(steps)))], short_number)
    assert len(scored.lines[0].dots) <= 101
    assert scored.lines[0].dots[-1].text == "a: 0.5 at 60,000"


def test_what_has_no_values_is_left_out_and_odd_values_are_drawn():
    assert line_chart("a", [Curve("a")], short_number) is None
    for values in ([0.0, 0.0], [5.0, 5.0], [0.7, 0.1 + 0.6], [-1e38, 1e38], [1e-30, 2e-30], [3.0]):
        chart = line_chart("a", [Curve("a", (range(len(values)), values), is_smoothed=False)], short_number)
        assert 2 <= len(chart.y_ticks) <= 8
        assert "nan" not in chart.lines[0].strong
    # A single value is a dot.
    assert len(chart.lines[0].dots) == 1


def test_bars_count_what_they_stand_for():
    chart = bar_chart("lengths", [(3, 1), (4, 2), (5, 5)], "tokens")
    assert [bar.text for bar in chart.bars] == ["3: 1", "4: 2", "5: 5"]
    heights = [float(bar.height) for bar in chart.bars]
    assert heights == pytest.approx([heights[2] / 5, heights[2] * 2 / 5, heights[2]], abs=0.2)
    wide = bar_chart("lengths", [(length, 1) for length in range(1, 129)], "tokens")
    assert len(wide.bars) == 43
    assert wide.bars[0].text == "1 to 3: 3"
    assert bar_chart("lengths", [], "tokens") is None


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (3, 17, [5, 10, 15]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (0, 7e9, [0, 2e9, 4e9, 6e9]),
    ],
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_numbers_are_short():
    shown = [short_number(value) for value in (0, 0.00176, 2e-5, 12, 1500, 9_526_784, 3.1e10, -2000)]
    assert shown == ["0", "0.00176", "2e-05", "12", "1.5k", "9.527M", "31G", "-2k"]
