"""Shows pre-training records as a person reads them, and the figures of the whole set.

inspect_records --input_file='records/train-*' --spm_model_file=vocabulary.model --num_examples=3
"""

import os
import sys

from absl import flags

from albert_tf.runtime import command, output_paths

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    values = {"flag_values": flag_values}
    flags.DEFINE_string("input_file", None, "Record files and globs, comma-separated.", **values)
    flags.DEFINE_string("spm_model_file", None, "The vocabulary they were made with.", **values)
    flags.DEFINE_integer("num_examples", 5, "How many records to show.", lower_bound=0, **values)
    flags.DEFINE_string("json_file", None, "Where to write the figures as JSON.", **values)
    flags.DEFINE_string("plot_file", None, "Where to draw the figures, a PNG; needs the extra plot.", **values)
    output_paths.define_overwrite(flag_values)


def _run() -> None:
    written = [(name, FLAGS[name].value) for name in ("json_file", "plot_file")]
    output_paths.check_outputs(written, FLAGS.overwrite, inputs=FLAGS.input_file)
    from albert_tf.records.manifest import MANIFEST_SUFFIX
    from albert_tf.runtime.errors import InputError
    from albert_tf.runtime.files import list_files, write_json
    from albert_tf.tokenization.vocabularies import make_tokenizer
    from data_prep.inspection.report import inspect

    # A glob such as train* also finds the manifest, which is no record file.
    paths = [path for path in list_files(FLAGS.input_file) if not path.endswith(MANIFEST_SUFFIX)]
    if not paths:
        raise InputError(f"--input_file: {FLAGS.input_file!r} names only a manifest; name the record files beside it")
    if FLAGS.plot_file:
        from albert_tf.analysis.pyplot import import_pyplot
        from data_prep.inspection.plot import draw

        # Before the reading, so that a missing package is found out at once.
        import_pyplot()
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    inspection = inspect(paths, make_tokenizer(FLAGS.spm_model_file), FLAGS.num_examples, color)
    sys.stdout.write(inspection.text)
    if FLAGS.json_file:
        write_json(FLAGS.json_file, inspection.figures)
    if FLAGS.plot_file:
        draw(inspection.figures, FLAGS.plot_file)


main = command.entry_point(__name__, _run, required=("input_file", "spm_model_file"))

if __name__ == "__main__":
    main()
