"""Settings of Sphinx for `make docs`: the Markdown files, as they are, and a reference read from the docstrings.

The source folder is the root of the repository, so that every link between documents holds as it is written.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import inspect

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import stand_ins  # noqa: E402 (they lie in the folders named above)

import albert_tf  # noqa: E402

# None is needed to read signatures and docstrings, and they take long to load. A class of Keras would also hide the
# arguments of its subclasses behind its own __new__(*args, **kwargs).
stand_ins.install("jax", "keras", "tensorflow", "tensorflow_text")

BENCHMARKS = [f"docs/benchmarks/{path.stem}" for path in (ROOT / "docs/benchmarks").glob("*.md")]
# The pages, in the order in which a user's questions come; "self" is README.md, which holds this table of contents.
CONTENTS = {
    "Using it": (
        *("Start here <self>", "BUILD", "docs/data", "docs/training", "docs/finetuning", "docs/serving"),
        *("docs/server", "docs/published", "docs/conversion", "docs/python", "docs/analysis", "docs/operations"),
        *("docs/scaling", "docs/experiments", "docs/paper", "docs/embeddings", "docs/languages"),
    ),
    "Reference": (
        *("docs/api/index", "docs/official", "docs/tokenization", "docs/tasks", "configs/README"),
        "models/small_vectors/README",
    ),
    "How it is made": ("docs/architecture", "docs/map", "docs/mutants", "CONTRIBUTING", "CHANGELOG"),
    # The newest first.
    "Measured": (*sorted(BENCHMARKS, reverse=True), "docs/experiments/LOG"),
}

project = "albert_tf"
version = release = albert_tf.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.mermaid",
]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "docs/api/*.rst", "configs/README.md", "models/*/README.md"]
exclude_patterns = [".*", "docs/_build", "demo_output", "build", "dist", "albert_tf", "data_prep", "tests", "**/.*"]

# The documents are GitHub's Markdown: none of MyST's own syntax, and GitHub's names of headings. A drawing is made by
# the reader's browser with Mermaid from the network, as on GitHub; without a network its text stands there.
myst_disable_syntax = ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 6
# The tables of benchmarks, kept as they were written, leave out the second level.
suppress_warnings = ["myst.header"]

default_role = "code"
smartquotes = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"albert_tf {release}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False

# Where a link to a file that is no page leads, https://github.com/OWNER/albert_tf/blob/main for example. Without it
# the file is named, and there is no link.
SOURCE_URL = os.environ.get("DOCS_SOURCE_URL", "").rstrip("/")


def add_contents(app, docname, source):
    """Appends the table of contents to the first page, which on GitHub has none."""
    if docname == root_doc:
        for caption, pages in CONTENTS.items():
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


class SourceLinks(SphinxTransform):
    """Links to files and folders of the repository that are no pages: into the repository, or the name alone."""

    default_priority = 5

    def apply(self, **kwargs):
        """Replaces what the Markdown parser made of them; a figure stays, and is copied into the site."""
        for node in list(self.document.findall(addnodes.download_reference)):
            if not node["reftarget"].endswith(".png"):
                self._replace(node)
        for node in list(self.document.findall(addnodes.pending_xref)):
            # The parser knows the domain of links to pages; an empty one is a folder, or leads nowhere.
            if node.get("reftype") == "myst" and node.get("refdomain") is None:
                self._replace(node)

    def _replace(self, node):
        path = (ROOT / self.env.docname).parent / node["reftarget"]
        if not path.exists():
            return
        name = path.resolve().relative_to(ROOT).as_posix()
        if SOURCE_URL:
            node.replace_self(nodes.reference("", "", *node.children, refuri=f"{SOURCE_URL}/{name}"))
        elif name.endswith(node.astext()):
            node.replace_self(nodes.literal(name, name))
        else:
            node.replace_self([*node.children, nodes.Text(" ("), nodes.literal(name, name), nodes.Text(")")])


def show_arguments(app, what, name, obj, options, signature, returned):
    """Shows the arguments of a class's __init__ where its __new__ only passes them on."""
    if what == "class" and signature == "(*args, **kwargs)":
        return inspect.stringify_signature(inspect.signature(obj.__init__, bound_method=True)), returned
    # A default that is made for each object has no text that could be read as Python.
    return signature and signature.replace("<factory>", "..."), returned


def prepare_sections(app, what, name, obj, options, lines):
    """Writes two things as napoleon, which reads the sections next, takes them: words, not types or names."""
    section = ""
    for place, line in enumerate(lines):
        if re.fullmatch(r" *[A-Z]\w+:", line):
            section = line.strip()
        elif section == "Returns:" and lines[place - 1].strip() == section:
            # The colon of `{"logits": float32 [B, C]}` ends no type.
            lines[place] = re.sub(r"^( *)", r"\1: ", line)
        elif section == "Attributes:" and (names := re.match(r" *\w+(, \w+)+:", line)):
            # With a space the first of several names would be a type.
            lines[place] = names[0].replace(", ", ",") + line[names.end() :]


def draw_dashes(app, doctree):
    """Sets a dash between an argument and what it is; a dash of two signs elsewhere is a flag's, and stays."""
    for node in list(doctree.findall(nodes.Text)):
        if node == " -- ":
            node.parent.replace(node, nodes.Text(" – "))


def add_index(app, exception):
    """Gives the first page the name that a web server looks for."""
    if exception is None and app.builder.name == "html":
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app):
    """Connects the functions above; "tree" is what docs/map.md calls its block of plain text."""
    app.add_lexer("tree", TextLexer)
    app.add_transform(SourceLinks)
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-signature", show_arguments)
    app.connect("autodoc-process-docstring", prepare_sections, priority=400)
    app.connect("doctree-read", draw_dashes)
    app.connect("build-finished", add_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
