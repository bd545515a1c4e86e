"""Existing outputs stay, whichever command would write there, and are reported before any work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from albert_tf.conversion.checkpoint_format import check_output
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.output_paths import STANDARD_INPUT, check_outputs, refuse_current_folder

ROOT = Path(__file__).resolve().parents[3]

# The commands that write files, with the flags that name them and what else they require; none of it is there.
WRITERS = {
    "data_prep.split_sentences": (["output_file"], ["--input_file=missing.txt"]),
    "data_prep.count_embeddings": (["output_file"], ["--input_file=missing.txt", "--spm_model_file=missing"]),
    "data_prep.collect_docstrings": (["output_file", "heldout_output_file"], ["--source_folder=missing"]),
    "data_prep.inspect_records": (["json_file", "plot_file"], ["--input_file=missing", "--spm_model_file=missing"]),
    "albert_tf.plot_training": (["output_file"], ["--output_dir=missing"]),
    "albert_tf.write_report": (["output_file"], ["--output_dir=missing"]),
    "albert_tf.collect_glue_submission": (["output_file"], ["--output_dir=missing"]),
    "albert_tf.run_evaluation": (["output_file"], ["--input_file=missing", "--output_dir=missing"]),
}


def _run(command, *arguments):
    program = [sys.executable, "-m", command, *arguments]
    return subprocess.run(program, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize(("command", "flag"), [(name, flag) for name in WRITERS for flag in WRITERS[name][0]])
def test_a_command_refuses_to_replace_a_file_before_it_looks_at_anything_else(command, flag, tmp_path):
    names, others = WRITERS[command]
    outputs = [f"--{name}={tmp_path / name}" for name in names]
    (tmp_path / flag).write_text("kept")
    done = _run(command, *outputs, *others)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"--{flag}: {tmp_path / flag} is there already; --overwrite replaces it" in line
    if command != "albert_tf.run_evaluation":  # which would import TensorFlow first
        assert "missing" in _run(command, *outputs, *others, "--overwrite").stderr
    assert (tmp_path / flag).read_text() == "kept"


@pytest.mark.parametrize("command", [name for name, (_, others) in WRITERS.items() if "--input_file" in others[0]])
def test_no_command_replaces_what_it_reads(command, tmp_path):
    (flag, *_), (_, *others) = WRITERS[command]
    path = tmp_path / "input.txt"
    path.write_text("kept")
    done = _run(command, f"--input_file={path}", f"--{flag}={path}", *others, "--overwrite")
    assert done.returncode == 1
    assert f"--{flag}: {path} is also among --input_file; write to another file" in done.stderr
    assert path.read_text() == "kept"


def test_the_current_folder_is_not_made_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (".", str(tmp_path), "../" + tmp_path.name):
        with pytest.raises(InputError, match="--output_dir: .* is the current folder, which cannot be replaced"):
            refuse_current_folder(folder, "--output_dir")
        with pytest.raises(InputError, match="the output: .* is the current folder"):
            check_output(folder)
    refuse_current_folder("below", "--output_dir")


def test_standard_input_is_no_file_among_those_read(tmp_path):
    path = tmp_path / "output.txt"
    path.write_text("before")
    check_outputs([("output_file", str(path))], True, inputs=STANDARD_INPUT)


@pytest.mark.parametrize("ending", [".model", ".vocab"])
def test_neither_file_of_a_vocabulary_is_replaced(ending, tmp_path):
    path = tmp_path / f"v{ending}"
    path.write_text("kept")
    done = _run("data_prep.train_vocabulary", "--input_file=missing.txt", f"--model_prefix={tmp_path / 'v'}")
    assert done.returncode == 1
    assert f"--model_prefix: {path} is there already; --overwrite replaces it" in done.stderr


def test_places_where_no_file_can_be(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    cases = {
        tmp_path: "is a folder; name a file",
        f"{tmp_path}/new/": "is a folder; name a file",
        tmp_path / "pipe": "is a pipe; name a file",
        "/dev/null": "is a device; name a file",
        tmp_path / "file" / "a" / "b": f"{tmp_path / 'file'} is no folder",
    }
    for path, message in cases.items():
        with pytest.raises(InputError, match=f"^--output_file: .*{message}"):
            check_outputs([("output_file", str(path))], overwrite=True)


def test_a_new_file_in_a_new_folder_is_fine(tmp_path):
    check_outputs([("output_file", str(tmp_path / "a" / "b")), ("json_file", None)], overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_an_input_is_not_written_even_if_told(tmp_path):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "link").symlink_to("a.txt")
    for path in ("a.txt", "link", "../" + tmp_path.name + "/a.txt"):
        with pytest.raises(InputError, match="is also among --input_file"):
            check_outputs([("output_file", str(tmp_path / path))], overwrite=True, inputs=f"{tmp_path}/*.txt")


def test_two_outputs_are_two_files(tmp_path):
    outputs = [("json_file", str(tmp_path / "a")), ("plot_file", f"{tmp_path}/b/../a")]
    with pytest.raises(InputError, match="--json_file and --plot_file are the same file"):
        check_outputs(outputs, overwrite=True)


def test_a_link_to_nothing_is_something_that_is_there(tmp_path):
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(InputError, match="is there already"):
        check_outputs([("output_file", str(tmp_path / "link"))], overwrite=False)
