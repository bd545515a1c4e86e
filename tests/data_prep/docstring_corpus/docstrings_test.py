"""The demo's corpus: what is found in a small made-up installation, and that the output is a function of it alone."""

import json

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.docstring_corpus.docstrings import CollectionSettings, collect
from data_prep.docstring_corpus.sources import installed_folders


def prose(topic):
    """Three sentences, more than MIN_DOCUMENT_WORDS words."""
    return (
        f"This is the first sentence about {topic} and it says what the {topic} is for in this program. "
        f"It is followed by another one that tells you when the {topic} must not be used by anyone at all. "
        f"In the end there is a third sentence which is only here so that the {topic} has enough words."
    )


@pytest.fixture
def installation(tmp_path):
    """A folder with one text of each kind."""
    root = tmp_path / "installed"
    for folder in ("package", "tests", "site-packages"):
        (root / folder).mkdir(parents=True)
    for number in range(40):
        source = f'"""Module.\n\n{prose(f"module{number}")}\n"""\n\n\ndef f():\n    """Short."""\n'
        (root / "package" / f"module{number}.py").write_text(source)
    (root / "package" / "constants.py").write_text(f'TOPICS = {{"a": "Topic\\n\\n{prose("constant")}\\n"}}\n')
    (root / "package" / "broken.py").write_text(f'def (:\n"""{prose("broken")}\n"""\n')
    (root / "package" / "manual.rst").write_text(f"Title\n=====\n\n{prose('manual')}\n")
    (root / "package" / "LICENSE.txt").write_text(prose("licence"))
    words = prose("header").split()
    comment = "\n".join("// " + " ".join(words[i : i + 9]) for i in range(0, len(words), 9))
    (root / "package" / "code.h").write_text(f"int x;\n{comment}\nint y;\n")
    (root / "tests" / "module.py").write_text(f'"""{prose("tests")}\n"""\n')
    (root / "site-packages" / "other.py").write_text(f'"""{prose("other")}\n"""\n')
    return root


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_kind_of_text_is_found(installation, tmp_path):
    report = collect(
        CollectionSettings(str(tmp_path / "out.jsonl"), source_folders=(str(installation),), num_workers=1)
    )
    documents = {document["id"]: document["paragraphs"] for document in read(tmp_path / "out.jsonl")}
    assert documents["package/module3.py:1"] == [prose("module3")]
    assert documents["package/constants.py:1"] == [prose("constant")]
    assert documents["package/manual.rst:1"] == [prose("manual")]
    assert documents["package/code.h:2"] == [prose("header")]
    assert len(documents) == report.documents == 43
    assert report.words == sum(len(text.split()) for texts in documents.values() for text in texts)


@pytest.mark.parametrize("topic", ["tests", "licence", "broken", "other", "Short"])
def test_tests_licences_broken_and_foreign_files_are_left_out(installation, tmp_path, topic):
    collect(CollectionSettings(str(tmp_path / "out.jsonl"), source_folders=(str(installation),), num_workers=1))
    assert f" {topic} " not in (tmp_path / "out.jsonl").read_text()


def test_the_same_bytes_for_any_number_of_workers(installation, tmp_path):
    for workers in (1, 3):
        settings = CollectionSettings(
            *(str(tmp_path / f"train{workers}"), str(tmp_path / f"held{workers}")),
            heldout_every=4,
            source_folders=(str(installation),),
            num_workers=workers,
        )
        collect(settings)
    assert (tmp_path / "train1").read_bytes() == (tmp_path / "train3").read_bytes()
    assert (tmp_path / "held1").read_bytes() == (tmp_path / "held3").read_bytes()


def test_held_out_files_and_the_rest_are_a_partition(installation, tmp_path):
    where = {"source_folders": (str(installation),), "num_workers": 1}
    collect(CollectionSettings(str(tmp_path / "all"), **where))
    report = collect(CollectionSettings(str(tmp_path / "a"), str(tmp_path / "b"), 4, **where))
    parts = read(tmp_path / "a") + read(tmp_path / "b")
    assert sorted(map(str, parts)) == sorted(map(str, read(tmp_path / "all")))
    assert 0 < report.heldout_documents < report.documents


def test_a_repeated_paragraph_is_kept_once(tmp_path):
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text(f'"""{prose("same")}\n\n{prose(name)}\n"""\n')
    collect(CollectionSettings(str(tmp_path / "out"), source_folders=(str(tmp_path),), num_workers=1))
    text = (tmp_path / "out").read_text()
    assert text.count("sentence about same") == 1
    assert all(text.count(f"sentence about {name}") == 1 for name in ("a.py", "b.py", "c.py"))


def test_a_paragraph_of_a_document_that_is_too_short_is_kept_where_it_occurs_next(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(5):
        text = f"A short one {prose('short')}" if number == 3 else "A short one."
        (tmp_path / "in" / f"{number}.rst").write_text(f"{text}\n\nThe other paragraph stands in all of them alike.\n")
    report = collect(CollectionSettings(str(tmp_path / "out.jsonl"), source_folders=(str(tmp_path / "in"),)))
    assert report.documents == 1
    [document] = read(tmp_path / "out.jsonl")
    assert "The other paragraph stands in all of them alike." in document["paragraphs"]


def test_a_limit_stops_early(installation, tmp_path):
    settings = CollectionSettings(
        str(tmp_path / "out"), max_megabytes=0.001, source_folders=(str(installation),), num_workers=1
    )
    report = collect(settings)
    assert 1000 <= report.bytes < 2000
    assert report.documents == len(read(tmp_path / "out")) < 43


def test_a_folder_without_prose_is_refused_and_nothing_is_written(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no prose found under .*empty"):
        collect(CollectionSettings(str(tmp_path / "out"), source_folders=(str(tmp_path / "empty"),), num_workers=1))
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="missing is not a folder"):
        collect(CollectionSettings(str(tmp_path / "out"), source_folders=(str(tmp_path / "missing"),)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heldout_output_file": "b", "heldout_every": 1}, "--heldout_every must be at least 2; received 1"),
        ({"heldout_output_file": "a"}, "are the same file, a"),
        ({"max_megabytes": -1.0}, "must be 0 or more; received -1.0"),
        ({"max_megabytes": float("nan")}, "must be 0 or more; received nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        CollectionSettings("a", **values)


def test_the_installation_of_this_python_is_the_default():
    folders = installed_folders()
    assert folders
    assert any(folder.endswith("site-packages") for folder in folders)
