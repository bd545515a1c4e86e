"""Cuts raw text into sentences: one a line, a blank line between documents.

split_sentences --input_file='corpus/*.jsonl.xz' --output_file=sentences.txt
"""

import time

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from data_prep.text import sentences

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flags.DEFINE_string(
        "input_file",
        None,
        'Comma list of files and globs: .txt, or .jsonl with {"paragraphs": [...]} or {"text": "..."} on each line; '
        "either may be .gz or .xz.",
        flag_values=flag_values,
    )
    flags.DEFINE_string(
        "output_file",
        None,
        "Where to write the sentences; a name in .gz or .xz is compressed.",
        flag_values=flag_values,
    )
    output_paths.define_overwrite(flag_values)
    flags.DEFINE_enum(
        "input_format",
        "auto",
        sentences.INPUT_FORMATS,
        "What the input is; auto: by the ending of each file, of a pipe or - (standard input) text.",
        flag_values=flag_values,
    )
    flags.DEFINE_string("language", "en", "Language of the text: en, de, pt-br, zh, ...", flag_values=flag_values)
    flags.DEFINE_enum(
        "headings",
        "drop",
        sentences.HEADINGS,
        'What to do with headings (paragraphs of .jsonl that start with "# "): drop them, or keep each as a sentence.',
        flag_values=flag_values,
    )
    flags.DEFINE_enum(
        "blank_line",
        "document",
        sentences.BLANK_LINES,
        "What a blank line in a .txt file ends: a document, or only a paragraph (then a file is a document).",
        flag_values=flag_values,
    )


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, required=("input_file", "output_file"))


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite, inputs=FLAGS.input_file)
    settings = sentences.SentenceSplitting(
        input_file=FLAGS.input_file,
        output_file=FLAGS.output_file,
        language=FLAGS.language,
        headings=FLAGS.headings,
        blank_line=FLAGS.blank_line,
        input_format=FLAGS.input_format,
    )
    started = time.monotonic()
    counts = sentences.split_files(settings)
    seconds = time.monotonic() - started
    logging.info(
        "%s: %d documents, %d sentences, %.1f MB of text at %.1f MB/s",
        *(settings.output_file, counts.documents, counts.sentences, counts.bytes / 1e6),
        counts.bytes / 1e6 / seconds,
    )


if __name__ == "__main__":
    main()
