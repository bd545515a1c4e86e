"""Makes a vector of each text, to compare texts by, search or group them.

embed_texts --model=DIR "It rained all night."                       several texts may follow
embed_texts --model=DIR --input_file=texts.txt --output_file=vectors.npy
embed_texts --model=DIR --input_file=reviews.csv --columns=text=review --output_file=vectors.parquet
embed_texts --model=DIR < texts                                      a text in each line, or a JSON object

The model is a run, a checkpoint of any format, a folder of sentence-transformers among them, an export (a SavedModel,
or ONNX or LiteRT, which need no TensorFlow), or hf://owner/name: what lies there is recognised.

Every row gives one vector, in order. A file of any size goes from file to file; the same command goes on with a run
that was stopped.
"""

import functools

from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.flag_help import begin_group
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.serving import model_flags, row_flags

_NAMES = ("model",)
_COUNTS = ("batch_size", "num_workers")
_FORMATS = ("auto", "npy", "parquet", "jsonl")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    begin_group("Model", flag_values)
    model_flags.define_model_flags(_NAMES, flag_values)
    row_flags.define_workers(flag_values)
    model_flags.define_pooling_flags(flag_values)
    flags.DEFINE_bool("normalize", None, "Vectors have length 1; left out: as the model says, else true.", **fv)
    row_flags.define_input_flags(flag_values, "Texts", "The column of the text, as text=review.")
    help_text = "What is written; auto: by the name, else jsonl."
    row_flags.define_output_flags(flag_values, "vectors", _FORMATS, help_text)
    row_flags.define_carried_columns(flag_values)
    types = row_flags.VECTOR_TYPES
    flags.DEFINE_enum("vector_type", types[0], types, "Numbers of a vector; of int8 with a scale for each.", **fv)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    row_flags.check_rows(given, texts, _COUNTS)
    row_flags.import_for(given.model, given.num_threads)
    with quiet_stderr():
        from albert_tf.rows.table_prediction import TablePrediction
        from albert_tf.rows.vector_rows import choose_vector_format, embed_rows
        from albert_tf.serving.embedder import Embedder
    # A format that wants a file is an error before the model is loaded.
    choose_vector_format(given.format, given.output_file)
    open_model = functools.partial(
        *(Embedder, given.model, given.pooling),
        **{"normalize": given.normalize, "max_seq_length": given.max_seq_length},
    )
    asked = ("input_format", "columns", "output_file", "output_columns", *_COUNTS, "num_threads", "overwrite")
    settings = {name: given[name].value for name in asked} | {"open_model": open_model}
    wanted = TablePrediction(row_flags.source_of(given, texts), output_format=given.format, **settings)
    embed_rows(open_model(num_threads=given.num_threads), wanted, given.vector_type).check()


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES,))

if __name__ == "__main__":
    main()
