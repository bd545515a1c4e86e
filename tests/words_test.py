"""The manner of docstrings and documents: how a docstring begins, how long a document's lines are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("albert_tf", "data_prep", "demo", "models", "tests")
SOURCES = sorted(path for part in PARTS for path in (ROOT / part).rglob("*.py"))
# Tables of figures, kept as they were written.
RECORDS = ("docs/experiments/", "docs/benchmarks/")
DOCUMENTS = [
    path
    for path in sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("configs/*.md")))
    if not path.relative_to(ROOT).as_posix().startswith(RECORDS)
]
NO_BEGINNING = ("What", "Where", "Whether", "Of", "How", "Who", "Those", "Which", "When", "If")
LONGEST_LINE = 120


def docstrings(path):
    """(name, docstring) of a module, and of all that it defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_docstring_begins_with_a_verb_or_a_noun(path):
    faults = [(name, text.split("\n")[0]) for name, text in docstrings(path) if text.split()[0] in NO_BEGINNING]
    assert faults == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_lines_of_a_document_are_short(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("|")]
    assert [line for line in lines if len(line) > LONGEST_LINE] == []


def links(path):
    """The targets of a document's links into the tree."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"\w+:", target)]


def anchors(path):
    """Names that a link can give in a document: those of its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/**/*.md")) + sorted(ROOT.glob("*.md")), ids=lambda p: p.name)
def test_every_link_leads_somewhere(path):
    for target in links(path):
        name, _, anchor = target.partition("#")
        there = (path.parent / name) if name else path
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), target
