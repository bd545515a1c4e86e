"""The lists of mutants: every one still changes a file of today, into Python, and names tests that exist."""

import ast
from pathlib import Path

import pytest
from loading import load_module

ROOT = Path(__file__).resolve().parents[2]


LISTS = load_module(Path(__file__).with_name("mutant_list.py"))
MUTANTS = LISTS.read_lists()


def _code(source):
    """The code that Python runs for a source: the same for two that differ in comments or spaces."""
    return ast.dump(ast.parse(source))


def test_every_mutant_still_applies_and_is_another_program():
    faults, sources = [], {}
    for mutant in MUTANTS:
        if mutant.file not in sources:
            source = (ROOT / mutant.file).read_text()
            sources[mutant.file] = source, _code(source)
        source, code = sources[mutant.file]
        try:
            if _code(mutant.apply(source)) == code:
                faults.append(f"{mutant.where}: {mutant.name!r} changes no code")
        except (ValueError, SyntaxError) as error:
            faults.append(f"{mutant.where}: {error}")
    assert faults == [], "write these mutants of tests/mutants/*.txt for the code as it is now"


def test_every_mutant_names_tests_that_exist():
    texts, faults = {}, []
    for mutant in MUTANTS:
        for argument in mutant.tests:
            file, _, test = argument.partition("::")
            text = texts.setdefault(file, (ROOT / file).read_text() if (ROOT / file).is_file() else "")
            if not file.endswith("_test.py") or f"def {test.partition('[')[0] or 'test_'}" not in text:
                faults.append(f"{mutant.where}: {argument}")
        faults += [] if mutant.tests else [f"{mutant.where}: no tests"]
    assert faults == []


def test_there_are_enough_of_them_and_no_two_alike():
    assert len(MUTANTS) >= 120
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.name) for mutant in MUTANTS}) == len(MUTANTS)
    assert len([mutant for mutant in MUTANTS if mutant.lives]) < 0.05 * len(MUTANTS)


LIST = """# a comment
file a.py
tests a_test.py 'b_test.py::test_x[two words]'

mutant one line
- x < 1
+ x <= 1

mutant several lines, with tests of its own
- if x:
-     y()
+ if not x:
+     y()
tests c_test.py
lives: nothing
lives: tells
"""


def test_a_list_is_read():
    first, second = LISTS.parse(LIST, "list.txt")
    assert (first.name, first.file, first.old, first.new) == ("one line", "a.py", "x < 1", "x <= 1")
    assert first.tests == ["a_test.py", "b_test.py::test_x[two words]"]
    assert (second.old, second.new) == ("if x:\n    y()", "if not x:\n    y()")
    assert (second.tests, second.lives, second.where) == (["c_test.py"], "nothing tells", "list.txt:9")
    assert first.apply("while x < 1:") == "while x <= 1:"
    with pytest.raises(ValueError, match="stands 2 times in a.py"):
        first.apply("x < 1 or x < 1")
    with pytest.raises(ValueError, match="list.txt:1: not a line"):
        LISTS.parse("mutants one", "list.txt")
