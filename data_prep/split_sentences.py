"""Cuts raw text into sentences: one a line, a blank line between documents.

split_sentences --input_file='corpus/*.jsonl.xz' --output_file=sentences.txt
"""

import time

from absl import flags, logging

from albert_tf.runtime import command, flag_help, output_paths
from data_prep.text import text_flags

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flag_help.begin_group("Input and output", flag_values)
    flags.DEFINE_string(
        "input_file",
        None,
        'Comma list of files and globs: .txt; .jsonl with {"paragraphs": [...]} or {"text": "..."} on each line; '
        ".parquet with a column of text; the first two also .gz, .xz or .zst.",
        flag_values=flag_values,
    )
    flags.DEFINE_string(
        "output_file",
        None,
        "Where to write the sentences; a name in .gz, .xz or .zst is compressed.",
        flag_values=flag_values,
    )
    output_paths.define_overwrite(flag_values)
    text_flags.define_raw_text_flags(flag_values)


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite, inputs=FLAGS.input_file)
    from data_prep.text.sentence_files import SentenceSplitting, split_files
    from data_prep.text.text_reading import TextReading

    reading = TextReading(split_sentences=True, **text_flags.values_of(text_flags.RAW_READING, FLAGS))
    settings = SentenceSplitting(FLAGS.input_file, FLAGS.output_file, reading)
    started = time.monotonic()
    counts = split_files(settings)
    seconds = time.monotonic() - started
    logging.info(
        "%s: %d documents, %d sentences, %.1f MB of text at %.1f MB/s",
        *(settings.output_file, counts.documents, counts.sentences, counts.bytes / 1e6),
        counts.bytes / 1e6 / seconds,
    )


main = command.entry_point(__name__, _run, required=("input_file", "output_file"))

if __name__ == "__main__":
    main()
