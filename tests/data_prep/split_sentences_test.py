"""The commands split_sentences and train_vocabulary as a user runs them: exit codes and single lines on stderr."""

import subprocess
import sys

import pytest


def run(module: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", f"data_prep.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_text_becomes_sentences_becomes_a_vocabulary(tmp_path):
    (tmp_path / "raw.txt").write_text("Hello there. The second, it is.\n\nAnother one. " * 300)
    split = run("split_sentences", f"--input_file={tmp_path}/raw.txt", f"--output_file={tmp_path}/sentences.txt")
    assert split.returncode == 0, split.stderr
    assert "documents" in split.stderr
    trained = run(
        "train_vocabulary",
        f"--input_file={tmp_path}/sentences.txt",
        f"--model_prefix={tmp_path}/v",
        "--vocab_size=32",
    )
    assert trained.returncode == 0, trained.stderr
    assert "trainer" not in trained.stderr
    assert (tmp_path / "v.model").stat().st_size > 1000
    assert len((tmp_path / "v.vocab").read_text().splitlines()) == 32


@pytest.mark.parametrize(
    ("module", "arguments", "code", "message"),
    [
        ("split_sentences", ("--input_file={}/no.txt", "--output_file={}/out"), 1, "no file matches"),
        ("split_sentences", ("--input_file={}/a.txt",), 2, "--output_file must be given"),
        ("split_sentences", ("--input_file={}/a.txt", "--output_file={}/out", "--headings=x"), 2, "headings"),
        ("train_vocabulary", ("--input_file={}/a.txt", "--model_prefix={}/v"), 1, "is too large"),
        ("train_vocabulary", ("--input_file={}/bad.txt", "--model_prefix={}/v"), 1, "line 1 is not UTF-8"),
        ("train_vocabulary", ("--input_file={}/a.txt",), 2, "--model_prefix must be given"),
    ],
)
def test_a_mistake_is_one_line_and_an_exit_code(tmp_path, module, arguments, code, message):
    (tmp_path / "a.txt").write_text("Hello there.")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    result = run(module, *(argument.format(tmp_path) for argument in arguments))
    assert result.returncode == code
    assert message in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", "bad.txt"}
