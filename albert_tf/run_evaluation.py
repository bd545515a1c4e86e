"""Measures a trained model on records: accuracy and loss of masked LM and of the sentence task it was trained on.

run_evaluation --output_dir=runs/base --input_file='records/heldout-*' --output_file=evaluation.json
"""

import dataclasses
import sys

from absl import flags

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.json_text import to_json


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("input_file", None, "Records to evaluate on: comma-separated paths and globs.", **fv)
    flags.DEFINE_string("output_dir", None, "A run's folder: its best checkpoint, else its newest.", **fv)
    flags.DEFINE_string("init_checkpoint", None, "A checkpoint, ours or another format's, instead.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's shape; left out: the file beside the weights.", **fv)
    flags.DEFINE_integer("eval_batch_size", 64, "Examples of a step.", **fv)
    flags.DEFINE_integer("max_eval_steps", 0, "Most batches; 0 reads all records.", **fv)
    flags.DEFINE_string("output_file", None, "Where the figures also go, as JSON.", **fv)
    flags.DEFINE_enum(
        "format", "auto", ["auto", "json", "table"], "What is printed; auto: JSON, on a terminal a table.", **fv
    )
    output_paths.define_overwrite(flag_values)


def _run() -> None:
    given = flags.FLAGS
    output_paths.check_outputs([("output_file", given.output_file)], given.overwrite)
    command.import_tensorflow()
    from albert_tf.pretraining.evaluation import EvaluationSettings, evaluate_checkpoint, format_evaluation

    names = [field.name for field in dataclasses.fields(EvaluationSettings)]
    result = evaluate_checkpoint(EvaluationSettings(**{name: given[name].value for name in names}))
    as_table = given.format == "table" or (given.format == "auto" and sys.stdout.isatty())
    print(format_evaluation(result) if as_table else to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run, required=("input_file", ("output_dir", "init_checkpoint")))

if __name__ == "__main__":
    main()
