"""The examples in the documents, the demo and --help: Python compiles, JSON parses, commands and their flags exist.

README's Python runs here; that of docs/python.md in tests/albert_tf/door_test.py.
"""

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from absl import flags
from loading import load_module

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = tuple(
    path.relative_to(ROOT).as_posix()
    for path in (
        *sorted(ROOT.glob("*.md")),
        ROOT / "configs/README.md",
        *sorted(ROOT.glob("docs/*.md")),
        *sorted(ROOT.glob("models/*/README.md")),
    )
)
# Folders whose scripts a checkout has, and no installed package.
OF_CHECKOUT = ("demo", "models")
SCRIPTS = sorted(
    path.relative_to(ROOT).as_posix()
    for part in ("albert_tf", "data_prep", *OF_CHECKOUT)
    for path in (ROOT / part).glob("*.py")
    if "define_flags" in path.read_text()
)
FILES = (*DOCUMENTS, "demo/run_demo.sh", *SCRIPTS)
# What blocks may be: those whose content is checked, and those that are no code of ours.
LANGUAGES = {"sh", "bash", "python", "js", "json", "ini", "yaml", "mermaid", "tree", "dockerfile", ""}
SHELLS = ("sh", "bash")
# Commands that a shell has, or the machine: of Python, of Slurm, of the network, of Google Cloud, of other servers.
SHELL_WORDS = {"bash", "case", "code", "esac", "exec", "exit", "export", "make", "pip", "printf", "python"}
SHELL_WORDS |= {"npm", "scontrol", "srun", "curl", "gcloud", "hf", "tar", "mkdir", "cp", "docker"}
SHELL_WORDS |= {"tensorflow_model_server"}
_SEPARATOR = re.compile(r"[();<>|&\n]+")


def blocks(text, language):
    """The fenced blocks of a language in a Markdown text."""
    return [code for name, code in fenced(text) if name == language]


def fenced(text):
    """(language, code) of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def statements(script):
    """The words of every command of a shell script, pipes and substitutions taken apart."""
    script = re.sub(r"(^|\s)#.*", r"\1", script.replace("\\\n", " "))
    # The patterns of a case are no commands, and a file that is read or written is none.
    script = re.sub(r"\bcase .*? in [^)]*\)", "", script)
    script = re.sub(r"\d?[<>]+ *[\w./-]+", " ", script)
    reader = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    reader.whitespace, reader.whitespace_split, reader.commenters = " \t", True, ""
    found, words = [], []
    for word in [*reader, ";"]:
        if _SEPARATOR.fullmatch(word):
            found += [words] if words else []
            words = []
        elif words or not re.match(r"\w+=", word):
            words.append(word)
    return found


def script_of(words):
    """(the file of ours that a command runs, its arguments), or None: by its name, as a module, or as a file."""
    if words[:2] == ["python", "-m"]:
        path, arguments = words[2].replace(".", "/") + ".py", words[3:]
    elif words[0] == "python":
        path, arguments = words[1], words[2:]
    else:
        known = [path for path in SCRIPTS if Path(path).stem == words[0] and not path.startswith(OF_CHECKOUT)]
        path, arguments = (known[0] if known else ""), words[1:]
    return (path, arguments) if path in SCRIPTS else None


def flags_of(path):
    """The flags of a command of ours."""
    if path.startswith(OF_CHECKOUT):
        module = load_module(ROOT / path)
    else:
        module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    values = flags.FlagValues()
    module.define_flags(values)
    flags.DEFINE_string("flagfile", None, "As absl defines it for a program.", flag_values=values)
    return values


def command_lines(name):
    """(file, arguments) of every command of ours in the shell blocks of a document, in a script, in a docstring."""
    text = (ROOT / name).read_text()
    if name.endswith(".md"):
        found = [words for language, code in fenced(text) if language in SHELLS for words in statements(code)]
        return [line for words in found if (line := script_of(words))]
    if name.endswith(".py"):
        text = ast.get_docstring(ast.parse(text))
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        # In the text of a docstring an apostrophe opens nothing.
        words = [] if name.endswith(".py") and not re.match(r" *\w+ -", line) else shlex.split(line, comments=True)
        words = words[1:] if words[:1] == ["run"] else words
        found += [words] if words else []
    return [line for words in found if (line := script_of(words))]


def mentioned_flags(name):
    """(file of a command, flag) of a document's words: `command --flag` in the prose, in units, in other blocks."""
    text = (ROOT / name).read_text()
    commands = {Path(path).stem: path for path in SCRIPTS}
    found = re.findall(rf"(?<![\w.-])({'|'.join(commands)})((?:\s+\[?--\w+[^\s`]*)+)", text)
    return [(commands[command], flag) for command, rest in found for flag in re.findall(r"--(\w+)", rest)]


