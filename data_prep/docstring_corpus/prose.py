"""Paragraphs of plain prose, taken from the text of a docstring or a documentation file.

Code, doctests, lists of parameters, tables and drawings are left out, and the marks of reStructuredText and
Markdown are removed. What stays reads like sentences that someone wrote one after the other.
"""

import inspect
import re

# Sections whose content is a table of names, a listing or a bibliography (headings of NumPy and Google style).
_LISTING_SECTIONS = frozenset(
    (
        *("args", "arguments", "attributes", "author", "authors", "call arguments", "call signature"),
        *("call signatures", "classes", "constants", "example", "examples", "functions", "input shape"),
        *("inputs", "keyword arguments", "kwargs", "methods", "other parameters", "output shape", "outputs"),
        *("parameters", "properties", "raises", "reference", "references", "return", "returns", "see also"),
        *("usage", "usage example", "warns", "yields"),
    )
)
_PROSE_DIRECTIVES = frozenset(
    (
        *("admonition", "attention", "caution", "danger", "hint", "important", "note", "tip", "topic"),
        *("versionchanged", "warning"),
    )
)
# Words that hold English sentences together; code, data and other languages have few of them.
_FUNCTION_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "do", "does", "for", "from"),
        *("has", "have", "if", "in", "into", "is", "it", "its", "may", "must", "no", "not", "of", "on", "only"),
        *("or", "should", "so", "such", "than", "that", "the", "their", "then", "there", "these", "they"),
        *("this", "to", "was", "when", "where", "which", "will", "with", "you"),
    )
)
MIN_PARAGRAPH_WORDS = 6
_MIN_LETTERS = 0.8  # share of letters and spaces among the characters of a paragraph
_MIN_FUNCTION_WORDS = 0.2  # share of _FUNCTION_WORDS among its words
_MAX_WORD_LENGTH = 40  # characters

_UNDERLINE = re.compile(r"^([=\-~^\"'*+#`.])\1{2,}$")
_HEADER = re.compile(r"^([A-Z][\w ]*):$")
_FIELD = re.compile(r"^(:\w[^:`]*:(\s|$)|@(param|return|type|raises?|throws?)\b)")
_DIRECTIVE = re.compile(r"^\.\. +(?:([\w-]+)::)?")
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,2}[.)]|\(\w\))\s+(?=\S)")
_MARKUP = (
    (re.compile(r":[\w:+-]+:`~[\w.]*?(\w+)`"), r"\1"),  # :class:`~package.Name`
    (re.compile(r":[\w:+-]+:`([^`<]+?)(?:\s*<[^`]*>)?`"), r"\1"),  # :role:`text <target>`
    (re.compile(r"`([^`<]+?)\s*<[^`]*>`__?"), r"\1"),  # `text <url>`_
    (re.compile(r"!?\[([^\[\]]+)\]\([^)\s]*\)"), r"\1"),  # [text](url)
    (re.compile(r"\s*\[[\w#*]+\]_"), ""),  # [1]_
    (re.compile(r"`+([^`]*)`+_?"), r"\1"),
    (re.compile(r"\*{1,3}(\S(?:[^*]*?\S)?)\*{1,3}"), r"\1"),
    (re.compile(r"<(/?\w+)>"), ""),  # <b>
    (re.compile(r"[\\@](?:a|b|c|e|p|brief|param|returns?|ref) "), ""),  # \a name, in Doxygen's comments
    (re.compile(r"\s+"), " "),
)
_WORD = re.compile(r"[A-Za-z']+")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*(?=\s|$)")


def prose_paragraphs(text: str) -> list[str]:
    """The paragraphs of prose in a marked-up text, each on one line, in their order.

    Args:
        text: a docstring as it stands in the source, or the content of a documentation file.

    Returns:
        Paragraphs without line breaks. Empty if the text has no prose.
    """
    paragraphs = (_remove_markup(lines) for lines in _blocks(inspect.cleandoc(text.expandtabs()).splitlines()))
    return [paragraph for paragraph in paragraphs if is_prose(paragraph)]


def count_sentences(text: str) -> int:
    """The number of sentence ends in the text; good enough to tell a remark from an explanation."""
    return len(_SENTENCE_END.findall(text))


