"""Measures a trained model on records: accuracy and loss of masked LM and of the sentence task it was trained on.

run_evaluation --output_dir=runs/base --input_file='records/heldout-*' --output_file=evaluation.json
"""

import sys

from absl import flags

from albert_tf.pretraining.settings import EvaluationSettings
from albert_tf.runtime import command, output_paths
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.settings import fields_of
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow

# What its flags are the fields of.
SETTINGS = (EvaluationSettings,)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    computing = ["eval_batch_size", "precision", "backend"]
    others = [name for name in fields_of(EvaluationSettings) if name not in computing]
    define_flags_of(EvaluationSettings, "What is measured, and where it goes", flag_values, others)
    flags.DEFINE_enum(
        *("format", "auto", ["auto", "json", "table"], "What is printed; auto: JSON, on a terminal a table."),
        flag_values=flag_values,
    )
    output_paths.define_overwrite(flag_values)
    define_flags_of(EvaluationSettings, "Computing", flag_values, computing)


def _run() -> None:
    given = flags.FLAGS
    output_paths.check_outputs([("output_file", given.output_file)], given.overwrite, inputs=given.input_file)
    import_tensorflow(backend=given.backend)
    from albert_tf.pretraining.evaluation import evaluate_checkpoint, format_evaluation

    result = evaluate_checkpoint(EvaluationSettings(**values_of(EvaluationSettings, given)))
    as_table = given.format == "table" or (given.format == "auto" and sys.stdout.isatty())
    print(format_evaluation(result) if as_table else to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run, required=("input_file", ("output_dir", "init_checkpoint")))

if __name__ == "__main__":
    main()
