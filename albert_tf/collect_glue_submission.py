"""Puts the submission files that run_finetuning --do_predict wrote for several tasks of GLUE or SuperGLUE into one zip.

collect_glue_submission --output_dir=runs/cola,runs/sst-2,runs/mrpc --output_file=submission.zip
"""

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from albert_tf.tasks.submissions import write_submission_zip

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flags.DEFINE_list(
        "output_dir",
        None,
        "--output_dir of the runs, separated by commas; of a run of several seeds the folder of one of them.",
        flag_values=flag_values,
    )
    output_paths.define_output_file("The zip file to write.", flag_values)


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite)
    missing = write_submission_zip(FLAGS.output_file, FLAGS.output_dir)
    logging.info("wrote %s", FLAGS.output_file)
    if missing:
        logging.warning("a full submission also has %s", ", ".join(missing))


main = command.entry_point(__name__, _run, required=("output_dir", "output_file"))

if __name__ == "__main__":
    main()
