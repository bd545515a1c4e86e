"""Models that a command line names: names, versions, folders."""

import json

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.server.models import parse_sources


@pytest.fixture
def make(tmp_path):
    """A function that makes a folder which looks like an export, and returns its path."""

    def write(name):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "saved_model.pb").write_bytes(b"")
        return str(folder)

    return write


def parsed(*given):
    return [(source.name, source.path, source.version) for source in parse_sources(given)]


def test_a_name_is_given_or_is_the_folders(make):
    first, second = make("sst-2"), make("b")
    assert parsed(f"mood={first}", f"{second}/") == [("mood", first, 1), ("b", second, 1)]


def test_folders_that_are_numbers_are_versions_of_the_folder_above(make, tmp_path):
    for version in ("2", "10", "9"):
        make(f"mood/{version}")
    (tmp_path / "mood" / "11").mkdir()
    newest = str(tmp_path / "mood" / "10")
    assert parsed(str(tmp_path / "mood")) == [("mood", newest, 10)]
    assert parsed(str(tmp_path / "mood" / "9")) == [("mood", str(tmp_path / "mood" / "9"), 9)]


def test_a_path_may_hold_an_equals_sign(make):
    path = make("a=b/c")
    assert parsed(path) == [("c", path, 1)]
    assert parsed(f"name={path}") == [("name", path, 1)]


def test_published_names_are_named_by_their_last_part():
    for revision in ("main", "refs/pr/1"):
        assert parsed(f"hf://owner/albert@{revision}") == [("albert", f"hf://owner/albert@{revision}", 1)]
    assert parsed("x=official://albert_base_v2") == [("x", "official://albert_base_v2", 1)]


def test_portable_exports_need_no_tensorflow(make, tmp_path):
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "export.json").write_text(json.dumps({"format": "albert_tf export", "model_format": "onnx"}))
    sources = parse_sources([str(tmp_path / "onnx"), make("saved")])
    assert [source.is_portable for source in sources] == [True, False]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["nowhere"], "nowhere: no model here: there is nothing; give an export"),
        (["name=nowhere"], "no model here"),
        (["{a}", "a={a}"], "two models named 'a'; give (--)?model=OTHER="),
        (["{a}/../odd name"], "'odd name' cannot stand in an address; give (--)?model=NAME="),
        (["a:b={a}"], "no model here"),
    ],
)
def test_a_wrong_model_is_one_line(make, given, message):
    path = make("a")
    make("odd name")
    with pytest.raises(InputError, match=message):
        parse_sources([text.format(a=path) for text in given])