def make_targets():
    """The targets of the Makefile."""
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("name", FILES)
def test_the_flags_of_every_command_line_exist(name):
    for path, arguments in command_lines(name):
        values = flags_of(path)
        # A value that the shell would put in stands for itself, unless its flag is not a string.
        plain = [word for word in arguments if not re.search(r"=\$|^\$|\[@\]", word)]
        values([path, *plain])
        for word in arguments:
            if match := re.match(r"--(\w+)=\$", word):
                assert match[1] in values, f"{path} has no flag --{match[1]}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_flag_that_is_named_with_its_command_exists(name):
    known = {path: flags_of(path) for path in {path for path, _ in mentioned_flags(name)}}
    missing = [
        (path, flag)
        for path, flag in mentioned_flags(name)
        if flag not in known[path] and flag.removeprefix("no") not in known[path]
    ]
    assert missing == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_command_of_a_shell_block_exists(name):
    text = (ROOT / name).read_text()
    commands = SHELL_WORDS | {Path(path).stem for path in SCRIPTS if not path.startswith(OF_CHECKOUT)}
    for words in [words for language, code in fenced(text) if language in SHELLS for words in statements(code)]:
        assert words[0] in commands, words
        if words[0] == "python":
            assert script_of(words) or words[1] == "-c" or words[1:3] == ["-m", "http.server"], words
        if words[0] == "bash":
            assert words[1] == "-c", words
            assert {inner[0] for inner in statements(words[2])} <= commands, words


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_target_of_make_exists(name):
    text = (ROOT / name).read_text()
    lines = [words[1:] for code in blocks(text, "sh") for words in statements(code) if words[0] == "make"]
    lines += [code.split() for code in re.findall(r"`make ([^`]*)`", text)]
    targets = {word for words in lines for word in words if re.fullmatch(r"[a-z][\w-]*", word)}
    assert targets <= make_targets()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_python_blocks_compile_and_json_blocks_parse(name):
    text = (ROOT / name).read_text()
    assert {language for language, _ in fenced(text)} <= LANGUAGES
    # Every fence is closed, so that no block is overlooked.
    assert text.count("\n```") + text.startswith("```") == 2 * len(fenced(text))
    for code in blocks(text, "python"):
        compile(code, name, "exec")
    for code in blocks(text, "json"):
        lines = code.splitlines() if code.startswith("{") and code.count("\n{") else [code]
        for line in lines:
            json.loads(line)


def test_command_lines_are_found():
    assert len(command_lines("README.md")) >= 9
    assert {path for path, _ in command_lines("demo/run_demo.sh")} <= {
        path for path, _ in command_lines("README.md")
    } | {"data_prep/collect_docstrings.py", "demo/make_package_task.py", "demo/compare_with_bag_of_words.py"}
    assert {path for path, _ in command_lines("docs/official.md")} == {"albert_tf/run_classifier.py"}
    assert ("albert_tf/run_pretraining.py", "flagfile") in mentioned_flags("docs/operations.md")


def test_a_script_is_taken_apart_into_commands():
    script = "# one\nA=1 x --a='b; c' < in > out | y  # two\nz=$(w \\\n  v); case $q in 1|2) u ;; esac\n"
    assert statements(script) == [["x", "--a=b; c"], ["y"], ["w", "v"], ["u"], ["esac"]]


def test_the_python_example_runs_and_gives_the_shapes_it_names(monkeypatch):
    monkeypatch.chdir(ROOT)
    (example,) = blocks((ROOT / "README.md").read_text(), "python")
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    shapes = re.findall(r"^(outputs.*)\.shape  # (\([\d, ]+\))", example, flags=re.MULTILINE)
    assert len(shapes) == 3
    for expression, shape in shapes:
        assert str(tuple(eval(expression, names).shape)) == shape
