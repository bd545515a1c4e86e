"""A corpus that every machine with Python has: the prose in the sources and documentation of what is installed.

A document is one docstring (or another long string: numpy and pydoc keep documentation in plain strings), one comment
of Python or of a C++ header (tensorflow installs thousands), or one documentation file: sentences in the order in which
their author wrote them, which is what the sentence-order task needs.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

from albert_tf.runtime import files
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.runtime.progress import ByteProgress
from albert_tf.runtime.worker_pool import WorkerPool, count_cores
from data_prep.docstring_corpus.prose import count_sentences
from data_prep.docstring_corpus.sources import digest_of, find_sources, installed_folders, read_documents

MIN_DOCUMENT_WORDS = 20
MIN_DOCUMENT_SENTENCES = 2
BYTES_PER_MEGABYTE = 1_000_000
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
            raise FlagError(
                f"--heldout_every must be at least 2; received {self.heldout_every}, which leaves nothing to train on"
            )
        # So written, it refuses what is no number too.
        if not (self.max_megabytes >= 0 and self.num_workers >= 0):
            raise FlagError(
                "--max_megabytes and --num_workers must be 0 or more; "
                f"received {self.max_megabytes} and {self.num_workers}"
            )
        if self.output_file == self.heldout_output_file:
            raise FlagError(f"--output_file and --heldout_output_file are the same file, {self.output_file}")


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
            held_out = bool(settings.heldout_output_file) and digest_of(name) % settings.heldout_every == 0
            line = to_json_bytes(document) + b"\n"
            (heldout if held_out else output).write(line)
            report.heldout_documents += held_out
            report.documents += not held_out
        if not report.documents:
            raise InputError(f"no prose found under {', '.join(map(str, folders))}; name other --source_folder")
    return report


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
                new_by_digest = _new_paragraphs(paragraphs, seen)
                new = list(new_by_digest.values())
                if not _is_long_enough(new):
                    continue
                seen.update(new_by_digest)
                report.words += sum(len(text.split()) for text in new)
                report.bytes += sum(len(text.encode()) for text in new)
                yield name, {"id": f"{name}:{line}", "paragraphs": new}
            progress.advance(os.path.getsize(path))
            if report.bytes >= limit:
                return


def _read_batch(_, sources: list[tuple[str, str]]) -> list[list[tuple[int, list[str]]]]:
    return [read_documents(source) for source in sources]


def _new_paragraphs(paragraphs: list[str], seen: set[int]) -> dict[int, str]:
    """By their digests, the paragraphs that no document before had, each once."""
    new: dict[int, str] = {}
    for text in paragraphs:
        digest = digest_of(text.lower())
        if digest not in seen:
            new.setdefault(digest, text)
    return new


def _is_long_enough(paragraphs: list[str]) -> bool:
    words = sum(len(text.split()) for text in paragraphs)
    sentences = sum(count_sentences(text) for text in paragraphs)
    return words >= MIN_DOCUMENT_WORDS and sentences >= MIN_DOCUMENT_SENTENCES
