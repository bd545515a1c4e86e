"""A corpus that every machine with Python has: the prose in the sources and documentation of what is installed.

Source files are parsed, never imported. A document is one docstring (or another long string: numpy and pydoc keep
documentation in plain strings), one comment of a C++ header (tensorflow installs thousands), or one documentation
file: a few sentences in the order in which their author wrote them, which is what the sentence-order task needs.
"""

import ast
import contextlib
import hashlib
import itertools
import os
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.runtime.progress import ByteProgress
from albert_tf.runtime.worker_pool import WorkerPool, count_cores
from data_prep.docstring_corpus.prose import count_sentences, prose_paragraphs

MIN_DOCUMENT_WORDS = 40
MIN_DOCUMENT_SENTENCES = 3
BYTES_PER_MEGABYTE = 1_000_000

_ENDINGS = (".h", ".md", ".py", ".rst", ".txt")
# Tests say little in prose, licences say all the same, and packages of a different installation are not ours to read.
_SKIPPED_FOLDERS = frozenset(("test", "tests", "testing", "licenses", "site-packages", "dist-packages"))
_SKIPPED_NAMES = ("authors", "copying", "license", "licence", "notice", "requirements", "third_party")
_LEGAL_WORDS = ("copyright", "licensed", "warrant")
# A string of several lines stands in triple quotes or spells its line ends.
_SIGNS_OF_LONG_STRINGS = (b'"""', b"'''", b"\\n")
_FILES_PER_TASK = 16


@dataclass(frozen=True)
class CollectionSettings:
    """Settings of a collection.

    Attributes:
        output_file: JSONL of documents, {"id": "package/file.py:line", "paragraphs": [...]}.
        heldout_output_file: where one source file in `heldout_every` goes instead; "" keeps all in output_file.
        heldout_every: see heldout_output_file. Whole source files are held out, since the texts of one file
            resemble each other.
        max_megabytes: stop when the paragraphs reach this many MB (10^6 bytes, both outputs); 0: no limit.
        source_folders: folders to search; empty: the standard library and the installed packages.
        num_workers: processes; 0: one a core. The output does not depend on it.
    """

    output_file: str
    heldout_output_file: str = ""
    heldout_every: int = 20
    max_megabytes: float = 0.0
    source_folders: tuple[str, ...] = ()
    num_workers: int = 0

    def __post_init__(self):
        if self.heldout_output_file and self.heldout_every < 2:
            raise InputError(
                f"--heldout_every must be at least 2; received {self.heldout_every}, which leaves nothing to train on"
            )
        if self.max_megabytes < 0 or self.num_workers < 0:
            raise InputError(
                "--max_megabytes and --num_workers must not be negative; "
                f"received {self.max_megabytes} and {self.num_workers}"
            )
        if self.output_file == self.heldout_output_file:
            raise InputError(f"--output_file and --heldout_output_file are the same file, {self.output_file}")


@dataclass
class CollectionReport:
    """Figures of a collection.

    Attributes:
        files: source files that were searched.
        documents: documents in output_file.
        heldout_documents: documents in heldout_output_file.
        words: words of all documents, counted between spaces.
        bytes: size of all paragraphs in UTF-8.
    """

    files: int = 0
    documents: int = 0
    heldout_documents: int = 0
    words: int = 0
    bytes: int = 0


