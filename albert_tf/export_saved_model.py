"""Exports a trained model and its vocabulary as a SavedModel that takes text.

export_saved_model --init_checkpoint=runs/base --spm_model_file=vocabulary.model --output_dir=base_saved_model
"""

from absl import flags

from albert_tf.exports.depth import DEPTH_FLAGS
from albert_tf.exports.settings import ExportSettings
from albert_tf.runtime import command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr
from albert_tf.tokenization.text_cleaning import TextCleaning

_GROUPS = {
    "Input and output": ("init_checkpoint", "albert_config_file", "spm_model_file", "output_dir", "overwrite"),
    "What the model takes and computes in": ("max_seq_length", "precision", "pooling", "normalize"),
    "More of the encoder": ("output_hidden_states", "output_attentions"),
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, names in _GROUPS.items():
        define_flags_of(ExportSettings, title, flag_values, names)
    define_flags_of(ExportSettings, "Fewer layers", flag_values, DEPTH_FLAGS)
    define_flags_of(TextCleaning, "Text cleaning, as when the records were made", flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    import_tensorflow()
    with quiet_stderr():
        from albert_tf.exports.saved_model import export_saved_model
    cleaning = TextCleaning(**values_of(TextCleaning, given))
    export_saved_model(ExportSettings(**values_of(ExportSettings, given), cleaning=cleaning))


main = command.entry_point(__name__, run_with, required=("init_checkpoint", "output_dir"))

if __name__ == "__main__":
    main()
