"""Training curves: what is read from a log, resumed and unfinished ones too, and that a PNG comes out."""

import json
import math
import sys

import pytest

from albert_tf.analysis.training_log import is_score, read_log
from albert_tf.analysis.training_plot import Baseline, draw, moving_average
from albert_tf.runtime.errors import InputError


def train_line(step, loss=2.0):
    return {
        "kind": "train",
        "step": step,
        "loss": loss + 0.7,
        "masked_lm_loss": loss,
        "masked_lm_accuracy": 0.1,
        "sentence_order_loss": 0.7,
        "sentence_order_accuracy": 0.5,
        "learning_rate": 0.001,
        "tokens_per_second": 1000.0,
    }


def eval_line(step):
    return {"kind": "eval", "step": step, "masked_lm_accuracy": 0.2, "masked_lm_loss": 1.5}


def write_log(folder, lines, tail=""):
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines) + tail
    (folder / "train_log.jsonl").write_text(text)
    return str(folder)


def test_training_and_evaluation_lines_are_told_apart(tmp_path):
    curves = read_log(write_log(tmp_path / "my_run", [train_line(10), train_line(20, 1.0), eval_line(20)]))
    assert curves.name == "my_run"
    assert curves.train["masked_lm_loss"] == ([10, 20], [2.0, 1.0])
    assert curves.evaluation == {"masked_lm_accuracy": ([20], [0.2]), "masked_lm_loss": ([20], [1.5])}


def test_evaluations_on_other_records_than_the_last_are_left_out(tmp_path):
    lines = [train_line(10), eval_line(10) | {"evaluated_on": "a"}, eval_line(20) | {"evaluated_on": "b"}]
    assert read_log(write_log(tmp_path, lines)).evaluation["masked_lm_accuracy"] == ([20], [0.2])


def test_of_a_step_repeated_after_a_restart_the_last_line_counts(tmp_path):
    lines = [train_line(10), train_line(20, 5.0), train_line(30, 5.0), train_line(20, 4.0)]
    assert read_log(write_log(tmp_path, lines)).train["masked_lm_loss"] == ([10, 20, 30], [2.0, 4.0, 5.0])


def test_other_kinds_of_lines_are_passed_over(tmp_path):
    lines = [{"kind": "start", "step": 0, "flags": {}}, train_line(10)]
    assert read_log(write_log(tmp_path, lines)).train["loss"] == ([10], [2.7])


def test_a_line_still_being_written_is_left_out(tmp_path):
    folder = write_log(tmp_path, [train_line(10)], tail='{"kind": "train", "st')
    assert read_log(folder).train["loss"][0] == [10]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"kind": "tr\n{"kind": "train", "step": 1}\n', "line 1: not a line of a training log"),
        ('[1]\n{"kind": "train", "step": 1}\n', "line 1: not a line of a training log"),
        ("", "no training steps in it yet"),
        (json.dumps(eval_line(3)), "no training steps in it yet"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path, content, message):
    (tmp_path / "train_log.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        read_log(str(tmp_path))


def test_a_missing_log_is_named(tmp_path):
    with pytest.raises(InputError, match=r"train_log\.jsonl: no such log"):
        read_log(str(tmp_path))


def test_a_moving_average_is_centred_and_passes_over_what_is_not_finite():
    assert moving_average([0.0, 3.0, 6.0, 0.0], 3) == [1.5, 3.0, 3.0, 3.0]
    assert moving_average([1.0, math.nan, 3.0], 3) == [1.0, 2.0, 3.0]
    assert moving_average([5.0, 7.0], 1) == [5.0, 7.0]


def test_one_run_and_several_become_a_png(tmp_path):
    lines = [train_line(step) for step in range(1, 200)] + [eval_line(100)]
    runs = [read_log(write_log(tmp_path / name, lines)) for name in ("a", "b")]
    for count in (1, 2):
        draw(runs[:count], str(tmp_path / f"{count}.png"), [Baseline("chance", 0.5)], title="A title")
        assert (tmp_path / f"{count}.png").read_bytes().startswith(b"\x89PNG")


def test_losses_errors_counts_and_thresholds_are_no_scores():
    names = (
        "accuracy",
        "f1",
        "loss",
        "mean_absolute_error",
        "num_examples",
        "threshold",
        "threshold a",
        "best_f1_thresh",
    )
    assert [name for name in names if is_score(name)] == ["accuracy", "f1"]


def test_a_run_of_one_step_can_be_drawn(tmp_path):
    draw([read_log(write_log(tmp_path / "a", [train_line(1, math.nan)]))], str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").exists()


def test_baselines_are_read_from_the_last_equals_sign():
    assert Baseline.parse("a = b=0.25") == Baseline("a = b", 0.25)


@pytest.mark.parametrize("text", ["0.5", "=0.5", "chance", "chance=", "chance=two", "chance=1.5", "chance=nan"])
def test_a_malformed_baseline_is_refused(text):
    with pytest.raises(InputError, match="--baseline must be LABEL=ACCURACY"):
        Baseline.parse(text)


def test_missing_matplotlib_is_one_line_that_says_what_to_install(tmp_path, monkeypatch):
    run = read_log(write_log(tmp_path, [train_line(1)]))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'albert_tf\[plot\]'"):
        draw([run], str(tmp_path / "a.png"))
    assert not (tmp_path / "a.png").exists()
