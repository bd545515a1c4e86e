"""Asks a fine-tuned model about texts: for a label, a score, an answer, or tags.

predict --model=DIR "A charming film."                             several texts may follow
predict --model=DIR --input_file=texts.csv --output_file=predictions.jsonl
predict --model=DIR < texts                                        a text in each line, or a JSON object

The model is a run of run_finetuning, an export of it (a SavedModel, or ONNX or LiteRT, which need no TensorFlow), a
checkpoint, or hf://owner/name: what lies there is recognised. Of several models of one task, with commas between, the
mean of the probabilities answers.

Every row gives one row, in order, with its number, its columns, and the answer, or the error that kept it from one.
Columns are named as in the files that the model was trained on, or as the fields of its task: text, text_pair, ...
A file of any size goes from file to file; the same command goes on with a run that was stopped.
"""

import functools

from absl import flags

from albert_tf.exports.depth import DEPTH_FLAGS, DepthSettings
from albert_tf.runtime import command
from albert_tf.runtime.flag_help import begin_group
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.serving import model_flags, row_flags

# The first is the flag's own name, the others are older ones.
_NAMES = ("model", "saved_model", "output_dir")
_COUNTS = ("batch_size", "num_workers")
_INPUT_FORMATS = (*row_flags.TEXT_FORMATS, "conll", "squad")
_FORMATS = ("auto", "jsonl", "tsv", "csv", "parquet", "table")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    begin_group("Model", flag_values)
    model_flags.define_model_flags(_NAMES, flag_values)
    row_flags.define_workers(flag_values)
    define_flags_of(DepthSettings, "Fewer layers of a checkpoint", flag_values, DEPTH_FLAGS)
    row_flags.define_input_flags(
        flag_values, "Examples", "Columns of the model's fields, as text=review,text_pair=title.", _INPUT_FORMATS
    )
    help_text = "What is written; auto: by the name, else jsonl, on a terminal a table."
    row_flags.define_output_flags(flag_values, "predictions", _FORMATS, help_text)
    row_flags.define_carried_columns(flag_values)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    model = model_flags.model_of(given, _NAMES)
    depth = DepthSettings(**values_of(DepthSettings, given))
    row_flags.check_rows(given, texts, _COUNTS)
    row_flags.import_for(model, given.num_threads)
    with quiet_stderr():
        from albert_tf.rows.table_prediction import TablePrediction, predict_rows
        from albert_tf.serving.predictor import Predictor
    names = ("input_format", "columns", "output_file", "output_columns", *_COUNTS, "num_threads", "overwrite")
    open_model = functools.partial(Predictor, model, depth=depth)
    settings = {name: given[name].value for name in names} | {"open_model": open_model}
    wanted = TablePrediction(row_flags.source_of(given, texts), output_format=given.format, **settings)
    predict_rows(Predictor(model, given.num_threads, depth), wanted).check()


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES,))

if __name__ == "__main__":
    main()
