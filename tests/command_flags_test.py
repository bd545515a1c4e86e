"""Every command, all its flags with their defaults, and what importing it costs.

A new flag or a changed default is a decision: it is made by changing the table, command_flags.json.
"""

import ast
import functools
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from absl import flags

from albert_tf.runtime.flag_help import grouped_flags

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 120  # a command only turns flags into settings and calls one function

FLAGS_OF = json.loads((ROOT / "tests" / "command_flags.json").read_text())


def commands():
    """The commands that setup.py installs, as module names."""
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "COMMANDS":
            table = ast.literal_eval(node.value)
            return [f"{package}.{name}" for package, names in table.items() for name in names]
    raise AssertionError("setup.py has no COMMANDS")


def defined_flags(command):
    """The flags of a command, in a set of flags of its own."""
    values = flags.FlagValues()
    importlib.import_module(command).define_flags(values)
    return values


def test_the_table_lists_the_commands_that_are_installed():
    assert sorted(FLAGS_OF) == sorted(commands())


@pytest.mark.parametrize("command", FLAGS_OF)
def test_flags_and_defaults_are_those_in_the_table(command):
    values = defined_flags(command)
    assert {name: values[name].default for name in values} == FLAGS_OF[command]


@pytest.mark.parametrize("command", FLAGS_OF)
def test_every_flag_says_what_it_does_in_a_sentence(command):
    values = defined_flags(command)
    # absl adds a remark of its own to the help of a flag that may be repeated.
    helps = {name: values[name].help.split(";\n    repeat")[0] for name in values}
    assert [name for name, text in helps.items() if not text.endswith(".")] == []


@pytest.mark.parametrize("command", FLAGS_OF)
def test_a_command_is_a_thin_script_that_says_what_it_is(command):
    module = importlib.import_module(command)
    lines = Path(module.__file__).read_text().splitlines()
    assert module.__doc__
    assert len(lines) <= MAX_LINES
    assert lines[-2:] == ['if __name__ == "__main__":', "    main()"]


@functools.cache
def _help(*command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("command", FLAGS_OF)
def test_help_lists_every_flag_in_a_group_with_its_default_and_an_example(command):
    done = _help(sys.executable, "-m", command)
    assert (done.returncode, done.stderr) == (0, "")
    name, values = command.split(".")[1], defined_flags(command)
    description = importlib.import_module(command).__doc__.strip()
    usage, found, text = done.stdout.partition(description)
    assert usage.startswith(f"usage: {name} [--flag=value ...]")
    assert found
    listed = re.findall(r"^  --(?:\[no\])?(\w+)", text, flags=re.MULTILINE)
    assert sorted(listed) == sorted(flag for flag in values if values[flag].name == flag)
    flat = " ".join(text.split())
    for flag in listed:
        default = values[flag].default
        if default not in (None, "", []):
            default = str(default).lower() if isinstance(default, bool) else default
            assert re.search(rf"--(\[no\])?{flag}\b[^-]?.*? Default: {re.escape(str(default))}\.", flat)
    groups = grouped_flags(values)
    assert max(map(len, groups.values())) <= 16
    assert len(values) < 12 or len(groups) > 1
    assert re.search(rf"^ *{name} (-|\")", description, flags=re.MULTILINE), "the docstring has no example"


@pytest.mark.parametrize("command", FLAGS_OF)
def test_flags_that_help_calls_required_are_missed(command):
    text = _help(sys.executable, "-m", command).stdout
    listed = re.findall(r"^  --(\w+)=?\S*\s+\((this or|required)", text, flags=re.MULTILINE)
    required = [flag for flag, _ in listed]
    assert required
    done = subprocess.run([sys.executable, "-m", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert sorted(re.findall(r"--(\w+)", line.split(" must be given")[0])) == sorted(required)


def test_a_console_script_has_the_same_help():
    command = "albert_tf.run_evaluation"
    script = "import sys; sys.argv[0] = '/bin/run_evaluation'; from albert_tf.run_evaluation import main; main()"
    assert _help(sys.executable, "-c", script).stdout == _help(sys.executable, "-m", command).stdout


@pytest.mark.parametrize("flag", ["-h", "-?", "--helpshort", "--helpfull", "--helpxml"])
def test_every_form_of_help_is_a_success(flag):
    arguments = [sys.executable, "-m", "albert_tf.plot_training", flag]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "output_dir" in done.stdout


def test_importing_the_commands_imports_no_framework():
    program = (
        "import importlib, sys\n"
        f"for name in {commands()!r}:\n"
        "    importlib.import_module(name)\n"
        "heavy = {'tensorflow', 'keras', 'jax', 'torch', 'matplotlib', 'tensorflow_text'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.flags")), ids=lambda path: path.stem)
def test_a_flag_file_names_flags_that_exist_and_says_where_it_is_from(path):
    command = f"run_{path.parent.name}"
    values = defined_flags(f"albert_tf.{command}")
    flags.DEFINE_string("flagfile", None, "As absl defines it for a program.", flag_values=values)
    values([command, *(line for line in path.read_text().splitlines() if line.startswith("--"))])
    header = [line for line in path.read_text().splitlines() if line.startswith("#")]
    for word in ("Source:", "Command:", "Hardware:", "Expected result:"):
        assert any(word in line for line in header), f"{path.name} does not say {word}"
    assert any(f"--flagfile=configs/{path.parent.name}/{path.name}" in line for line in header)
    if values.albert_config_file is not None:
        assert (ROOT / values.albert_config_file).is_file()
