"""Counts word embeddings in a text, for run_pretraining --init_embeddings to start from.

count_embeddings --input_file=sentences.txt --spm_model_file=vocabulary.model --output_file=embeddings.npz
"""

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.vocabularies import make_tokenizer
from data_prep.text.neighbour_counts import EmbeddingCounting, count_embeddings
from data_prep.text.text_reading import TextReading

FLAGS = flags.FLAGS
# What its flags are the fields of.
SETTINGS = (EmbeddingCounting, TextReading, TextCleaning)


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    define_flags_of(EmbeddingCounting, "Input and output", flag_values, ["input_file", "output_file"])
    text = "The vocabulary (.model of sentencepiece, or vocab.txt of WordPiece)."
    flags.DEFINE_string("spm_model_file", None, text, flag_values=flag_values)
    output_paths.define_overwrite(flag_values)
    define_flags_of(EmbeddingCounting, "Counting", flag_values, ["embedding_size", "window", "max_pieces"])
    define_flags_of(TextReading, "Reading text", flag_values)
    define_flags_of(TextCleaning, "Cleaning text", flag_values)


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite, inputs=FLAGS.input_file)
    settings = EmbeddingCounting(
        tokenizer=make_tokenizer(FLAGS.spm_model_file, TextCleaning(**values_of(TextCleaning, FLAGS))),
        reading=TextReading(**values_of(TextReading, FLAGS)),
        **values_of(EmbeddingCounting, FLAGS),
    )
    read, found = count_embeddings(settings)
    logging.info(
        "%s: %d dimensions for %d of %d pieces, from %d pieces of text",
        *(settings.output_file, settings.embedding_size, found, settings.tokenizer.vocab_size, read),
    )


main = command.entry_point(__name__, _run, required=("input_file", "output_file", "spm_model_file"))

if __name__ == "__main__":
    main()
