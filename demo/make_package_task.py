"""Makes a classification task from the demo's corpus: which package is a text from?

python demo/make_package_task.py --input_file=documents.jsonl --heldout_file=heldout.jsonl --output_dir=packages

A text is a sentence or two of one paragraph. Examples to learn from come from the documents of --input_file, those to
score from --heldout_file, in equal numbers of each package. The standard library counts as one package, python.
Texts in which a name of one of the packages stands are left out, and so are those that stand more than once.
"""

import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from absl import flags, logging

from albert_tf.runtime import command, files, output_paths
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.tables import write_table
from data_prep.text.sentences import paragraphs_of_json, split_paragraph
from data_prep.text.text_files import read_lines

FLAGS = flags.FLAGS

TRAIN, DEV, SAMPLES = "train.tsv", "dev.tsv", "samples.tsv"
STANDARD_LIBRARY = "python"
# What people call the packages beside the names that they are imported by.
_OTHER_NAMES = {
    "matplotlib": ("mpl", "plt", "pyplot"),
    "numpy": ("np",),
    "pyarrow": ("arrow",),
    "scipy": ("sp",),
    "sklearn": ("scikit",),
    STANDARD_LIBRARY: ("cpython",),
    "tensorflow": ("tf",),
}
# Shorter texts say nothing, longer ones do not fit in 64 pieces.
MIN_WORDS, MAX_WORDS = 8, 40
# A package with fewer texts is no class of the task.
MIN_EXAMPLES, MIN_HELDOUT = 20, 8
# The samples are for a table on a terminal.
MAX_SAMPLE_LENGTH = 100


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this script."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("input_file", None, "The documents to learn from, as collect_docstrings writes them.", **fv)
    flags.DEFINE_string("heldout_file", None, "The documents to score on, which pre-training never saw.", **fv)
    flags.DEFINE_string("output_dir", None, f"Where {TRAIN}, {DEV} and {SAMPLES} (a few of {DEV}) go.", **fv)
    output_paths.define_overwrite(flag_values)
    flags.DEFINE_integer("num_packages", 8, "At most so many classes, those with most text.", lower_bound=2, **fv)
    flags.DEFINE_integer(
        "examples_per_package", 50, "At most so many of each package to learn from.", lower_bound=1, **fv
    )
    flags.DEFINE_integer("heldout_per_package", 100, "At most so many of each package to score.", lower_bound=1, **fv)
    flags.DEFINE_integer("sentences_per_text", 2, "At most so many sentences a text.", lower_bound=1, **fv)
    flags.DEFINE_integer("random_seed", 12345, "Seed of the draw.", **fv)


def read_texts(path: str, sentences_per_text: int) -> dict[str, list[str]]:
    """Cuts documents into texts of a few sentences.

    Args:
        path: JSONL of documents with "id": "package/file.py:line" and "paragraphs".
        sentences_per_text: at most so many sentences of one paragraph make a text.

    Returns:
        The different texts by package, in the order of the file. A text of two packages is nobody's.

    Raises:
        InputError: the file is missing, or a line of it is no such document.
    """
    package_of: dict[str, str | None] = {}
    for package, paragraphs in _read_documents(path):
        for paragraph in paragraphs:
            sentences = split_paragraph(paragraph)
            for start in range(0, len(sentences), sentences_per_text):
                text = " ".join(sentences[start : start + sentences_per_text])
                if MIN_WORDS <= len(text.split()) <= MAX_WORDS:
                    package_of[text] = package if package_of.get(text, package) == package else None
    texts: dict[str, list[str]] = {}
    for text, package in package_of.items():
        if package is not None:
            texts.setdefault(package, []).append(text)
    return texts


def _read_documents(path: str) -> Iterator[tuple[str, list[str]]]:
    for number, line in read_lines(path):
        where = f"{path}: line {number}"
        paragraphs = list(paragraphs_of_json(line, where, keep_headings=False))
        name = json.loads(line).get("id")
        if not isinstance(name, str) or not name:
            raise InputError(f'{where} has no "id"; documents of collect_docstrings have one, "package/file.py:line"')
        yield package_of_id(name), paragraphs


def package_of_id(name: str) -> str:
    """The package that a document's id names.

    >>> package_of_id("scipy/cluster/vq.py:90"), package_of_id("difflib.py:1"), package_of_id("six.py:7")
    ('scipy', 'python', 'six')
    """
    top = re.split(r"[/.:]", name, maxsplit=1)[0]
    return STANDARD_LIBRARY if top in sys.stdlib_module_names else top


