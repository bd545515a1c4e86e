"""Fills in masked words, or judges the order of two texts.

fill_mask --model=DIR "The capital of France is [MASK]."    several texts may follow; without any, stdin is read
fill_mask --model=hf://albert/albert-base-v2 "The capital of France is [MASK]."
fill_mask --model=DIR --input_file=texts.txt --output_file=filled.jsonl
fill_mask --model=DIR --first="It rained." --second="So we stayed in."

The model is a run of run_pretraining, an export of it (a SavedModel, or ONNX or LiteRT, which need no TensorFlow), a
checkpoint, or hf:// or official:// published weights: what lies there is recognised.

Every text, and every line of a file or of stdin, gives one result, in order; one without [MASK] has an error in place
of an answer. The same command goes on with a run from file to file that was stopped.
"""

import sys

from absl import flags

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.serving import model_flags, row_flags

# The first is the flag's own name, the other an older one.
_NAMES = ("model", "saved_model")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    model_flags.define_model_flags(_NAMES, flag_values)
    flags.DEFINE_integer("top_k", 5, "How many pieces to show for each [MASK].", **fv)
    flags.DEFINE_string("input_file", None, "Texts, one a line; left out: the texts given, else stdin.", **fv)
    flags.DEFINE_string("output_file", None, "Where the results go; left out: standard output.", **fv)
    flags.DEFINE_integer("batch_size", 32, "Texts of a file that are run together.", **fv)
    flags.DEFINE_string("first", None, "With --second: print the probability that the two stand in order.", **fv)
    flags.DEFINE_string("second", None, "The text that is to follow --first.", **fv)
    flags.DEFINE_enum(
        "format", "auto", ["auto", "jsonl", "table"], "Results; auto: jsonl, on a terminal a table.", **fv
    )
    output_paths.define_overwrite(flag_values)


def _run(texts: list[str]) -> None:
    given = flags.FLAGS
    judge_order = given.first is not None or given.second is not None
    if judge_order and (given.first is None or given.second is None):
        raise FlagError("--first and --second go together; one of them is missing")
    if judge_order and (texts or given.input_file or given.output_file):
        raise FlagError("--first and --second take no further text and no file")
    row_flags.check_rows(given, texts, ("top_k", "batch_size"))
    path = model_flags.model_of(given, _NAMES)
    row_flags.import_for(path, given.num_threads)
    with quiet_stderr():
        from albert_tf.rows.mask_prediction import MaskPrediction, fill_rows
        from albert_tf.serving.fill_mask import FillMask
    model = FillMask(path, given.num_threads)
    if judge_order:
        _judge(model, given.first, given.second, given.format)
        return
    source = row_flags.source_of(given, texts)
    settings = (given.top_k, given.output_file, given.format, given.batch_size, given.overwrite)
    fill_rows(model, MaskPrediction(source, *settings)).check("texts")


def _judge(model, first: str, second: str, asked_format: str) -> None:
    from albert_tf.rows.result_formats import (
        TABLE,
        choose_format,
        json_line,
        to_bytes,
    )

    in_order, swapped = model.order(first, second)
    line = f"in order  {in_order:.4f}\nswapped   {swapped:.4f}"
    if choose_format(asked_format) != TABLE:
        line = json_line({"first": first, "second": second, "in_order": in_order, "swapped": swapped})
    sys.stdout.buffer.write(to_bytes(line))
    sys.stdout.buffer.flush()


main = command.entry_point(__name__, _run, positional="text", required=(_NAMES,))

if __name__ == "__main__":
    main()
