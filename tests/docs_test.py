"""The site of `make docs`: its pages against the documents, its reference against the public names.

`make docs` itself checks every link; what is here needs no Sphinx.
"""

import ast
import doctest
import re
import sys
from pathlib import Path

from loading import load_module

import albert_tf

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "configs/README.md", *ROOT.glob("models/*/README.md"))
)


def contents():
    """The pages that docs/conf.py names, without the benchmarks, which it lists by itself."""
    for node in ast.parse((ROOT / "docs/conf.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CONTENTS":
            texts = [part.value for value in node.value.values for part in ast.walk(value) if hasattr(part, "value")]
            return [re.sub(r".*<(.*)>", r"\1", text) for text in texts if isinstance(text, str)]
    raise AssertionError("docs/conf.py has no CONTENTS")


def reference():
    """{name: the page of docs/api that has its docstring}, names with all their modules."""
    found = {}
    for page in sorted((ROOT / "docs/api").glob("*.rst")):
        for name in re.findall(r"^\.\. auto\w+:: (\S+)$", page.read_text(), flags=re.MULTILINE):
            assert name not in found, f"{name} stands twice, in {found[name]} and in {page.name}"
            found[name] = page.name
    return found


def imported_names():
    """{name: a document that imports it}, of names of albert_tf with all their modules."""
    found = {}
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and node.module.startswith("albert_tf"):
                    found |= {f"{node.module}.{alias.name}": path.name for alias in node.names}
    return found


def top(name):
    """A name as it is at the top of the package."""
    return f"albert_tf.{name.split('.')[-1]}"


def test_every_document_is_a_page():
    pages = [path.relative_to(ROOT).with_suffix("").as_posix() for path in DOCUMENTS]
    wanted = sorted(page for page in pages if not page.startswith("docs/benchmarks/"))
    listed = ["README" if page == "self" else page for page in contents()]
    assert sorted(page for page in listed if page != "docs/api/index") == wanted


def test_every_page_of_the_reference_is_in_its_index():
    pages = sorted(path.stem for path in (ROOT / "docs/api").glob("*.rst") if path.stem != "index")
    index = (ROOT / "docs/api/index.rst").read_text()
    assert sorted(re.findall(r"^   (\w+)$", index, flags=re.MULTILINE)) == pages


def test_every_public_name_is_in_the_reference():
    public = {f"albert_tf.{name}" for name in albert_tf.__all__ if name != "__version__"}
    assert sorted(public - set(reference())) == []


def test_every_name_that_a_document_imports_is_in_the_reference():
    names = imported_names()
    assert len(names) > 8
    known = {name.split(".")[-1]: name for name in reference()}
    assert [name for name in names if known.get(name.split(".")[-1]) not in (name, top(name))] == []


def test_every_name_of_the_reference_exists_and_says_what_it_is():
    for name, page in reference().items():
        *modules, last = name.split(".")
        if modules == ["albert_tf"]:
            assert last in albert_tf.__all__, page
            continue
        tree = ast.parse((ROOT / "/".join(modules)).with_suffix(".py").read_text())
        defined = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        assert ast.get_docstring(defined[last]), name


def test_a_stand_in_leaves_what_it_decorates_as_it_is():
    stand_ins = load_module(ROOT / "docs/stand_ins.py")
    finders = list(sys.meta_path)
    try:
        assert doctest.testmod(stand_ins) == (0, 3)
    finally:
        sys.meta_path[:] = finders
        sys.modules.pop("some_framework", None)
