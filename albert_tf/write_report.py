"""Writes one HTML page about a run, about several beside one another, or about an experiment.

write_report --output_dir=runs/base --output_file=report.html
write_report --output_dir=runs/base,runs/large --output_file=both.html
write_report --output_dir=experiments/sharing --output_file=sharing.html

Of pre-training: settings, model, records, curves, evaluations, warnings, and masked words filled in by the newest
checkpoint. Of fine-tuning: scores by checkpoint and seed, what is mistaken for what, the surest errors with their
texts. Of vectors of texts: scores by checkpoint, curves, settings. Of an experiment of run_experiments: table, figures
with their errors, claims of the paper, what each row changes, curves beside one another, commands. The page needs
nothing from elsewhere, and is written of unfinished and damaged runs too.
"""

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from albert_tf.runtime.errors import FlagError

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flags.DEFINE_list(
        "output_dir",
        None,
        "--output_dir of the runs, separated by commas; or the folder of an experiment.",
        flag_values=flag_values,
    )
    flags.DEFINE_string("output_file", "report.html", "The HTML to write.", flag_values=flag_values)
    flags.DEFINE_string(
        "texts",
        None,
        "A file of texts with [MASK], one a line, to be filled in; left out: held-out records, if they are there.",
        flag_values=flag_values,
    )
    flags.DEFINE_integer(
        "num_samples",
        5,
        "Held-out records of pre-training to be filled in; 0: none, and no figure of layers: without --texts no model "
        "is loaded.",
        flag_values=flag_values,
    )
    output_paths.define_overwrite(flag_values)


def _run() -> None:
    if FLAGS.num_samples < 0:
        raise FlagError(f"--num_samples must be at least 0; received {FLAGS.num_samples}")
    if not all(FLAGS.output_dir):
        raise FlagError(f"--output_dir must name folders, with commas between. Received {','.join(FLAGS.output_dir)!r}")
    if not FLAGS.output_file:
        raise FlagError("--output_file must name a file to write")
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite)
    from albert_tf.reports.report import write_report

    write_report(FLAGS.output_dir, FLAGS.output_file, FLAGS.texts, FLAGS.num_samples)
    logging.info("wrote %s", FLAGS.output_file)


main = command.entry_point(__name__, _run, required=("output_dir",))

if __name__ == "__main__":
    main()
