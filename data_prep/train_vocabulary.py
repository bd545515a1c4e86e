"""Trains a vocabulary on sentence files: of sentencepiece, with the pieces and ids of the official one, or WordPiece.

train_vocabulary --input_file=sentences.txt --model_prefix=vocabulary --vocab_size=30000
"""

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.tokenization.text_cleaning import TextCleaning
from data_prep.text.text_reading import TextReading
from data_prep.text.vocabulary import WRITTEN_ENDINGS, VocabularyTraining, train

FLAGS = flags.FLAGS
# What its flags are the fields of.
SETTINGS = (VocabularyTraining, TextReading, TextCleaning)


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    define_flags_of(VocabularyTraining, "Input and output", flag_values, ["input_file", "model_prefix"])
    output_paths.define_overwrite(flag_values)
    names = ("kind", "vocab_size", "character_coverage", "byte_fallback", "input_sentence_size")
    define_flags_of(VocabularyTraining, "Training", flag_values, names)
    define_flags_of(TextReading, "Reading text", flag_values)
    define_flags_of(TextCleaning, "Cleaning text", flag_values)


def _run() -> None:
    endings = WRITTEN_ENDINGS[FLAGS.kind]
    written = [("model_prefix", f"{FLAGS.model_prefix}{ending}") for ending in endings]
    output_paths.check_outputs(written, FLAGS.overwrite, inputs=FLAGS.input_file)
    settings = VocabularyTraining(
        **values_of(VocabularyTraining, FLAGS),
        cleaning=TextCleaning(**values_of(TextCleaning, FLAGS)),
        reading=TextReading(**values_of(TextReading, FLAGS)),
    )
    sentences = train(settings)
    path = settings.model_prefix + endings[0]
    logging.info("%s: %d pieces from %d sentences", path, settings.vocab_size, sentences)


main = command.entry_point(__name__, _run, required=("input_file", "model_prefix"))

if __name__ == "__main__":
    main()
