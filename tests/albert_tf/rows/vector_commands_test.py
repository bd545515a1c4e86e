"""embed_texts and search_texts as commands: files written, killed and gone on with; mistakes in one line."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow


def start(command, *arguments, model=None):
    named = () if model is None else (f"--model={model}",)
    return subprocess.Popen(
        [sys.executable, "-m", f"albert_tf.{command}", *named, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def finish(run):
    """(exit code, standard output, standard error)."""
    output, said = run.communicate(timeout=300)
    return run.returncode, output, said


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("texts") / "texts.txt", random.Random(0)
    words = ["bada", "gimo", "rasu", "lefi", "1995"]
    path.write_text("".join(" ".join(rng.choices(words, k=rng.randint(1, 9))) + "\n" for _ in range(2000)))
    return path


def test_vectors_that_were_killed_on_the_way_end_in_the_same_bytes(exported, texts, tmp_path):
    flags = (f"--input_file={texts}", "--batch_size=4", "--vector_type=float16")
    whole, cut = tmp_path / "whole.npy", tmp_path / "cut.npy"
    code, _, said = finish(start("embed_texts", *flags, f"--output_file={whole}", model=exported))
    assert code == 0, said
    run, progress = start("embed_texts", *flags, f"--output_file={cut}", model=exported), tmp_path / ".cut.npy.partial"
    deadline = time.monotonic() + 240
    while not (progress / "progress.json").exists() or not json.loads((progress / "progress.json").read_text())["rows"]:
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    assert finish(run)[0] == -signal.SIGKILL and not cut.exists()
    code, _, said = finish(start("embed_texts", *flags, f"--output_file={cut}", model=exported))
    assert code == 0 and "going on after the" in said
    assert cut.read_bytes() == whole.read_bytes()
    assert np.load(whole).shape == (2000, 16)


def test_a_text_of_the_file_is_nearest_to_itself(exported, texts, tmp_path):
    library = tmp_path / "library.txt"
    library.write_bytes(texts.read_bytes()[:4000].rpartition(b"\n")[0] + b"\n")
    first = library.read_text().splitlines()[0]
    flags = (f"--texts_file={library}", "--top_k=2", "--format=jsonl", first)
    for made_before in (False, True):
        code, output, said = finish(start("search_texts", *flags, model=exported))
        assert code == 0, said
        assert ("vectors are there already" in said) == made_before
        best = json.loads(output)["nearest"][0]
        assert best["text"] == first and best["cosine"] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "command, arguments, code, message",
    [
        ("embed_texts", ("a text",), 2, "--model"),
        ("embed_texts", ("--model=nothing", "a text"), 1, "nothing: no model here"),
        ("embed_texts", ("--model=m", "--input_file=a", "text"), 1, "--input_file takes no further text"),
        ("embed_texts", ("--model=m", "--batch_size=0", "text"), 1, "--batch_size must be at least 1"),
        ("embed_texts", ("--model=m", "--pooling=max", "text"), 2, "--pooling"),
        ("search_texts", ("--model=m", "query"), 2, "--texts_file"),
        ("search_texts", ("--model=m", "--texts_file=a", "--top_k=0", "query"), 1, "--top_k must be at least 1"),
        (
            *("search_texts", ("--model=m", "--texts_file=a", "--vectors_file=a", "query"), 1),
            "--vectors_file: a is also --texts_file",
        ),
        (
            *("search_texts", ("--model=m", "--texts_file=a", "--output_file=a.vectors.npy", "query"), 1),
            "--output_file: a.vectors.npy is also --vectors_file",
        ),
    ],
)
def test_mistakes_are_one_line(command, arguments, code, message, tmp_path):
    returned, output, said = finish(start(command, *arguments))
    assert (returned, output) == (code, "")
    assert message in said.splitlines()[-1] and "Traceback" not in said