def is_prose(paragraph: str) -> bool:
    """Tells whether the paragraph reads like English sentences rather than code, names, figures or a drawing."""
    words = paragraph.split()
    if len(words) < MIN_PARAGRAPH_WORDS or "://" in paragraph or max(map(len, words)) > _MAX_WORD_LENGTH:
        return False
    if not re.match(r"[\"'(]?\w", paragraph) or not re.search(r"[.!?:][\"')]*$", paragraph):
        return False
    letters = sum(character.isalpha() or character == " " for character in paragraph)
    if letters < _MIN_LETTERS * len(paragraph):
        return False
    plain = _WORD.findall(paragraph.lower())
    return sum(word in _FUNCTION_WORDS for word in plain) >= _MIN_FUNCTION_WORDS * len(words)


def _remove_markup(lines: list[str]) -> str:
    # Words apart by one space: a pattern that begins with spaces would try a long run of them from every place.
    text = " ".join(" ".join(lines).split())
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    text = text.strip()
    return text[:-1] if text.endswith("::") else text


def _blocks(lines: list[str]) -> list[list[str]]:
    """Cuts the lines into paragraphs, without code, listings and headings."""
    scan = _Scan()
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        scan.read(line, following)
    scan.end_paragraph()
    return scan.blocks


class _Scan:
    """Reads a text line by line and knows what the lines before mean for this one."""

    def __init__(self):
        self.blocks: list[list[str]] = []
        self._paragraph: list[str] = []
        self._indent = 0  # of the lines of the open paragraph
        self._in_fence = False  # inside ``` ... ```
        self._in_doctest = False  # up to the next blank line
        self._in_listing = False  # up to the next underlined heading
        self._drop_deeper_than: int | None = None  # drop lines that are indented by more than this

    def read(self, line: str, following: str) -> None:
        """Takes one line.

        Args:
            line: with its indentation.
            following: the next line, stripped.
        """
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if self._drops(stripped, indent):
            return
        if stripped and _UNDERLINE.match(following) and not _UNDERLINE.match(stripped):
            self._start_section(stripped)
        elif self._in_listing:
            return
        elif not stripped or _UNDERLINE.match(stripped):
            self.end_paragraph()
        else:
            self._take(stripped, indent)

    def end_paragraph(self) -> None:
        """Closes the open paragraph; one that ends with "::" announces a block of code."""
        if not self._paragraph:
            return
        if self._paragraph[-1].endswith("::"):
            self._drop_deeper_than = self._indent
        self.blocks.append(self._paragraph)
        self._paragraph = []

    def _drops(self, stripped: str, indent: int) -> bool:
        """Tells whether the line belongs to a block of code or a listing that an earlier line, or this one, opens."""
        if stripped.startswith("```"):
            self.end_paragraph()
            one_line = stripped.count("```") > 1
            self._in_fence = not self._in_fence and not one_line
            return True
        if self._in_fence:
            return True
        if stripped.startswith(">>>"):
            self.end_paragraph()
            self._in_doctest = True
        self._in_doctest = self._in_doctest and bool(stripped)
        if self._in_doctest:
            return True
        if self._drop_deeper_than is not None and stripped:
            if indent > self._drop_deeper_than:
                return True
            self._drop_deeper_than = None
        return False

    def _start_section(self, title: str) -> None:
        self.end_paragraph()
        self._in_listing = title.rstrip(":").lower() in _LISTING_SECTIONS

    def _take(self, stripped: str, indent: int) -> None:
        """Adds a line of text to the open paragraph, or opens a new one."""
        directive = _DIRECTIVE.match(stripped)
        header = _HEADER.match(stripped)
        listing = header and header.group(1).lower() in _LISTING_SECTIONS
        if directive or listing or _FIELD.match(stripped):
            self.end_paragraph()
            if not (directive and directive.group(1) in _PROSE_DIRECTIVES):
                self._drop_deeper_than = indent
            return
        bullet = _BULLET.match(stripped)
        if bullet or (self._paragraph and indent != self._indent):
            self.end_paragraph()
            if self._drop_deeper_than is not None and indent > self._drop_deeper_than:
                return
        if not self._paragraph:
            self._indent = indent + (bullet.end() if bullet else 0)
        self._paragraph.append(stripped[bullet.end() :] if bullet else stripped)
