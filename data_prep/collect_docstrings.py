"""Collects a corpus for the demo: the prose in the sources and documentation of the installed Python packages.

collect_docstrings --output_file=documents.jsonl --heldout_output_file=heldout.jsonl --max_megabytes=10
"""

from absl import flags, logging

from albert_tf.runtime import command, output_paths
from data_prep.docstring_corpus import docstrings

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    flags.DEFINE_string(
        "output_file", None, "Where to write the documents, one JSON object a line.", flag_values=flag_values
    )
    flags.DEFINE_string(
        "heldout_output_file",
        None,
        "Where to write the documents of the source files that are held out for evaluation. Default: none are.",
        flag_values=flag_values,
    )
    output_paths.define_overwrite(flag_values)
    flags.DEFINE_integer(
        "heldout_every", 20, "Hold out about one source file in this many.", lower_bound=2, flag_values=flag_values
    )
    flags.DEFINE_float(
        "max_megabytes",
        0.0,
        "Stop at this much text, in MB of 10^6 bytes; 0: take all there is.",
        lower_bound=0.0,
        flag_values=flag_values,
    )
    flags.DEFINE_list(
        "source_folder",
        None,
        "Folders to search, separated by commas. Default: the standard library and the installed packages.",
        flag_values=flag_values,
    )
    flags.DEFINE_integer(
        "num_workers",
        0,
        "Processes that parse; 0: one a core. The output is the same for any number.",
        lower_bound=0,
        flag_values=flag_values,
    )


def _run() -> None:
    written = [(name, FLAGS[name].value) for name in ("output_file", "heldout_output_file")]
    output_paths.check_outputs(written, FLAGS.overwrite)
    if FLAGS["heldout_every"].present and not FLAGS.heldout_output_file:
        logging.warning("--heldout_every=%d has no effect without --heldout_output_file", FLAGS.heldout_every)
    settings = docstrings.CollectionSettings(
        output_file=FLAGS.output_file,
        heldout_output_file=FLAGS.heldout_output_file or "",
        heldout_every=FLAGS.heldout_every,
        max_megabytes=FLAGS.max_megabytes,
        source_folders=tuple(FLAGS.source_folder or ()),
        num_workers=FLAGS.num_workers,
    )
    report = docstrings.collect(settings)
    logging.info(
        "%d source files: %.1f MB of prose, %d words, in %d documents; %d more documents held out",
        *(report.files, report.bytes / docstrings.BYTES_PER_MEGABYTE, report.words),
        *(report.documents, report.heldout_documents),
    )


main = command.entry_point(__name__, _run, required=("output_file",))

if __name__ == "__main__":
    main()
