"""Trains a sentencepiece vocabulary on sentence files, with the pieces and ids of the official one."""

from absl import flags, logging

from albert_tf import command
from albert_tf.tokenization.text_cleaning import NORMALIZATIONS, TextCleaning
from data_prep import vocabulary
from data_prep.documents import TextReading

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flags.DEFINE_string(
        "input_file",
        None,
        "Comma list of sentence files and globs, as split_sentences writes them; or of raw text.",
        flag_values=flag_values,
    )
    flags.DEFINE_string("model_prefix", None, "Where to write: PREFIX.model and PREFIX.vocab.", flag_values=flag_values)
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
    flags.DEFINE_bool(
        "split_sentences",
        False,
        "The text is raw (.txt, .jsonl, .parquet): split it into sentences.",
        flag_values=flag_values,
    )
    flags.DEFINE_string("language", "en", "Language of raw text: en, de, pt-br, zh, ...", flag_values=flag_values)
    flags.DEFINE_string(
        "text_column", "text", "The column of a Parquet file that holds the text.", flag_values=flag_values
    )
    flags.DEFINE_bool("do_lower_case", True, "Lower-case the text.", flag_values=flag_values)
    flags.DEFINE_bool(
        "keep_accents",
        False,
        "Keep accents and other combining characters; needed for Japanese and Indic scripts.",
        flag_values=flag_values,
    )
    flags.DEFINE_enum(
        "normalization",
        "NFKD",
        NORMALIZATIONS,
        "Unicode form of the text; NFKC suits Korean.",
        flag_values=flag_values,
    )


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run)


def _run() -> None:
    command.require_flags("input_file", "model_prefix")
    settings = vocabulary.VocabularyTraining(
        input_file=FLAGS.input_file,
        model_prefix=FLAGS.model_prefix,
        vocab_size=FLAGS.vocab_size,
        character_coverage=FLAGS.character_coverage,
        input_sentence_size=FLAGS.input_sentence_size,
        cleaning=TextCleaning(FLAGS.do_lower_case, FLAGS.keep_accents, FLAGS.normalization),
        reading=TextReading(
            split_sentences=FLAGS.split_sentences, language=FLAGS.language, text_column=FLAGS.text_column
        ),
    )
    sentences = vocabulary.train(settings)
    logging.info("%s.model: %d pieces from %d sentences", settings.model_prefix, settings.vocab_size, sentences)


if __name__ == "__main__":
    main()
