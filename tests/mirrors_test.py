"""Every module has tests in its mirror, or in a file that mirrors.json names.

mirrors.json: {module: [test file]} where that file imports the module or a name from it, or runs it as a program;
{module: [test file, reason]} where the file reaches the module through something else, which the reason says.
"""

import ast
import json
from pathlib import Path

import pytest
from loading import load_module

ROOT = Path(__file__).resolve().parents[1]
RULES = load_module(Path(__file__).with_name("import_rules.py"))
SOURCES = RULES.sources()
MODULES = {
    path.relative_to(ROOT).with_suffix("").as_posix()
    for package in ("albert_tf", "data_prep")
    for path in (ROOT / package).rglob("*.py")
    if path.name != "__init__.py"
}
MIRRORED = {module for module in MODULES if (ROOT / f"tests/{module}_test.py").exists()}
ELSEWHERE = json.loads((ROOT / "tests/mirrors.json").read_text())


def uses(source, module):
    """Tells whether a test imports a module, or has its name as one that a program is started by.

    Args:
        source: the test's Python.
        module: such as albert_tf/serving/predictor; a command at the top of a package has a name of its own.
    """
    dotted = module.replace("/", ".")
    package, name = module.split("/")[0], module.split("/")[-1]
    programs = {dotted, name} if module == f"{package}/{name}" else {dotted}
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    lines = [f"{text} " for text in texts if isinstance(text, str)]
    is_run = bool(programs & {*texts}) or any(f" -m {dotted} " in line for line in lines)
    return is_run or dotted in {item.name for item in RULES.imports_of("test", source, False, SOURCES)}


def test_every_module_is_tested_in_its_mirror_or_where_the_table_says():
    assert sorted(MODULES - MIRRORED - ELSEWHERE.keys()) == [], "write a test, or name it in tests/mirrors.json"
    assert sorted(ELSEWHERE.keys() - (MODULES - MIRRORED)) == [], "remove these from tests/mirrors.json"


@pytest.mark.parametrize("module", ELSEWHERE)
def test_the_file_named_uses_the_module_or_a_reason_says_how_it_reaches_it(module):
    path, *reasons = ELSEWHERE[module]
    assert path.endswith("_test.py")
    used = uses((ROOT / path).read_text(), module)
    if not used:
        assert len(reasons) == 1, f"{path} neither imports nor runs {module}; name a file that does, or give a reason"
        assert len(reasons[0].split()) > 2
    else:
        assert reasons == [], f"{path} uses {module}; no reason is needed"


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("from albert_tf.serving import predictor", True),
        ("def f():\n    from albert_tf.serving.predictor import Predictor", True),
        ("import albert_tf.serving.predictor as it", True),
        ('run([python, "-m", "albert_tf.serving.predictor"])', True),
        ('shell("python -m albert_tf.serving.predictor --help")', True),
        ("from albert_tf.serving import predictors", False),
        ('shell("python -m albert_tf.serving.predictors --help")', False),
        ('"predictor"  # albert_tf.serving.predictor', False),
        ("predictor = 1", False),
    ],
)
def test_a_module_is_used_by_what_imports_or_runs_it(source, used):
    assert uses(source, "albert_tf/serving/predictor") is used


def test_a_command_is_used_by_what_has_its_name():
    assert uses('run(["run_race", "--help"])', "albert_tf/run_race")
    assert not uses('name = "run_races"', "albert_tf/run_race")
