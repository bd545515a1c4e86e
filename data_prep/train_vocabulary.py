"""Trains a sentencepiece vocabulary on sentence files, with the pieces and ids of the official one.

train_vocabulary --input_file=sentences.txt --model_prefix=vocabulary --vocab_size=30000
"""

from absl import flags, logging

from albert_tf.runtime import command, flag_help, output_paths
from albert_tf.tokenization.text_cleaning import TextCleaning
from data_prep.text import text_flags, vocabulary
from data_prep.text.text_reading import TextReading

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flag_help.begin_group("Input and output", flag_values)
    flags.DEFINE_string(
        "input_file",
        None,
        "Comma list of sentence files and globs, as split_sentences writes them; or of raw text.",
        flag_values=flag_values,
    )
    flags.DEFINE_string("model_prefix", None, "Where to write: PREFIX.model and PREFIX.vocab.", flag_values=flag_values)
    output_paths.define_overwrite(flag_values)
    flag_help.begin_group("Training", flag_values)
    flags.DEFINE_integer("vocab_size", 30_000, "Number of pieces, special ones among them.", flag_values=flag_values)
    flags.DEFINE_float(
        "character_coverage",
        0.99995,
        "Share of the corpus's characters that get pieces, 0.98 to 1.",
        flag_values=flag_values,
    )
    flags.DEFINE_integer(
        "input_sentence_size",
        10_000_000,
        "Train on a random sample of this many sentences if there are more.",
        flag_values=flag_values,
    )
    text_flags.define_text_flags(flag_values)


def _run() -> None:
    written = [("model_prefix", f"{FLAGS.model_prefix}{ending}") for ending in (".model", ".vocab")]
    output_paths.check_outputs(written, FLAGS.overwrite, inputs=FLAGS.input_file)
    settings = vocabulary.VocabularyTraining(
        input_file=FLAGS.input_file,
        model_prefix=FLAGS.model_prefix,
        vocab_size=FLAGS.vocab_size,
        character_coverage=FLAGS.character_coverage,
        input_sentence_size=FLAGS.input_sentence_size,
        cleaning=TextCleaning(**text_flags.values_of(text_flags.CLEANING, FLAGS)),
        reading=TextReading(**text_flags.values_of(text_flags.READING, FLAGS)),
    )
    sentences = vocabulary.train(settings)
    logging.info("%s.model: %d pieces from %d sentences", settings.model_prefix, settings.vocab_size, sentences)


main = command.entry_point(__name__, _run, required=("input_file", "model_prefix"))

if __name__ == "__main__":
    main()
