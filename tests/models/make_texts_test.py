"""Texts to distil from: of every kind, none twice, none that is judged by, and the same ones for a seed."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = [
    "The old bridge was built by monks from the valley in twelve years.",
    "It is a river that nobody crosses twice.",
    "Too short.",
    "Swallows were seen above the harbour before the rain began to fall.",
]


@pytest.fixture
def make_texts(tmp_path):
    """A function of sentences and flags to the completed process and the texts."""

    def make(sentences, *arguments):
        (tmp_path / "sentences.txt").write_text("\n".join([*sentences, "", *sentences]) + "\n")
        command = [sys.executable, str(ROOT / "models/make_texts.py"), f"--input_file={tmp_path / 'sentences.txt'}"]
        done = subprocess.run(
            [*command, f"--output_file={tmp_path / 'texts.txt'}", *arguments],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        path = tmp_path / "texts.txt"
        return done, path.read_text().splitlines() if path.exists() else None

    return make


def test_sentences_passages_and_questions_are_made(make_texts):
    sentences = [sentence.replace("old", f"old{number}") for number in range(40) for sentence in SENTENCES]
    sentences = [sentence.replace("Swallows", f"Swallows{number}") for number, sentence in enumerate(sentences)]
    done, texts = make_texts(sentences)
    assert done.returncode == 0, done.stderr
    assert len(texts) == len(set(texts))
    assert "Too short." not in texts
    assert texts.count(SENTENCES[1]) == 1
    assert any(text.endswith("?") for text in texts)
    assert any(". " in text and 25 <= len(text.split()) <= 110 for text in texts)
    assert make_texts(sentences)[1] == texts
    assert make_texts(sentences, "--random_seed=8")[1] != texts
    assert len(make_texts(sentences, "--num_texts=9")[1]) == 9


def test_judged_texts_are_left_out_whatever_their_case(make_texts, tmp_path):
    (tmp_path / "judged.txt").write_text(SENTENCES[1].upper() + "\n")
    _, texts = make_texts(SENTENCES, f"--judged_file={tmp_path / 'judged.txt'}")
    assert SENTENCES[0] in texts and SENTENCES[1] not in texts


def test_no_text_is_one_line(make_texts):
    done, texts = make_texts(["Short.", "Shorter."])
    assert done.returncode == 1 and texts is None
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("make_texts: ") and line.endswith("sentences.txt: no sentence of 4 to 30 words")


def test_questions_ask_for_what_a_sentence_says():
    sys.path.insert(0, str(ROOT / "models"))
    try:
        from make_texts import ask
    finally:
        sys.path.pop(0)
    asked = {ask(SENTENCES[0], random.Random(seed)) for seed in range(40)}
    assert "Who was built by monks from the valley in twelve years?" in asked
    assert any(text.startswith("Why was the old bridge built by") for text in asked)
    assert ask(SENTENCES[1], random.Random(0)) is None
