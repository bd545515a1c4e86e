"""Trains a sentencepiece vocabulary on sentence files, with the pieces and ids of the official one.

train_vocabulary --input_file=sentences.txt --model_prefix=vocabulary --vocab_size=30000
"""

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.tokenization.text_cleaning import TextCleaning
from data_prep.text import text_flags
from data_prep.text.text_reading import TextReading
from data_prep.text.vocabulary import VocabularyTraining, train

FLAGS = flags.FLAGS

_FILES = {
    "input_file": "Comma list of sentence files and globs, as split_sentences writes them; or of raw text.",
    "model_prefix": "Where to write: PREFIX.model and PREFIX.vocab.",
}
_TRAINING = {
    "vocab_size": "Number of pieces, special ones among them.",
    "character_coverage": "Share of the corpus's characters that get pieces, 0.98 to 1.",
    "input_sentence_size": "Train on a random sample of this many sentences if there are more.",
}


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    define_flags_of(VocabularyTraining, "Input and output", _FILES, flag_values)
    output_paths.define_overwrite(flag_values)
    define_flags_of(VocabularyTraining, "Training", _TRAINING, flag_values)
    text_flags.define_reading_flags(flag_values)
    text_flags.define_cleaning_flags(flag_values)


def _run() -> None:
    written = [("model_prefix", f"{FLAGS.model_prefix}{ending}") for ending in (".model", ".vocab")]
    output_paths.check_outputs(written, FLAGS.overwrite, inputs=FLAGS.input_file)
    settings = VocabularyTraining(
        **values_of(VocabularyTraining, FLAGS),
        cleaning=TextCleaning(**values_of(TextCleaning, FLAGS)),
        reading=TextReading(**values_of(TextReading, FLAGS)),
    )
    sentences = train(settings)
    logging.info("%s.model: %d pieces from %d sentences", settings.model_prefix, settings.vocab_size, sentences)


main = command.entry_point(__name__, _run, required=("input_file", "model_prefix"))

if __name__ == "__main__":
    main()
