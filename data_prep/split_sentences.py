"""Cuts raw text into sentences: one a line, a blank line between documents.

split_sentences --input_file='corpus/*.jsonl.xz' --output_file=sentences.txt
"""

import time

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from data_prep.text.sentence_files import SentenceSplitting, split_files
from data_prep.text.text_reading import TextReading

FLAGS = flags.FLAGS

# All but --split_sentences, which is what the command does.
_READING = ("input_format", "language", "longest_sentence", "headings", "blank_line", "text_column")


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    define_flags_of(SentenceSplitting, "Input and output", flag_values, ["input_file", "output_file"])
    output_paths.define_overwrite(flag_values)
    define_flags_of(TextReading, "Reading text", flag_values, _READING)


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite, inputs=FLAGS.input_file)
    reading = TextReading(split_sentences=True, **values_of(TextReading, FLAGS))
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
