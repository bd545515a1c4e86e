"""The flags of the commands that read text: what the files hold, and how text is cleaned."""

from absl import flags

from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.tokenization.text_cleaning import TextCleaning
from data_prep.text.text_reading import TextReading

# Their titles in --help.
READING_GROUP, CLEANING_GROUP = "Reading text", "Cleaning text"

_READING = {
    "input_format": "What the input is; auto: by the ending of each file.",
    "split_sentences": "The text is raw (.txt, .jsonl, .parquet): split it into sentences.",
    "language": "Language of raw text: en, de, pt-br, zh, ...",
    "headings": "Headings (paragraphs of .jsonl and .parquet that start with '# '): leave out, or a sentence.",
    "blank_line": "What a blank line in raw .txt ends.",
    "text_column": "The column of a Parquet file that holds the text.",
}
_CLEANING = {
    "do_lower_case": "Lower-case the text.",
    "keep_accents": "Keep accents and other combining characters; needed for Japanese and Indic scripts.",
    "normalization": "Unicode form of the text; NFKC suits Korean.",
    "replace_quotes": "Turn `` and '' into \".",
}


def define_reading_flags(flag_values: flags.FlagValues, splits: bool = False) -> None:
    """Declares how files are read; without --split_sentences for a command that splits in any case."""
    texts = {name: text for name, text in _READING.items() if not (splits and name == "split_sentences")}
    define_flags_of(TextReading, READING_GROUP, texts, flag_values)


def define_cleaning_flags(flag_values: flags.FlagValues) -> None:
    """Declares how text is cleaned."""
    define_flags_of(TextCleaning, CLEANING_GROUP, _CLEANING, flag_values)
