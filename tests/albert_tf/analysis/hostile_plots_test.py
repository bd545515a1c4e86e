"""Logs and titles of any kind: a PNG or one line, and in the figure only panels that hold something."""

import itertools
import json
import random

import pytest

from albert_tf.analysis.training_log import read_log, read_logs
from albert_tf.analysis.training_plot import Baseline, draw
from albert_tf.runtime.errors import InputError

pytest.importorskip("matplotlib")

TITLES = (
    *(
        "$x",
        "$\\frac{",
        "a $x_1^2$ b",
        "100 % \\n",
        "\\textbf{x}",
        "_hidden",
        "",
        " ",
        "\udcff.txt",
        "漢字",
        "\x00\x07",
    ),
    *("\x00\x07", "日本語" * 50, "two\nlines", "{:.2f}", "x" * 300, "-", "<b>&amp;", "\u202e rtl"),
)
# Titles that are drawn otherwise: without control characters and half characters, in one line, and not hidden as
# matplotlib hides a name that begins with "_".
DRAWN_AS = {
    **{"_hidden": " _hidden", "\udcff.txt": "?.txt", " ": "", "\x00\x07": "?\x07", "two\nlines": "two lines"},
}
VALUES = (None, True, "1", "NaN", [], {}, -1, 0, 0.5, 1e308, -1e308, 10**400, float("nan"), float("inf"), "x" * 100_000)


@pytest.fixture
def axes_of(monkeypatch):
    """The panels of every figure that is drawn: their labels, and the texts of their legends."""
    from matplotlib import pyplot

    seen = []
    close = pyplot.close

    def look(figure):
        panels = {}
        for axes in figure.axes:
            legend = axes.get_legend()
            panels[axes.get_ylabel()] = [text.get_text() for text in legend.get_texts()] if legend else []
        title = figure.get_suptitle()
        seen.append((title, panels))
        close(figure)

    monkeypatch.setattr(pyplot, "close", look)
    return seen


def _line(step, **values):
    return json.dumps({"kind": "train", "step": step, **values}) + "\n"


def _log(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "train_log.jsonl").write_text(text)
    return read_log(str(folder))


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.faults)])
def test_a_title_and_names_stand_as_they_are(tmp_path, axes_of, every):
    for title in TITLES[::every]:
        run = _log(tmp_path / "run", _line(1, loss=1.0) + _line(2, loss=0.5))
        run = type(run)(title[:100], run.train, run.evaluation)
        draw([run, run], str(tmp_path / "a.png"), [Baseline(title[:100], 0.5)], title=title)
    # Long titles are wrapped.
    drawn = [title.replace("\n", "") for title, _ in axes_of]
    assert drawn == [DRAWN_AS.get(title, title) for title in TITLES[::every]]
    assert axes_of[0][1]["loss (nats)"] == ["$x: loss", "$x: loss"]
    with pytest.raises(InputError, match="--title has 301 characters"):
        draw([run], str(tmp_path / "b.png"), title="x" * 301)


def test_runs_of_one_name_are_told_apart_by_the_folders_above(tmp_path, axes_of):
    paths = [tmp_path / kind / "run" for kind in ("small", "large")]
    for path in paths:
        path.parent.mkdir()
        _log(path, _line(1, loss=1.0))
    draw(read_logs([str(paths[0]), str(paths[1] / "train_log.jsonl")]), str(tmp_path / "a.png"))
    assert axes_of[-1][1]["loss (nats)"] == ["small/run: loss", "large/run: loss"]


def test_panels_without_values_are_left_out(tmp_path, axes_of):
    cases = {
        _line(1, loss=1.0): ["loss (nats)"],
        _line(1, learning_rate=0.1): ["learning rate"],
        _line(1, masked_lm_loss=1.0, masked_lm_accuracy=0.1): ["loss (nats)", "accuracy"],
        _line(1, loss=1.0) + '{"kind": "eval", "step": 1, "f1": 0.5, "loss": 2}\n': ["loss (nats)", "accuracy"],
    }
    for text, panels in cases.items():
        draw([_log(tmp_path / "run", text)], str(tmp_path / "a.png"))
        assert [*axes_of[-1][1]] == panels
    with pytest.raises(InputError, match="no loss, accuracy or learning rate to draw"):
        draw([_log(tmp_path / "run", _line(1, speed=3))], str(tmp_path / "a.png"))


@pytest.mark.parametrize(("task", "label"), [("sop", "sentence order"), ("nsp", "next sentence"), ("none", None)])
def test_the_sentence_task_has_its_name(tmp_path, axes_of, task, label):
    start = json.dumps({"kind": "start", "step": 0, "sentence_task": task}) + "\n"
    text = start + _line(1, masked_lm_loss=1.0, sentence_order_loss=0.7)
    draw([_log(tmp_path / "run", text)], str(tmp_path / "a.png"))
    assert axes_of[-1][1]["loss (nats)"] == ["masked LM", *([label] if label else [])]


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.faults)])
def test_any_values_become_a_png_or_one_line(tmp_path, every):
    rng = random.Random(0)
    keys = ("kind", "step", "loss", "masked_lm_loss", "masked_lm_accuracy", "learning_rate", "f1")
    drawn = 0
    for number, (key, value) in enumerate(itertools.product(keys, VALUES)):
        lines = []
        for step in range(1, 4):
            values = {name: rng.choice([0.5, rng.choice(VALUES)]) for name in keys[2:]}
            lines.append({"kind": rng.choice(["train", "train", "eval"]), "step": step, **values})
        lines[1][key] = value
        try:
            run = _log(tmp_path / "run", "".join(json.dumps(line) + "\n" for line in lines))
            if number % every == 0:
                draw([run], str(tmp_path / "a.png"))
                drawn += 1
        except InputError as error:
            assert "\n" not in str(error), number
            assert len(str(error)) < 400
    assert drawn >= 2


def test_bytes_of_any_kind_are_one_line(tmp_path):
    path = tmp_path / "train_log.jsonl"
    for contents in (b"", b"\x00" * 100, b"\xff\xfe{", b"[" * 100_000 + b"\n" + b"{}", b"{}\n" * 3, b"x" * (1 << 21)):
        path.write_bytes(contents)
        with pytest.raises(InputError, match="train_log.jsonl") as caught:
            read_log(str(tmp_path))
        assert "\n" not in str(caught.value)
    for where in ("/dev/zero", str(tmp_path / "missing"), str(path)):
        with pytest.raises(InputError):
            read_log(where)


def test_a_log_of_a_very_long_run_is_drawn(tmp_path):
    text = "".join(_line(step, masked_lm_loss=2.0 + step % 7) for step in range(1, 60_001))
    draw([_log(tmp_path / "run", text)], str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
