"""Exports a SavedModel by the flags of google-research/ALBERT's export_to_tfhub.py; export_saved_model does the work.

docs/official.md lists what each flag is here.

export_to_tfhub --albert_directory=albert_base --export_path=served/base
"""

from absl import flags

from albert_tf import export_saved_model
from albert_tf.official import command_line
from albert_tf.runtime import command
from albert_tf.runtime.official_flags import SCRIPTS


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    command_line.define_flags("export_to_tfhub", flag_values, export_saved_model)


def _run() -> None:
    command_line.run("export_to_tfhub", {"export_saved_model": export_saved_model})


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, required=SCRIPTS["export_to_tfhub"].required)


if __name__ == "__main__":
    main()
