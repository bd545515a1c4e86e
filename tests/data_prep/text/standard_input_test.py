"""Standard input and pipes are files like any other, copied first; what never ends or never begins is one line."""

import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.text import standard_input
from data_prep.text.sentence_files import SentenceSplitting, split_files
from data_prep.text.standard_input import input_files, read_pipe
from data_prep.text.text_reading import TextReading

TEXT = b"One came here. Two came there. Three stayed at home.\n\nFour went. Five did too. Six did not.\n"


@pytest.fixture
def pipe(tmp_path):
    """A function of some blocks of bytes, to a pipe into which a thread writes them."""

    def make(*blocks: bytes) -> str:
        path = tmp_path / "pipe"
        os.mkfifo(path)

        def write():
            with path.open("wb", buffering=0) as file:
                for block in blocks:
                    file.write(block)

        threading.Thread(target=write, daemon=True).start()
        return str(path)

    return make


def test_a_pipe_gives_all_that_is_written_to_it(pipe):
    blocks = [bytes([number]) * 100_000 for number in range(30)]
    assert b"".join(read_pipe(pipe(*blocks))) == b"".join(blocks)


def test_a_pipe_that_nobody_writes_to_is_one_line(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"--input_file: nobody writes to .*pipe, a pipe; start what writes to it"):
        list(read_pipe(str(tmp_path / "pipe"), patience=0.1))


def test_a_pipe_is_the_same_sentences_as_a_file_and_leaves_nothing_behind(pipe, tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT)
    split_files(SentenceSplitting(str(tmp_path / "a.txt"), str(tmp_path / "file" / "out")))
    split_files(SentenceSplitting(pipe(TEXT[:20], TEXT[20:]), str(tmp_path / "pipe_made" / "out")))
    assert (tmp_path / "pipe_made" / "out").read_bytes() == (tmp_path / "file" / "out").read_bytes()
    assert [path.name for path in (tmp_path / "pipe_made").iterdir()] == ["out"]


def test_an_error_names_the_pipe_and_not_its_copy(pipe, tmp_path):
    path = pipe(b'{"text": 1}\n')
    reading = TextReading(split_sentences=True, input_format="jsonl")
    settings = SentenceSplitting(path, str(tmp_path / "new" / "out"), reading)
    with pytest.raises(InputError, match=f"^{path}: line 1 has no text"):
        split_files(settings)
    assert not (tmp_path / "new").exists()


def test_the_ending_of_a_copy_says_what_is_in_it(tmp_path):
    cases = {
        ("a.jsonl.gz", "auto"): ".jsonl.gz",
        ("63", "auto"): ".txt",
        ("63", "jsonl"): ".jsonl",
        ("x.zst", "text"): ".txt.zst",
    }
    for (name, kind), ending in cases.items():
        assert standard_input._ending(name, kind) == ending


def test_devices_are_refused(tmp_path):
    for path in ("/dev/zero", "/dev/null"):
        with pytest.raises(InputError, match=f"--input_file: {path} is a device"), input_files(path, "", "auto"):
            raise AssertionError("read")


@pytest.mark.parametrize("command", ["split_sentences", "train_vocabulary", "count_embeddings"])
def test_process_substitution_works_in_a_shell(command, small_corpus, small_vocabulary, tmp_path):
    outputs = {"train_vocabulary": "--model_prefix=out --vocab_size=100"}
    more = {"count_embeddings": f"--spm_model_file={small_vocabulary} --embedding_size=8"}
    program = (
        f"{shlex.quote(sys.executable)} -m data_prep.{command} --input_file=<(cat {small_corpus}) "
        f"{outputs.get(command, '--output_file=out')} {more.get(command, '')}"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "corpus.txt") in (
        ["out"],
        ["out.model", "out.vocab"],
    )