def collect(settings: CollectionSettings) -> CollectionReport:
    """Writes the corpus.

    A paragraph that occurs more than once in the installation is kept where it occurs first, so nothing that is
    held out is also trained on. Files are taken in the order of a digest of their names: the same installation
    gives the same bytes, and a corpus cut short by `max_megabytes` is still a mixture of everything.

    Raises:
        InputError: the folders hold no prose.
    """
    folders = settings.source_folders or installed_folders()
    sources = find_sources(folders)
    report = CollectionReport()
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(files.replace_file(settings.output_file))
        heldout = output
        if settings.heldout_output_file:
            heldout = stack.enter_context(files.replace_file(settings.heldout_output_file))
        for name, document in _distinct_documents(sources, settings, report):
            held_out = bool(settings.heldout_output_file) and _digest(name) % settings.heldout_every == 0
            line = to_json_bytes(document) + b"\n"
            (heldout if held_out else output).write(line)
            report.heldout_documents += held_out
            report.documents += not held_out
        if not report.documents:
            raise InputError(f"no prose found under {', '.join(map(str, folders))}; name other --source_folder")
    return report


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
                    found.setdefault(path.relative_to(folder).as_posix(), str(path))
    return sorted(found.items(), key=lambda item: (_digest(item[0]), item[0]))


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
        texts = strings_of_python(data)
    elif name.endswith(".h"):
        texts = comments_of_header(data.decode("utf-8", errors="replace"))
    else:
        texts = [(1, data.decode("utf-8", errors="replace"))]
    documents = ((line, prose_paragraphs(text)) for line, text in texts)
    return [(line, paragraphs) for line, paragraphs in documents if paragraphs]


def strings_of_python(source: bytes) -> list[tuple[int, str]]:
    """The strings of several lines in a Python file: docstrings, and documentation kept in constants.

    Returns:
        (line, text) of each in the order of the file; empty if the source is not valid Python.
    """
    if not any(sign in source for sign in _SIGNS_OF_LONG_STRINGS):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value
    )


def comments_of_header(source: str) -> list[tuple[int, str]]:
    """The runs of // and /// comments in a C++ file, without licences.

    Returns:
        (line, text) of each run of at least two lines.
    """
    runs: list[tuple[int, list[str]]] = []
    inside = False
    for number, line in enumerate(source.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("//"):
            if not inside:
                runs.append((number, []))
            runs[-1][1].append(stripped.lstrip("/!<"))
        inside = stripped.startswith("//")
    texts = ((number, "\n".join(lines)) for number, lines in runs if len(lines) > 1)
    return [(number, text) for number, text in texts if not any(word in text.lower() for word in _LEGAL_WORDS)]


def _distinct_documents(
    sources: list[tuple[str, str]], settings: CollectionSettings, report: CollectionReport
) -> Iterator[tuple[str, dict]]:
    """Yields (name of the source, document) and counts in the report, until the limit is reached."""
    seen: set[int] = set()
    limit = settings.max_megabytes * BYTES_PER_MEGABYTE or float("inf")
    batches = [sources[start : start + _FILES_PER_TASK] for start in range(0, len(sources), _FILES_PER_TASK)]
    size = sum(os.path.getsize(path) for _, path in sources)
    workers = settings.num_workers or count_cores()
    with ByteProgress(size, "collecting") as progress, WorkerPool(workers, None) as pool:
        results = pool.map(_read_batch, ((batch,) for batch in batches))
        for (name, path), documents in zip(sources, itertools.chain.from_iterable(results)):
            report.files += 1
            for line, paragraphs in documents:
                new = [text for text in paragraphs if _is_new(text, seen)]
                if not _is_long_enough(new):
                    continue
                report.words += sum(len(text.split()) for text in new)
                report.bytes += sum(len(text.encode()) for text in new)
                yield name, {"id": f"{name}:{line}", "paragraphs": new}
            progress.advance(os.path.getsize(path))
            if report.bytes >= limit:
                return


def _read_batch(_, sources: list[tuple[str, str]]) -> list[list[tuple[int, list[str]]]]:
    return [read_documents(source) for source in sources]


def _is_new(paragraph: str, seen: set[int]) -> bool:
    digest = _digest(paragraph.lower())
    if digest in seen:
        return False
    seen.add(digest)
    return True


def _is_long_enough(paragraphs: list[str]) -> bool:
    words = sum(len(text.split()) for text in paragraphs)
    sentences = sum(count_sentences(text) for text in paragraphs)
    return words >= MIN_DOCUMENT_WORDS and sentences >= MIN_DOCUMENT_SENTENCES


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).digest()[:8], "big")
