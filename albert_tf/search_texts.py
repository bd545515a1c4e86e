"""Finds the texts of a file that are nearest to a query, by the cosine of their vectors.

search_texts --model=DIR --texts_file=library.txt "rain until morning"          several queries may follow
search_texts --model=DIR --texts_file=library.csv --texts_column=body --input_file=queries.txt --output_file=found.jsonl
search_texts --model=DIR --texts_file=library.txt < queries

The model is whatever embed_texts takes. The vectors of the texts are made once and kept beside them, in
TEXTS_FILE.vectors.npy; when the texts or the model have changed they are made anew.
"""

from absl import flags

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.flag_help import begin_group
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.serving import model_flags, row_flags

_NAMES = ("model",)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    begin_group("Model", flag_values)
    model_flags.define_model_flags(_NAMES, flag_values)
    model_flags.define_pooling_flags(flag_values)
    begin_group("Texts", flag_values)
    formats, types = row_flags.TEXT_FORMATS, row_flags.VECTOR_TYPES
    flags.DEFINE_string("texts_file", None, "The texts that are searched.", **fv)
    flags.DEFINE_enum("texts_format", "auto", formats, "How they are read; auto: by the name, else as text.", **fv)
    flags.DEFINE_string("texts_column", None, "Their column; left out: text.", **fv)
    flags.DEFINE_string("vectors_file", None, "Where vectors are kept; left out: TEXTS_FILE.vectors.npy.", **fv)
    flags.DEFINE_enum("vector_type", types[0], types, "Numbers of a vector that is kept.", **fv)
    row_flags.define_input_flags(flag_values, "Queries", "The column of the query, as text=question.")
    formats = ("auto", "jsonl", "table")
    row_flags.define_output_flags(flag_values, "results", formats, "Results; auto: jsonl, on a terminal a table.")
    row_flags.define_carried_columns(flag_values)
    flags.DEFINE_integer("top_k", 10, "How many texts for a query.", **fv)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    row_flags.check_rows(given, texts, ("batch_size", "top_k"))
    for name in ("output_file", "vectors_file"):
        output_paths.check_not_input(given[name].value, given.texts_file, (name, "texts_file"))
    row_flags.import_for(given.model, given.num_threads)
    with quiet_stderr():
        from albert_tf.rows.input_lines import check_input
        from albert_tf.rows.kept_vectors import ENDING, open_library
        from albert_tf.rows.table_prediction import TablePrediction
        from albert_tf.rows.text_search import SearchAnswers, search_rows
        from albert_tf.serving.embedder import Embedder
    kept = given.vectors_file or given.texts_file + ENDING
    output_paths.check_not_input(given.output_file, kept, ("output_file", "vectors_file"))
    for path in filter(None, (given.input_file, given.texts_file)):
        check_input(path)
    embedder = Embedder(
        *(given.model, given.pooling),
        **{"normalize": True, "max_seq_length": given.max_seq_length, "num_threads": given.num_threads},
    )
    columns = [] if given.texts_column is None else [f"text={given.texts_column}"]
    library = TablePrediction(given.texts_file, given.texts_format, columns, batch_size=given.batch_size)
    found = open_library(embedder, library, given.vectors_file, given.vector_type)
    queries = TablePrediction(
        *(row_flags.source_of(given, texts), given.input_format, given.columns, given.output_file, given.format),
        **{name: given[name].value for name in ("output_columns", "batch_size", "overwrite")},
    )
    search_rows(SearchAnswers(embedder, found, given.top_k), queries).check("queries")


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES, "texts_file"))

if __name__ == "__main__":
    main()
