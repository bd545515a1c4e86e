"""The map of the tree in docs/map.md against the files under version control."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Folders that the map may name as a whole; of all others it lists every file.
AS_A_WHOLE = (
    "configs/models/",
    "configs/finetuning/",
    "configs/pretraining/",
    "configs/experiments/",
    "models/small_vectors/",
    "tests/",
    "docs/experiments/",
    "docs/api/",
    "docs/decisions/",
)
_LINE = re.compile(r"^(?P<indent> *)(?P<name>[\w./*-]+)(?P<text> {2,}\S.*)?$")


def tree_of(document):
    """The paths in the first block of docs/map.md that starts with "```tree", folders with a slash at the end.

    An indented line belongs to the folder above it. Every line but that of a folder must say what it is.
    """
    block = document.split("```tree\n", 1)[1].split("```", 1)[0]
    paths, folders = [], []
    for line in filter(str.strip, block.splitlines()):
        match = _LINE.match(line)
        assert match, f"not a line of the map: {line!r}"
        folders = [(indent, name) for indent, name in folders if indent < len(match["indent"])]
        path = "".join(name for _, name in folders) + match["name"]
        assert match["text"] or path.endswith("/"), f"{path} says nothing about itself"
        if path.endswith("/"):
            folders.append((len(match["indent"]), match["name"]))
        paths.append(path)
    return paths


def files_on_disk():
    """Files that are under version control, or would be."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, cwd=ROOT
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [path for path in listing.stdout.splitlines() if (ROOT / path).is_file()]


def differences(tree, paths):
    """(files that the map leaves out, lines of the map that name nothing)."""
    listed = [path for path in paths if not path.startswith(AS_A_WHOLE) and not path.endswith("/__init__.py")]
    missing = [path for path in listed if path not in tree]
    known = set(paths) | {f"{parent.as_posix()}/" for path in paths for parent in Path(path).parents}
    return missing, [path for path in tree if path not in known]


def test_the_map_is_the_tree():
    missing, stale = differences(tree_of((ROOT / "docs/map.md").read_text()), files_on_disk())
    assert missing == [], "add a line for each to the map in docs/map.md"
    assert stale == [], "remove these lines from the map in docs/map.md"


def test_nothing_stands_twice_in_the_map():
    tree = tree_of((ROOT / "docs/map.md").read_text())
    assert len(tree) == len(set(tree))


def test_missing_and_stale_lines_are_found():
    lines = (
        "README.md  this",
        "package/  it",
        "  a.py  one",
        "  inner/",
        "    b.py  two",
        "  gone.py  three",
        "tests/  all",
    )
    tree = tree_of("# Title\n\n```tree\n" + "\n".join(lines) + "\n```\n")
    assert tree == [
        "README.md",
        "package/",
        "package/a.py",
        "package/inner/",
        "package/inner/b.py",
        "package/gone.py",
        "tests/",
    ]
    paths = [
        "README.md",
        "package/__init__.py",
        "package/a.py",
        "package/inner/b.py",
        "package/new.py",
        "tests/x_test.py",
    ]
    assert differences(tree, paths) == (["package/new.py"], ["package/gone.py"])


def test_a_file_without_a_word_about_it_is_found():
    with pytest.raises(AssertionError, match=r"a\.py says nothing"):
        tree_of("```tree\na.py\n```\n")


def test_the_readme_stays_short():
    """A README is for a newcomer; everything else has a document of its own."""
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_what_the_map_points_at_is_there():
    rows = re.findall(r"\| \[([\w/.]+)\]\([^)]*\) \| `(\w+)` \|", (ROOT / "docs/map.md").read_text())
    assert len(rows) >= 20
    for path, name in rows:
        defined = {getattr(node, "name", None) for node in ast.parse((ROOT / path).read_text()).body}
        assert name in defined, path
