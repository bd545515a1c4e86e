"""The demo's task: made from a small made-up corpus, and scored beside a bag of words."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOPICS = {"alpha": "matrix", "beta": "socket", "tensorflow": "gradient", "json": "string"}


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, f"demo/{script}.py", *arguments], capture_output=True, text=True, cwd=ROOT, timeout=120
    )


def write_documents(path, numbers, topics=TOPICS):
    """A document of each number for each package; one text in each names the package."""
    lines = []
    for package, topic in topics.items():
        name = "Python" if package == "json" else package.upper()
        for number in numbers:
            paragraphs = [
                f"The {topic} number {number} is returned to whoever asks for it in this function.",
                f"A {topic} of {name} with number {number} is never returned to anyone at all here.",
                "This sentence stands in the text of every package and is therefore nobody's own.",
                f"Too short {number}.",
            ]
            lines.append(json.dumps({"id": f"{package}/file{number}.py:1", "paragraphs": paragraphs}))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("script", ["make_package_task", "compare_with_bag_of_words"])
def test_the_examples_in_docstrings_hold(script):
    result = subprocess.run([sys.executable, "-m", "doctest", f"demo/{script}.py"], capture_output=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout.decode()


@pytest.fixture
def corpus(tmp_path):
    write_documents(tmp_path / "documents.jsonl", range(30))
    # Documents 20 to 29 are also among those to learn from.
    write_documents(tmp_path / "heldout.jsonl", range(20, 45))
    return tmp_path


def make_task(folder, *arguments):
    return run(
        "make_package_task",
        *(f"--input_file={folder / 'documents.jsonl'}", f"--heldout_file={folder / 'heldout.jsonl'}"),
        *(f"--output_dir={folder / 'task'}", *arguments),
    )


def rows(path):
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()]


def test_every_package_has_as_many_texts_and_none_names_one(corpus):
    result = make_task(corpus, "--examples_per_package=25")
    assert result.returncode == 0, result.stderr
    train, dev = rows(corpus / "task/train.tsv"), rows(corpus / "task/dev.tsv")
    assert train[0] == dev[0] == ("text", "label")
    # json is a module of the standard library.
    labels = ["alpha", "beta", "python", "tensorflow"]
    assert sorted(label for _, label in train[1:]) == sorted(labels * 25)
    # 25 are held out, of which 10 are also learned from.
    assert sorted(label for _, label in dev[1:]) == sorted(labels * 15)
    assert not {text for text, _ in train[1:]} & {text for text, _ in dev[1:]}
    topic_of = {"alpha": "matrix", "beta": "socket", "tensorflow": "gradient", "python": "string"}
    for text, label in train[1:] + dev[1:]:
        assert text.startswith(f"The {topic_of[label]} number")
    samples = rows(corpus / "task/samples.tsv")
    assert samples[0] == ("id", "text")
    assert [package for package, _ in samples[1:]] == labels
    assert {(text, package) for package, text in samples[1:]} <= set(dev)


def test_the_same_seed_draws_the_same_examples(corpus):
    tables = []
    for seed in (1, 1, 2):
        assert make_task(corpus, f"--random_seed={seed}", "--examples_per_package=20", "--overwrite").returncode == 0
        tables.append((corpus / "task/train.tsv").read_text())
    assert tables[0] == tables[1] != tables[2]


def test_what_is_there_stays(corpus):
    (corpus / "task").mkdir()
    (corpus / "task/train.tsv").write_text("mine\n")
    result = make_task(corpus)
    assert result.returncode == 1
    assert "is there already; --overwrite replaces it" in result.stderr
    assert (corpus / "task/train.tsv").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ('{"paragraphs": ["A text."]}', 'line 1 has no "id"'),
        ("not json", "line 1 is not JSON"),
        ('{"id": "alpha/a.py:1", "paragraphs": ["A text."]}', "0 of 4 have them; collect more text"),
    ],
)
def test_bad_documents_are_one_line(corpus, documents, message):
    (corpus / "documents.jsonl").write_text(documents + "\n")
    result = make_task(corpus)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (corpus / "task").exists()


def test_scores_stand_beside_those_of_a_bag_of_words(corpus):
    assert make_task(corpus).returncode == 0
    (corpus / "run").mkdir()
    scores = {"accuracy": 0.25, "macro_f1": 0.125}
    (corpus / "run/results.json").write_text(json.dumps({"scores": {"dev": scores}}))
    result = run(
        "compare_with_bag_of_words",
        *(
            f"--data_dir={corpus / 'task'}",
            f"--run=a model={corpus / 'run'}",
            f"--output_file={corpus / 'scores.json'}",
        ),
    )
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[1] == ["a", "model", "0.250", "0.125"]
    # The topic tells the package; the constant answer is right for one of four.
    assert lines[2] == ["bag", "of", "words", "1.000", "1.000"]
    assert lines[3][-2:] == ["0.250", "0.100"]
    written = json.loads((corpus / "scores.json").read_text())
    assert written["heldout"] == 60
    assert written["scores"]["a model"] == scores


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run=nothing"], "--run must be NAME=FOLDER. Received 'nothing'"),
        (["--run=a=missing"], "results.json is missing"),
        ([], "train.tsv"),
    ],
)
def test_bad_runs_are_one_line(tmp_path, arguments, message):
    result = run("compare_with_bag_of_words", f"--data_dir={tmp_path}", *arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
