"""Exports a SavedModel by the flags of google-research/ALBERT's export_to_tfhub.py; export_saved_model does the work.

docs/official.md lists what each flag is here.

export_to_tfhub --albert_directory=albert_base --export_path=served/base
"""

from albert_tf import export_saved_model
from albert_tf.official import command_line

define_flags, main = command_line.make_command(__name__, export_saved_model)

if __name__ == "__main__":
    main()
