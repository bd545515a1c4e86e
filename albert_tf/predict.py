"""Asks a fine-tuned model about texts: for a label, a score, an answer, or tags.

predict --model=DIR "A charming film."                             several texts may follow
predict --model=DIR --input_file=texts.csv --output_file=predictions.jsonl
predict --model=DIR < texts                                        a text in each line, or a JSON object

The model is a run of run_finetuning, an export of it (a SavedModel, or ONNX or LiteRT, which need no TensorFlow), a
checkpoint, or hf://owner/name: what lies there is recognised.

Every row gives one row, in order, with its number, its columns, and the answer, or the error that kept it from one.
Columns are named as in the files that the model was trained on, or as the fields of its task: text, text_pair, ...
"""

import sys

from absl import flags

from albert_tf.runtime import command, files, output_paths
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr
from albert_tf.serving import model_flags
from albert_tf.serving.export_file import gains_by_frozen_weights
from albert_tf.serving.model_kind import PORTABLE, kind_of

# The first is the flag's own name, the others are older ones.
_NAMES = ("model", "saved_model", "output_dir")
_INPUT_FORMATS = ("auto", "text", "jsonl", "tsv", "csv", "conll", "squad")
_FORMATS = ("auto", "jsonl", "tsv", "csv", "table")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    model_flags.define_model_flags(_NAMES, flag_values)
    flags.DEFINE_string("input_file", None, "Examples; left out: the texts given, else standard input.", **fv)
    flags.DEFINE_enum(
        "input_format", "auto", _INPUT_FORMATS, "How the input is read; auto: by its name, else as text.", **fv
    )
    flags.DEFINE_string("output_file", None, "Where the predictions go; left out: standard output.", **fv)
    flags.DEFINE_enum(
        "format", "auto", _FORMATS, "What is written; auto: by the name, else jsonl, on a terminal a table.", **fv
    )
    flags.DEFINE_integer("batch_size", 32, "Examples that are run together.", **fv)
    output_paths.define_overwrite(flag_values)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    model = model_flags.model_of(given, _NAMES)
    if given.input_file is not None and texts:
        raise InputError(f"--input_file takes no further text. Received {texts[0]!r}")
    if given.batch_size < 1:
        raise InputError(f"--batch_size must be at least 1. Received {given.batch_size}.")
    output_paths.check_outputs([("output_file", given.output_file)], given.overwrite)
    if kind_of(model) != PORTABLE:
        import_tensorflow(gains_by_frozen_weights(model), log_level=3)
    with quiet_stderr():
        from albert_tf.serving.answered_rows import answer_rows, count_errors
        from albert_tf.serving.input_rows import columns_of, read_rows
        from albert_tf.serving.predictor import Predictor
        from albert_tf.serving.result_formats import (
            CSV,
            TSV,
            choose_format,
            format_results,
            to_bytes,
        )
    predictor = Predictor(model, given.num_threads)
    source = given.input_file if given.input_file is not None else texts or sys.stdin.buffer
    rows = read_rows(source, predictor.example_fields, predictor.task, given.input_format)
    file_format = choose_format(given.format, given.output_file)
    columns = ()
    if file_format in (TSV, CSV):
        # The header names the columns of all rows.
        rows = list(rows)
        columns = columns_of(rows)
    errors: list[str] = []
    results = count_errors(answer_rows(predictor, rows, given.batch_size), errors)
    lines = map(to_bytes, format_results(results, file_format, columns))
    if given.output_file is None:
        for line in lines:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    else:
        with files.replace_file(given.output_file) as file:
            file.writelines(lines)
    if errors:
        raise InputError(f"{len(errors)} rows without an answer, each with its error; the first: {errors[0]}")


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES,))

if __name__ == "__main__":
    main()
