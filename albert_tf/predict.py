"""Asks a fine-tuned model about texts: for a label, a score, an answer, or tags.

predict --model=DIR "A charming film."                             several texts may follow
predict --model=DIR --input_file=texts.csv --output_file=predictions.jsonl
predict --model=DIR < texts                                        a text in each line, or a JSON object

The model is a run of run_finetuning, an export of it (a SavedModel, or ONNX or LiteRT, which need no TensorFlow), a
checkpoint, or hf://owner/name: what lies there is recognised.

Every row gives one row, in order, with its number, its columns, and the answer, or the error that kept it from one.
Columns are named as in the files that the model was trained on, or as the fields of its task: text, text_pair, ...
A file of any size goes from file to file; the same command goes on with a run that was stopped.
"""

import sys

from absl import flags

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.flag_help import begin_group
from albert_tf.serving import model_flags
from albert_tf.serving.worker_predictor import open_predictor

# The first is the flag's own name, the others are older ones.
_NAMES = ("model", "saved_model", "output_dir")
_INPUT_FORMATS = ("auto", "text", "jsonl", "tsv", "csv", "parquet", "conll", "squad")
_FORMATS = ("auto", "jsonl", "tsv", "csv", "parquet", "table")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    begin_group("Model", flag_values)
    model_flags.define_model_flags(_NAMES, flag_values)
    flags.DEFINE_integer("batch_size", 32, "Examples that are run together.", **fv)
    flags.DEFINE_integer("num_workers", 1, "Processes that answer the rows of a file, each with the model.", **fv)
    begin_group("Input", flag_values)
    flags.DEFINE_string("input_file", None, "Examples; left out: the texts given, else standard input.", **fv)
    flags.DEFINE_enum(
        "input_format", "auto", _INPUT_FORMATS, "How the input is read; auto: by its name, else as text.", **fv
    )
    flags.DEFINE_list("columns", [], "Columns of the model's fields, as text=review,text_pair=title.", **fv)
    begin_group("Output", flag_values)
    flags.DEFINE_string("output_file", None, "Where the predictions go; left out: standard output.", **fv)
    flags.DEFINE_enum(
        "format", "auto", _FORMATS, "What is written; auto: by the name, else jsonl, on a terminal a table.", **fv
    )
    flags.DEFINE_list("output_columns", None, "Columns of the input that go along; left out: all; empty: none.", **fv)
    output_paths.define_overwrite(flag_values)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    model = model_flags.model_of(given, _NAMES)
    if given.input_file is not None and texts:
        raise InputError(f"--input_file takes no further text. Received {texts[0]!r}")
    for name in ("batch_size", "num_workers"):
        if given[name].value < 1:
            raise InputError(f"--{name} must be at least 1. Received {given[name].value}.")
    output_paths.check_outputs([("output_file", given.output_file)], given.overwrite)
    output_paths.check_not_input(given.output_file, given.input_file)
    predictor = open_predictor(model, given.num_threads)
    from albert_tf.rows.table_prediction import TablePrediction, predict_rows

    source = given.input_file if given.input_file is not None else texts or sys.stdin.buffer
    names = ("input_format", "columns", "output_file", "output_columns", "batch_size", "num_workers", "num_threads")
    settings = {name: given[name].value for name in (*names, "overwrite")}
    predict_rows(predictor, TablePrediction(source, output_format=given.format, **settings)).check()


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES,))

if __name__ == "__main__":
    main()
