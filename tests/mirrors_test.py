"""Every module has tests in its mirror, or in a file that mirrors.json names, with a word by which it is there.

mirrors.json: {module: [test file, word]}; the word stands in that file: the module itself, or what it is reached by.
"""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    path.relative_to(ROOT).with_suffix("").as_posix()
    for package in ("albert_tf", "data_prep")
    for path in (ROOT / package).rglob("*.py")
    if path.name != "__init__.py"
}
MIRRORED = {module for module in MODULES if (ROOT / f"tests/{module}_test.py").exists()}
ELSEWHERE = json.loads((ROOT / "tests/mirrors.json").read_text())


def test_every_module_is_tested_in_its_mirror_or_where_the_table_says():
    assert sorted(MODULES - MIRRORED - ELSEWHERE.keys()) == [], "write a test, or name it in tests/mirrors.json"
    assert sorted(ELSEWHERE.keys() - (MODULES - MIRRORED)) == [], "remove these from tests/mirrors.json"


@pytest.mark.parametrize("module", ELSEWHERE)
def test_the_file_named_has_the_word(module):
    path, word = ELSEWHERE[module]
    assert path.endswith("_test.py")
    assert word in (ROOT / path).read_text()
