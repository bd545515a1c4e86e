"""Names of published weights: which are names, and which are wrong ones."""

import pytest

from albert_tf.conversion.formats import recognise
from albert_tf.published import local_copy as local_copy_module
from albert_tf.published.local_copy import local_copy
from albert_tf.published.names import HubName, hub_advice, is_published, parse_hub_name
from albert_tf.runtime.errors import InputError
from albert_tf.serving.model_kind import kind_of


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf://albert/albert-base-v2", HubName("albert/albert-base-v2")),
        ("hf://albert/albert-base-v2/", HubName("albert/albert-base-v2")),
        ("hf://a/b@refs/pr/1", HubName("a/b", "refs/pr/1")),
        ("hf://a/b@v1.0", HubName("a/b", "v1.0")),
    ],
)
def test_a_name_is_repository_and_revision(text, name):
    assert is_published(text)
    assert parse_hub_name(text) == name
    assert parse_hub_name(str(name)) == name


@pytest.mark.parametrize(
    "text", ["hf://", "hf://a", "hf://a/b/c", "hf://a/..", "hf://a/b@", "hf://a/b@../x", "hf://a b/c"]
)
def test_a_wrong_name_is_an_error_that_shows_it(text):
    with pytest.raises(InputError, match="hf://owner/name") as error:
        local_copy(text)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("albert/albert-base-v2", "hf://albert/albert-base-v2"),
        ("albert-base-v2", "hf://albert/albert-base-v2"),
        ("bert-base-uncased", "hf://google-bert/bert-base-uncased"),
        ("all-MiniLM-L6-v2", "hf://sentence-transformers/all-MiniLM-L6-v2"),
    ],
)
def test_a_name_of_the_hub_without_its_beginning_is_told_with_it(path, name):
    for look in (kind_of, recognise):
        with pytest.raises(InputError, match=f"{path}: no .*; on the Hugging Face hub it would be {name}$"):
            look(path)


def test_a_path_that_is_no_name_of_the_hub_is_told_of_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for path in ("runs/base", "/albert/base", "a/b/c", "model", "gs://bucket"):
        assert hub_advice(path) == ""
    assert hub_advice("other/base").endswith("hf://other/base")


@pytest.mark.parametrize("path", ["runs/base", "gs://bucket/run", "/a/hf:/b", ""])
def test_any_other_path_stays_as_it_is(path):
    assert not is_published(path)
    assert local_copy(path) == path


@pytest.mark.parametrize("first", [False, True])
def test_a_process_takes_vocabulary_and_weights_of_one_commit(first, tmp_path, monkeypatch):
    commits = iter(["first", "second"])

    def fetch(name, weights):
        folder = tmp_path / (name.revision or next(commits))
        folder.mkdir(exist_ok=True)
        return str(folder)

    monkeypatch.setattr(local_copy_module, "fetch_repository", fetch)
    monkeypatch.setattr(local_copy_module, "_FOUND", {})
    for weights in (first, not first, first):
        assert local_copy("hf://a/b", weights=weights) == str(tmp_path / "first")
    assert local_copy("hf://a/c") == str(tmp_path / "second")
