"""The examples in README.md, BUILD.md, the demo and --help: the Python block runs, and every command line parses."""

import ast
import importlib
import re
import shlex
from pathlib import Path

import pytest
from absl import flags

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = [
    path.relative_to(ROOT).as_posix() for part in ("albert_tf", "data_prep") for path in (ROOT / part).glob("*.py")
]
FILES = ("README.md", "BUILD.md", "demo/run_demo.sh", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
FILES += tuple(sorted(path for path in COMMANDS if "define_flags" in (ROOT / path).read_text()))


def blocks(text, language):
    """The fenced blocks of a language in a Markdown text."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def command_lines(name):
    """[command, arguments...] of every command of ours in the shell blocks of a file, or in a script."""
    text = (ROOT / name).read_text()
    if name.endswith(".py"):
        script = ast.get_docstring(ast.parse(text))
    else:
        script = "\n".join(blocks(text, "sh")) if name.endswith(".md") else text
    found = []
    for line in script.replace("\\\n", " ").splitlines():
        # In the text of a docstring an apostrophe opens nothing.
        words = [] if name.endswith(".py") and not re.match(r" *\w+ -", line) else shlex.split(line, comments=True)
        words = words[1:] if words[:1] == ["run"] else words
        module = next((path for path in ROOT.glob(f"*/{words[0]}.py")), None) if words else None
        if module and module.parent.name in ("albert_tf", "data_prep"):
            found.append([f"{module.parent.name}.{module.stem}", *words[1:]])
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_flags_of_every_command_line_exist(name):
    for command, *arguments in command_lines(name):
        values = flags.FlagValues()
        importlib.import_module(command).define_flags(values)
        flags.DEFINE_string("flagfile", None, "As absl defines it for a program.", flag_values=values)
        # A value that the shell would put in stands for itself, unless its flag is not a string.
        plain = [word for word in arguments if not re.search(r"=\$|^\$|\[@\]", word)]
        values([command, *plain])
        for word in arguments:
            if match := re.match(r"--(\w+)=\$", word):
                assert match[1] in values, f"{command} has no flag --{match[1]}"


def test_command_lines_are_found():
    assert len(command_lines("README.md")) >= 9
    assert {line[0] for line in command_lines("demo/run_demo.sh")} <= {
        line[0] for line in command_lines("README.md")
    } | {"data_prep.collect_docstrings"}


def test_the_python_example_runs_and_gives_the_shapes_it_names(monkeypatch):
    monkeypatch.chdir(ROOT)
    (example,) = blocks((ROOT / "README.md").read_text(), "python")
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    shapes = re.findall(r"^(outputs.*)\.shape  # (\([\d, ]+\))", example, flags=re.MULTILINE)
    assert len(shapes) == 3
    for expression, shape in shapes:
        assert str(tuple(eval(expression, names).shape)) == shape
