"""Faults of the page of examples/browser in a headless Chromium: one clear line for each."""

import hashlib
import json
import shutil

import pytest
from export_page import PAGE, PAGE_FILES, asked, show, status

from albert_tf.tokenization.tokenizer import AlbertTokenizer

pytestmark = pytest.mark.browser


def test_a_text_that_is_too_long_and_one_without_a_mask_are_one_line(page, exported):
    opened = page(exported("classification"))
    assert asked(opened, text="xz qy " * 20) == ""
    length = len(AlbertTokenizer(exported("classification") / "vocabulary.model").encode("xz qy " * 20)) + 2
    assert status(opened) == (
        f"The text is too long: {length} pieces with [CLS] and [SEP], and the model takes 24. Shorten it."
    )
    assert opened.evaluate("document.getElementById('status').className") == "error"
    assert asked(opened, text="z" * 1_000_000) == ""
    assert status(opened) == "The text has a word of more than 100,000 pieces. Shorten it."
    # The next text is answered.
    assert "good" in asked(opened, text="bado")
    opened = page(exported("pretraining"))
    asked(opened, text="no mask")
    assert status(opened) == "Write [MASK] where a word is to be filled in."


def changed(about):
    """Contents of an export.json of the classifier with changes; None takes the entry out."""

    def write(folder):
        values = json.loads((folder / "export.json").read_text()) | about
        (folder / "export.json").write_text(json.dumps({name: value for name, value in values.items() if value}))

    return write


def without_tokenizer(folder):
    values = json.loads((folder / "export.json").read_text())
    del values["files"]["tokenizer.json"]
    (folder / "export.json").write_text(json.dumps(values))


FAULTS = {
    "model.onnx is missing: put the folder that export_model wrote beside": lambda at: (at / "model.onnx").unlink(),
    "tokenizer.json is missing: put": lambda at: (at / "tokenizer.json").unlink(),
    "export.json is missing: put": lambda at: (at / "export.json").unlink(),
    "export.json is no JSON: name a folder": lambda at: (at / "export.json").write_text("<html>"),
    "export.json is not of export_model": changed({"format": "another"}),
    "is an export as litert; a browser runs": changed({"model_format": "litert"}),
    "has the head span; this page asks those of": changed({"head": "span"}),
    "was exported without tokenizer.json; export it again": without_tokenizer,
    "model.onnx is damaged, or of a different export": lambda at: (at / "model.onnx").write_bytes(b"no model"),
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_folder_that_will_not_do_is_one_line(line, browser, address, exported, site, tmp_path_factory):
    folder = site / tmp_path_factory.mktemp("fault").name
    shutil.copytree(exported("classification"), folder)
    FAULTS[line](folder)
    show(browser, address, folder)
    said = status(browser)
    assert said.startswith(folder.name)
    assert line in said
    assert "\n" not in said
    assert browser.evaluate("document.getElementById('status').className") == "error"
    assert browser.evaluate("document.getElementById('form').hidden")


def test_a_model_that_onnxruntime_refuses_is_one_line(browser, address, exported, site):
    folder = site / "refused"
    shutil.copytree(exported("classification"), folder)
    (folder / "model.onnx").write_bytes(b"no model")
    values = json.loads((folder / "export.json").read_text())
    digest = hashlib.sha256(b"no model").hexdigest()
    values["files"]["model.onnx"] = {"bytes": 8, "sha256": digest}
    (folder / "export.json").write_text(json.dumps(values))
    show(browser, address, folder)
    assert status(browser).startswith("refused/model.onnx cannot be loaded: ")


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        (
            "nowhere",
            "nowhere/export.json is missing: put the folder that export_model wrote beside this page, as a whole",
        ),
        ("http://localhost:1/model", "http://localhost:1/model is on another server; copy the export to this one"),
        ("", "model/export.json is missing: put the folder that export_model wrote beside this page, as a whole"),
    ],
)
def test_a_wrong_folder_is_one_line(folder, line, browser, address):
    show(browser, address, folder)
    assert status(browser) == line


def test_a_page_without_its_libraries_says_so(browser, address, site):
    (site / "alone").mkdir()
    for name in PAGE_FILES:
        shutil.copy(PAGE / name, site / "alone")
    show(browser, f"{address}alone/", "model")
    assert status(browser).startswith("albert.js or a library in lib/ cannot be loaded (npm ci puts them there): ")
    show(browser, (PAGE / "index.html").as_uri(), "model")
    assert status(browser).startswith("Open this page from a server, not as a file: python -m http.server")
