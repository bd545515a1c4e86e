"""The page at /: its files, the models that it lists, the search for sentences; nothing from elsewhere."""

import re
from importlib import resources

import pytest
from running_server import running
from word_model import WordModel

FILES = {path.name: path.read_text() for path in (resources.files("albert_tf.server") / "page").iterdir()}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "sentences"
    path.write_text("aa\nbb\nzz\n")
    with running({"words": WordModel()}, page=True, page_sentences_file=str(path), max_text_chars=50) as asked:
        yield asked


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/page/page.css", "text/css"),
        ("/page/page.js", "text/javascript"),
        ("/page/icon.svg", "image/svg"),
    ],
)
def test_the_files_are_there_and_may_load_nothing_from_elsewhere(client, path, kind):
    status, body, headers = client.send("GET", path)
    assert status == 200
    assert headers["Content-Type"].startswith(kind)
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert body.decode() in FILES.values()


def test_no_file_names_another_site():
    for name, text in FILES.items():
        addresses = re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]+", text)
        assert [address for address in addresses if "www.w3.org" not in address] == [], name
    # Every file that the page names is there.
    named = re.findall(r'(?:href|src)="page/([\w.]+)"', FILES["index.html"])
    assert sorted([*named, "index.html"]) == sorted(FILES)


@pytest.mark.parametrize("name", ["nowhere", "..%2f__init__.py", "../../app.py", "%00", "page.js/"])
def test_nothing_else_is_shown(client, name):
    assert client.send("GET", f"/page/{name}")[0] == 404


def test_the_page_is_told_what_the_models_can_do(client):
    status, about = client.get("/page/models")
    assert status == 200
    assert about["sentences"] == 3
    (model,) = about["models"]
    assert model["name"] == "words"
    assert model["signatures"]["classify"] == ["text", "text_pair"]


def test_texts_are_only_ever_text_on_the_page():
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", FILES["page.js"])


def test_the_nearest_sentences(client):
    status, found = client.ask({"text": "zz", "count": 2}, path="/page/nearest")
    assert status == 200
    assert [one["sentence"] for one in found["nearest"]] == ["zz", "bb"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        {"text": 3},
        {"text": ""},
        {"text": "a" * 51},
        {"text": "a", "count": 0},
        {"text": "a", "count": True},
    ],
)
def test_a_wrong_search_is_one_line(client, content):
    status, found = client.ask(content, path="/page/nearest")
    assert status == 400
    assert len(found["error"].splitlines()) == 1


def test_without_sentences_there_is_no_search():
    with running({"words": WordModel()}, page=True) as client:
        assert client.ask({"text": "a"}, path="/page/nearest")[0] == 404
        assert client.get("/page/models")[1]["sentences"] == 0
