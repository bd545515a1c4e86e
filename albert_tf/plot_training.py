"""Draws the loss, the accuracies and the learning rate of one or several runs as a PNG.

plot_training --output_dir=runs/base,runs/large --output_file=curves.png --title="base and large"
"""

from absl import flags, logging

from albert_tf.analysis import training_log, training_plot
from albert_tf.runtime import command, output_paths

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flags.DEFINE_list(
        "output_dir",
        None,
        "--output_dir of the runs, or their train_log.jsonl, separated by commas.",
        flag_values=flag_values,
    )
    output_paths.define_output_file("The PNG to write.", flag_values)
    flags.DEFINE_multi_string(
        "baseline",
        [],
        "A line among the accuracies, LABEL=ACCURACY, for example 'most frequent piece=0.05'; may be repeated.",
        flag_values=flag_values,
    )
    flags.DEFINE_string("title", "", "A title above the figure.", flag_values=flag_values)


def _run() -> None:
    output_paths.check_outputs([("output_file", FLAGS.output_file)], FLAGS.overwrite)
    baselines = [training_plot.Baseline.parse(text) for text in FLAGS.baseline]
    runs = training_log.read_logs(FLAGS.output_dir)
    training_plot.draw(runs, FLAGS.output_file, baselines, FLAGS.title)
    logging.info("drew %s", FLAGS.output_file)


main = command.entry_point(__name__, _run, required=("output_dir", "output_file"))

if __name__ == "__main__":
    main()
