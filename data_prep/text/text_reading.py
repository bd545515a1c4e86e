"""Settings for reading text files: their formats, what a document is, whether they are split into sentences."""

import dataclasses
import re
from collections.abc import Iterable
from typing import Annotated

from absl import logging

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.settings import CountOrNone, OneOf, check, described
from albert_tf.runtime.text_endings import COMPRESSED, NOT_TEXT, RAW_FORMATS

# Settings without effect on text that is split into sentences already.
_OF_RAW_TEXT = ("language", "longest_sentence", "headings", "blank_line", "text_column")
# Settings that only some formats have a use for.
_OF_FORMATS = {"headings": ("jsonl", "parquet"), "blank_line": ("text",), "text_column": ("parquet",)}
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*", re.IGNORECASE)


@described
@dataclasses.dataclass(frozen=True)
class TextReading:
    """Settings for reading files as documents of sentences."""

    input_format: Annotated[
        str, OneOf("auto", "text", "jsonl", "parquet"), "What the input is; auto: by each file's ending, else text."
    ] = "auto"
    split_sentences: Annotated[bool, "The text is raw (.txt, .jsonl, .parquet): split it into sentences."] = False
    language: Annotated[str, "Language of raw text: en, de, pt-br, zh, ..."] = "en"
    longest_sentence: Annotated[
        CountOrNone, "Cut longer sentences of raw text, at a comma or a space; characters, 0 for never."
    ] = 0
    headings: Annotated[
        str,
        OneOf("drop", "keep"),
        "Headings (lines '# ...' at the start of paragraphs of .jsonl and .parquet): leave out, or a sentence.",
    ] = "drop"
    blank_line: Annotated[str, OneOf("document", "paragraph"), "What a blank line in raw .txt ends."] = "document"
    text_column: Annotated[str, "The column of a Parquet file that holds the text."] = "text"

    def __post_init__(self):
        check(self)
        if not _LANGUAGE.fullmatch(self.language):
            raise FlagError(f"--language must be a code such as en or pt-br; received {self.language!r}")
        if not self.split_sentences:
            self._check_no_raw_text()

    def _check_no_raw_text(self) -> None:
        """Raises InputError for what says how raw text is split, which would have no effect."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in _OF_RAW_TEXT and value != field.default:
                raise FlagError(
                    f"--{field.name} is for raw text, which --split_sentences splits; give that too, or leave out "
                    f"--{field.name}. Received {value!r}"
                )

    def check_files(self, paths: Iterable[str]) -> None:
        """Sees that each file can be read as what it is, and warns of settings that none of them has a use for.

        Raises:
            InputError: as of format_of.
        """
        found = {self.format_of(path) for path in paths}
        for field in dataclasses.fields(self):
            value, formats = getattr(self, field.name), _OF_FORMATS.get(field.name)
            if formats and value != field.default and found.isdisjoint(formats):
                logging.warning(
                    "--%s=%s has no effect on files of %s: it is for %s",
                    *(field.name, value, " and ".join(sorted(found)), " and ".join(formats)),
                )

    def format_of(self, path: str) -> str:
        """text, jsonl or parquet.

        Raises:
            InputError: raw text is not to be split, or the name says that this is no text.
        """
        name = path.lower()
        for ending in COMPRESSED:
            name = name.removesuffix(ending)
        kind = self.input_format
        if kind == "auto":
            kind = next((kind for ending, kind in RAW_FORMATS.items() if name.endswith(ending)), "text")
            if kind == "text" and name.endswith(NOT_TEXT):
                raise InputError(
                    f"--input_file: {path} does not look like plain text; make .txt, .jsonl or .parquet of it, or read "
                    "it as it stands with --input_format=text"
                )
        if kind != "text" and not self.split_sentences:
            raise InputError(
                f"--input_file: {path} holds raw text; add --split_sentences, or give what split_sentences made of it"
            )
        return kind
