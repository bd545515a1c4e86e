"""The log of a run: lines added, and those of a killed run dropped."""

import json

from albert_tf.training.log_file import LOG_NAME, append_evaluation, append_line, forget_later_lines


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_no_number_is_left_out_of_a_line(tmp_path):
    path = tmp_path / LOG_NAME
    known = append_line(str(path), {"kind": "train", "step": 3, "loss": float("nan"), "rate": 0.5, "name": "ü"})
    assert known == {"kind": "train", "step": 3, "rate": 0.5, "name": "ü"}
    assert _lines(path) == [known]


def test_lines_after_the_checkpoint_and_a_line_cut_short_are_dropped(tmp_path):
    path = tmp_path / LOG_NAME
    assert forget_later_lines(str(path), 7) == set()
    append_line(str(path), {"kind": "train", "step": 5})
    append_evaluation(str(tmp_path), 5, {"loss": 2.0})
    append_line(str(path), {"kind": "train", "step": 8})
    # Of a checkpoint before it, evaluated later.
    append_evaluation(str(tmp_path), 4, {"loss": 3.0})
    with open(path, "a") as file:
        file.write('{"kind": "train", "st')
    assert forget_later_lines(str(path), 7) == {4, 5}
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert forget_later_lines(str(path), 7) == {4, 5} and path.read_bytes().endswith(b"\n")
    assert [(line["kind"], line["step"]) for line in _lines(path)] == [("train", 5), ("eval", 5), ("eval", 4)]
