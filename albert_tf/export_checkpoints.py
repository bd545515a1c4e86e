"""Writes an official checkpoint by the flags of google-research/ALBERT's export_checkpoints.py, as convert_checkpoint.

docs/official.md lists what each flag is here.

export_checkpoints --albert_directory=albert_base --export_path=exported/model.ckpt-best
"""

from absl import flags

from albert_tf import convert_checkpoint
from albert_tf.official import command_line
from albert_tf.runtime import command
from albert_tf.runtime.official_flags import SCRIPTS


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    command_line.define_flags("export_checkpoints", flag_values, convert_checkpoint)


def _run() -> None:
    command_line.run("export_checkpoints", {"convert_checkpoint": convert_checkpoint})


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, required=SCRIPTS["export_checkpoints"].required)


if __name__ == "__main__":
    main()
