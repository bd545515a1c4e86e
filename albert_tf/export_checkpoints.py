"""Writes an official checkpoint by the flags of google-research/ALBERT's export_checkpoints.py, as convert_checkpoint.

docs/official.md lists what each flag is here.

export_checkpoints --albert_directory=albert_base --export_path=exported/model.ckpt-best
"""

from albert_tf import convert_checkpoint
from albert_tf.official import command_line

define_flags, main = command_line.make_command(__name__, convert_checkpoint)

if __name__ == "__main__":
    main()
