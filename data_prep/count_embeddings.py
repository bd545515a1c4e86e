"""Counts word embeddings in a text, for run_pretraining --init_embeddings to start from.

count_embeddings --input_file=sentences.txt --spm_model_file=vocabulary.model --output_file=embeddings.npz
"""

from absl import flags, logging

from albert_tf.runtime import command, flag_help, output_paths
from data_prep.text import text_flags

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Input and output", flag_values)
    flags.DEFINE_string("input_file", None, "Comma list of sentence files and globs; or of raw text.", **fv)
    flags.DEFINE_string("output_file", None, "Where the embeddings go (.npz).", **fv)
    flags.DEFINE_string("spm_model_file", None, "The sentencepiece vocabulary (.model).", **fv)
    output_paths.define_overwrite(flag_values)
    flag_help.begin_group("Counting", flag_values)
    flags.DEFINE_integer("embedding_size", 128, "Dimensions: embedding_size of the model's config.", **fv)
    flags.DEFINE_integer("window", 2, "How far apart two pieces may stand to be neighbours, in pieces.", **fv)
    flags.DEFINE_integer("max_pieces", 50_000_000, "Stop reading there; memory grows with what is read.", **fv)
    text_flags.define_text_flags(flag_values)
    flags.DEFINE_bool("replace_quotes", False, "Turn `` and '' into \".", **fv)


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite, inputs=FLAGS.input_file)
    from albert_tf.tokenization.tokenizer import AlbertTokenizer
    from data_prep.text.neighbour_counts import EmbeddingCounting, count_embeddings
    from data_prep.text.text_reading import TextReading

    cleaning = text_flags.values_of(text_flags.CLEANING, FLAGS)
    settings = EmbeddingCounting(
        tokenizer=AlbertTokenizer(FLAGS.spm_model_file, replace_quotes=FLAGS.replace_quotes, **cleaning),
        reading=TextReading(**text_flags.values_of(text_flags.READING, FLAGS)),
        **{name: FLAGS[name].value for name in ("input_file", "output_file", "embedding_size", "window", "max_pieces")},
    )
    read, found = count_embeddings(settings)
    logging.info(
        "%s: %d dimensions for %d of %d pieces, from %d pieces of text",
        *(settings.output_file, settings.embedding_size, found, settings.tokenizer.vocab_size, read),
    )


main = command.entry_point(__name__, _run, required=("input_file", "output_file", "spm_model_file"))

if __name__ == "__main__":
    main()
