"""The flags of the commands that read text: what the files hold, and how text is cleaned."""

from absl import flags

from albert_tf.runtime import flag_help

# Their titles in --help.
READING_GROUP, CLEANING_GROUP = "Reading text", "Cleaning text"

# Attributes of documents.TextReading, with the flags' defaults and help.
READING = {
    "input_format": (("auto", "text", "jsonl", "parquet"), "What the input is; auto: by the ending of each file."),
    "split_sentences": (False, "The text is raw (.txt, .jsonl, .parquet): split it into sentences."),
    "language": ("en", "Language of raw text: en, de, pt-br, zh, ..."),
    "headings": (
        ("drop", "keep"),
        "Headings (paragraphs of .jsonl and .parquet that start with '# '): leave out, or a sentence.",
    ),
    "blank_line": (("document", "paragraph"), "What a blank line in raw .txt ends."),
    "text_column": ("text", "The column of a Parquet file that holds the text."),
}
# Those of them that a command has that splits in any case.
RAW_READING = {name: entry for name, entry in READING.items() if name != "split_sentences"}
# Arguments of AlbertTokenizer, and attributes of TextCleaning.
CLEANING = {
    "do_lower_case": (True, "Lower-case the text."),
    "keep_accents": (False, "Keep accents and other combining characters; needed for Japanese and Indic scripts."),
    "normalization": (("NFKD", "NFKC"), "Unicode form of the text; NFKC suits Korean."),
}


def define_text_flags(flag_values: flags.FlagValues) -> None:
    """Defines the flags of READING and of CLEANING."""
    _define(READING_GROUP, READING, flag_values)
    _define(CLEANING_GROUP, CLEANING, flag_values)


def define_raw_text_flags(flag_values: flags.FlagValues) -> None:
    """Defines the flags of RAW_READING."""
    _define(READING_GROUP, RAW_READING, flag_values)


def _define(title: str, table: dict, flag_values: flags.FlagValues) -> None:
    flag_help.begin_group(title, flag_values)
    for name, (default, help_text) in table.items():
        if isinstance(default, tuple):
            flags.DEFINE_enum(name, default[0], default, help_text, flag_values=flag_values)
        else:
            define = flags.DEFINE_bool if isinstance(default, bool) else flags.DEFINE_string
            define(name, default, help_text, flag_values=flag_values)


def values_of(table: dict, flag_values: flags.FlagValues) -> dict:
    """The values given for the flags of READING or CLEANING, by name."""
    return {name: flag_values[name].value for name in table}
