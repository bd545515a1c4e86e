"""Counts word embeddings in a text, for run_pretraining --init_embeddings to start from."""

from absl import flags, logging

from albert_tf import command

FLAGS = flags.FLAGS

_READING = {
    "split_sentences": (False, "The text is raw (.txt, .jsonl, .parquet): split it into sentences."),
    "language": ("en", "Language of raw text: en, de, pt-br, zh, ..."),
    "text_column": ("text", "The column of a Parquet file that holds the text."),
}
_CLEANING = {
    "do_lower_case": (True, "Lower-case the text."),
    "keep_accents": (False, "Leave accents on their letters."),
    "replace_quotes": (False, "Turn `` and '' into \"."),
}


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("input_file", None, "Comma list of sentence files and globs; or of raw text.", **fv)
    flags.DEFINE_string("output_file", None, "Where the embeddings go (.npz).", **fv)
    flags.DEFINE_string("spm_model_file", None, "The sentencepiece vocabulary (.model).", **fv)
    flags.DEFINE_integer("embedding_size", 128, "Dimensions: embedding_size of the model's config.", **fv)
    flags.DEFINE_integer("window", 5, "How far apart two pieces may stand to be neighbours, in pieces.", **fv)
    flags.DEFINE_integer("max_pieces", 50_000_000, "Stop reading there; memory grows with what is read.", **fv)
    for name, (default, help_text) in {**_READING, **_CLEANING}.items():
        define = flags.DEFINE_bool if isinstance(default, bool) else flags.DEFINE_string
        define(name, default, help_text, **fv)
    flags.DEFINE_enum("normalization", "NFKD", ["NFKD", "NFKC"], "Unicode form of the text.", **fv)


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run)


def _run() -> None:
    from albert_tf.tokenization.tokenizer import AlbertTokenizer
    from data_prep.documents import TextReading
    from data_prep.neighbour_counts import EmbeddingCounting, count_embeddings

    command.require_flags("input_file", "output_file", "spm_model_file")
    cleaning = {name: FLAGS[name].value for name in (*_CLEANING, "normalization")}
    settings = EmbeddingCounting(
        tokenizer=AlbertTokenizer(FLAGS.spm_model_file, **cleaning),
        reading=TextReading(**{name: FLAGS[name].value for name in _READING}),
        **{name: FLAGS[name].value for name in ("input_file", "output_file", "embedding_size", "window", "max_pieces")},
    )
    read, found = count_embeddings(settings)
    logging.info(
        "%s: %d dimensions for %d of %d pieces, from %d pieces of text",
        *(settings.output_file, settings.embedding_size, found, settings.tokenizer.vocab_size, read),
    )


if __name__ == "__main__":
    main()