def without_names(texts: list[str], packages: list[str]) -> list[str]:
    """The texts in which no word begins with a name of these packages.

    >>> without_names(["Plots a line.", "See tf.data.", "A NumPy array."], ["numpy", "tensorflow"])
    ['Plots a line.']
    """
    names = [name for package in packages for name in (package, *_OTHER_NAMES.get(package, ()))]
    pattern = re.compile(rf"(?<![a-z])(?:{'|'.join(map(re.escape, names))})", re.IGNORECASE)
    return [text for text in texts if not pattern.search(text)]


def choose_packages(train: dict[str, list[str]], heldout: dict[str, list[str]], settings) -> list[str]:
    """The packages that have the examples asked for, or come closest; of equals those with most text.

    Raises:
        InputError: fewer than two packages have text enough.
    """

    def share(package: str) -> float:
        wanted = (settings.examples_per_package, settings.heldout_per_package)
        return min(1.0, *(len(texts[package]) / count for texts, count in zip((train, heldout), wanted)))

    enough = [
        package
        for package, texts in heldout.items()
        if len(texts) >= MIN_HELDOUT and len(train.get(package, ())) >= MIN_EXAMPLES
    ]
    if len(enough) < 2:
        raise InputError(
            f"--input_file and --heldout_file: a task needs two packages with {MIN_EXAMPLES} texts to learn from and "
            f"{MIN_HELDOUT} held out; {len(enough)} of {len(train.keys() | heldout.keys())} have them; "
            "collect more text"
        )
    ranked = sorted(enough, key=lambda package: (-share(package), -len(train[package]), package))
    return sorted(ranked[: settings.num_packages])


def make_task(settings) -> dict[str, list[tuple[str, str]]]:
    """Draws the examples of the task.

    Args:
        settings: the values of the flags.

    Returns:
        (text, package) by file, TRAIN and DEV; every package has as many as every other.
    """
    train = read_texts(settings.input_file, settings.sentences_per_text)
    seen = {text for texts in train.values() for text in texts}
    heldout = {
        package: without_names([text for text in texts if text not in seen], [package])
        for package, texts in read_texts(settings.heldout_file, settings.sentences_per_text).items()
    }
    train = {package: without_names(texts, [package]) for package, texts in train.items()}
    packages = choose_packages(train, heldout, settings)
    task = {}
    wanted = {TRAIN: (train, settings.examples_per_package), DEV: (heldout, settings.heldout_per_package)}
    for name, (texts_of, count) in wanted.items():
        texts_by_package = {package: without_names(texts_of[package], packages) for package in packages}
        count = min(count, *map(len, texts_by_package.values()))
        # A generator for each package: its examples do not depend on which the others are.
        task[name] = [
            (text, package)
            for package, texts in texts_by_package.items()
            for text in random.Random(f"{settings.random_seed} {name} {package}").sample(texts, count)
        ]
        if not count:
            raise InputError(f"--num_packages: every text of one of {', '.join(packages)} names another; ask for fewer")
    return task


def samples_of(examples: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first example of each package that is short enough to be looked at, with the package in place of an id."""
    short = {package: text for text, package in reversed(examples) if len(text) <= MAX_SAMPLE_LENGTH}
    return [("id", "text"), *sorted(short.items())]


def _run() -> None:
    paths = {name: str(Path(FLAGS.output_dir, name)) for name in (TRAIN, DEV, SAMPLES)}
    output_paths.check_outputs([("output_dir", path) for path in paths.values()], FLAGS.overwrite)
    task = make_task(FLAGS)
    files.make_folder(FLAGS.output_dir)
    for name, examples in task.items():
        write_table(paths[name], [("text", "label"), *examples])
    # Last: where it stands, the others do.
    write_table(paths[SAMPLES], samples_of(task[DEV]))
    packages = sorted({package for _, package in task[DEV]})
    logging.info(
        "%s: %d packages (%s), %d texts of each to learn from, %d held out",
        *(FLAGS.output_dir, len(packages), ", ".join(packages)),
        *(len(examples) // len(packages) for examples in task.values()),
    )


main = command.entry_point(__name__, _run, required=("input_file", "heldout_file", "output_dir"))

if __name__ == "__main__":
    main()
