"""The texts in the sources of what is installed: strings and comments of Python, comments of C++, documentation files.

Source files are parsed, never imported.
"""

import ast
import hashlib
import importlib.util
import os
import re
import sysconfig
import warnings
from pathlib import Path

from albert_tf.runtime.errors import InputError
from data_prep.docstring_corpus.prose import prose_paragraphs

_ENDINGS = (".h", ".md", ".py", ".rst", ".txt")
# Tests say little in prose, licences say all the same, and packages of a different installation are not ours to read.
_SKIPPED_FOLDERS = frozenset(("test", "tests", "testing", "licenses", "site-packages", "dist-packages"))
_SKIPPED_NAMES = ("authors", "copying", "license", "licence", "notice", "requirements", "third_party")
_LEGAL_WORDS = ("copyright", "licensed", "warrant")
# A comment by // and a string come first: neither opens a comment by /*.
_BLOCK_COMMENT = re.compile(r"""//[^\n]*|"(?:\\.|[^"\\\n])*"|'"'|/\*(.*?)\*/""", re.DOTALL)


def installed_folders() -> tuple[str, ...]:
    """The folders of the standard library and of the installed packages of this Python."""
    paths = sysconfig.get_paths()
    return tuple(dict.fromkeys(paths[key] for key in ("stdlib", "purelib", "platlib")))


def find_sources(folders: tuple[str, ...]) -> list[tuple[str, str]]:
    """The files that may hold prose.

    Returns:
        (name relative to its folder, path), in the order of a digest of the name.

    Raises:
        InputError: one of the folders is missing.
    """
    found: dict[str, str] = {}
    for folder in folders:
        if not Path(folder).is_dir():
            raise InputError(f"--source_folder: {folder} is not a folder")
        for parent, children, names in os.walk(folder):
            children[:] = [child for child in children if child not in _SKIPPED_FOLDERS]
            for name in names:
                if name.endswith(_ENDINGS) and not name.lower().startswith(_SKIPPED_NAMES):
                    path = Path(parent, name)
                    if not path.is_file():
                        continue
                    name = path.relative_to(folder).as_posix()
                    # Of two files of one name the second has its folder's too.
                    for called in (name, f"{Path(folder).name}/{name}", path.as_posix()):
                        known = found.setdefault(called, str(path))
                        if known == str(path) or os.path.samefile(known, path):
                            break
    return sorted(found.items(), key=lambda item: (digest_of(item[0]), item[0]))


def digest_of(text: str) -> int:
    """A number of 64 bits that a text always has."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).digest()[:8], "big")


def read_documents(source: tuple[str, str]) -> list[tuple[int, list[str]]]:
    """The documents of one file.

    Args:
        source: (name, path).

    Returns:
        (line it starts at, paragraphs of prose) of each; empty for a file that cannot be read as what it seems.
    """
    name, path = source
    try:
        data = Path(path).read_bytes()
    except OSError:
        return []
    if name.endswith(".py"):
        texts = texts_of_python(data)
    elif name.endswith(".h"):
        texts = comments_of_header(data.decode("utf-8", errors="replace"))
    else:
        texts = [(1, data.decode("utf-8", errors="replace"))]
    documents = ((line, prose_paragraphs(text)) for line, text in texts)
    return [(line, paragraphs) for line, paragraphs in documents if paragraphs]


def texts_of_python(source: bytes) -> list[tuple[int, str]]:
    """The strings of several lines in a Python file, docstrings among them, and its comments of several lines.

    Returns:
        (line, text) of each in the order of the file; empty if the source is not valid Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            # By the encoding that the file declares, in lines as Python counts them: a form feed ends none.
            lines = importlib.util.decode_source(source).split("\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    texts = [(node.lineno, node.value) for node in nodes if "\n" in node.value]
    # A line of a string may look like a comment.
    inside = {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}
    comments = [line.strip() if number not in inside else "" for number, line in enumerate(lines, start=1)]
    return sorted(texts + _runs_of_comments(comments, "#", "#:! "))


def comments_of_header(source: str) -> list[tuple[int, str]]:
    """The comments of several lines in a C++ file, by // or in /* */, without licences.

    Returns:
        (line, text) of each, those of one kind first.
    """
    runs = _runs_of_comments([line.strip() for line in source.splitlines()], "//", "/!<")
    blocks, number, end = [], 1, 0
    for match in _BLOCK_COMMENT.finditer(source):
        number += source.count("\n", end, match.start())
        end = match.start()
        text = "\n".join(line.strip().lstrip("*! ") for line in (match[1] or "").splitlines())
        if "\n" in text and not _is_legal(text):
            blocks.append((number, text))
    return runs + blocks


def _runs_of_comments(lines: list[str], mark: str, marks: str) -> list[tuple[int, str]]:
    """(line, text) of each run of at least two lines that begin with the mark; `marks` are removed from their start."""
    runs: list[tuple[int, list[str]]] = []
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(mark):
            if not inside:
                runs.append((number, []))
            runs[-1][1].append(line.lstrip(marks))
        inside = line.startswith(mark)
    texts = ((number, "\n".join(run)) for number, run in runs if len(run) > 1)
    return [(number, text) for number, text in texts if not _is_legal(text)]


def _is_legal(text: str) -> bool:
    return any(word in text.lower() for word in _LEGAL_WORDS)
