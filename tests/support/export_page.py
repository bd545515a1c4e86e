"""The page of examples/browser, served with exports beside it and opened in a headless Chromium.

Its two libraries, and its style, which is that of the server's page, are what `npm ci` puts into examples/browser/lib.
"""

import functools
import http.server
import json
import shutil
import threading
from pathlib import Path

import devtools
import pytest

from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings

PAGE = Path(__file__).resolve().parents[2] / "examples" / "browser"
PAGE_FILES = ("index.html", "albert.js", "tokenizer.js")
LIBRARIES = ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm", "tokenizers.min.mjs", "page.css")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder with the page that is served; exports go into it."""
    missing = [name for name in LIBRARIES if not (PAGE / "lib" / name).is_file()]
    if missing:
        pytest.skip(f"examples/browser/lib has no {missing[0]}: npm ci --prefix examples/browser")
    if devtools.find_browser() is None:
        pytest.skip(f"no browser: none of {', '.join(devtools.NAMES)} is installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'albert_tf[onnx]'")
    folder = tmp_path_factory.mktemp("site")
    for name in PAGE_FILES:
        shutil.copy(PAGE / name, folder)
    (folder / "lib").symlink_to(PAGE / "lib")
    return folder


@pytest.fixture(scope="session")
def address(site):
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser(tmp_path_factory, site):
    with devtools.Browser(str(tmp_path_factory.mktemp("profile"))) as opened:
        yield opened


@pytest.fixture(scope="session")
def exported(site, checkpoints):
    """A function of a head, or of the folder of a checkpoint, and settings, to the path of its export in the site."""
    made = {}

    def export(source, precision="float32", **settings) -> Path:
        key = (source, precision, repr(settings))
        if key not in made:
            folder = site / f"export{len(made)}"
            source = checkpoints.get(source, source)
            asked = {"init_checkpoint": source, "output_dir": str(folder), "format": "onnx", "precision": precision}
            export_model(ModelExportSettings(**asked, **settings))
            made[key] = folder
        return made[key]

    return export


@pytest.fixture
def page(browser, address):
    """A function that opens the page for an export, and returns it once the model is ready."""

    def opened(folder):
        show(browser, address, folder)
        browser.wait("!document.getElementById('form').hidden")
        return browser

    return opened


def show(browser, address, folder):
    browser.open(f"{address}?model={folder if isinstance(folder, str) else folder.name}")
    browser.wait("document.getElementById('status')?.textContent.endsWith('…') === false")


def status(browser):
    return browser.evaluate("document.getElementById('status').textContent")


def call(page, folder, body):
    """The value of JavaScript that has the export as `model`."""
    opening = f"const {{ openModel }} = await import('./albert.js'); const model = await openModel('{folder.name}');"
    return page.evaluate(f"(async () => {{ {opening} {body} }})()")


def asked(page, **fields):
    """The text of the answer to what is written into the fields."""
    for name, value in fields.items():
        page.evaluate(f"document.getElementById('{name}').value = {json.dumps(value)}")
    page.evaluate("document.getElementById('text').focus()")
    page.press("Enter", modifiers=2)
    page.wait("document.getElementById('ask').disabled === false")
    return page.evaluate("document.getElementById('answer').innerText")
