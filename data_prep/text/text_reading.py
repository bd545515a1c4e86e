"""Settings for reading text files: their formats, what a document is, whether they are split into sentences."""

import dataclasses
import re
import typing

from albert_tf.runtime.choices import check_choices
from albert_tf.runtime.errors import InputError
from data_prep.text.text_files import COMPRESSED

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]+)*", re.IGNORECASE)
# Files that hold more than text, or none: read as text, their marks and commas would be words.
_NOT_TEXT = (
    *(".csv", ".tsv", ".html", ".htm", ".xml", ".rtf", ".pdf", ".doc", ".docx", ".odt", ".epub"),
    *(".tar", ".tgz", ".zip", ".7z", ".bz2", ".arrow", ".feather", ".tfrecord", ".model"),
)
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet"}


@dataclasses.dataclass(frozen=True)
class TextReading:
    """Settings for reading files as documents of sentences; names are those of the flags of every command that
    reads text.

    Attributes:
        input_format: text, jsonl or parquet; auto: by the ending of each file, text if it is none of these.
        split_sentences: whether the text is raw and is to be split into sentences.
        language: code of the text's language, for splitting.
        headings: "drop" or "keep" the headings of JSON lines.
        blank_line: what ends at a blank line of raw text: a "document" or only a "paragraph".
        text_column: the column of a Parquet file that holds the text.
    """

    input_format: str = "auto"
    split_sentences: bool = False
    language: str = "en"
    headings: str = "drop"
    blank_line: str = "document"
    text_column: str = "text"

    CHOICES: typing.ClassVar = {
        "input_format": ("auto", "text", "jsonl", "parquet"),
        "headings": ("drop", "keep"),
        "blank_line": ("document", "paragraph"),
    }

    def __post_init__(self):
        check_choices(self)
        if not _LANGUAGE.fullmatch(self.language):
            raise InputError(f"--language must be a code such as en or pt-br; received {self.language!r}")

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
            kind = next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), "text")
            if kind == "text" and name.endswith(_NOT_TEXT):
                raise InputError(
                    f"--input_file: {path} does not look like plain text; make .txt, .jsonl or .parquet of it, or read "
                    "it as it stands with --input_format=text"
                )
        if kind != "text" and not self.split_sentences:
            raise InputError(
                f"--input_file: {path} holds raw text; add --split_sentences, or give what split_sentences made of it"
            )
        return kind
