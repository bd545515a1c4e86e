"""Exports a trained model and its vocabulary as a SavedModel, or as ONNX or LiteRT, which run without TensorFlow.

export_model --format=onnx --init_checkpoint=runs/base --output_dir=base_onnx
"""

from absl import flags

from albert_tf.exports.depth import DEPTH_FLAGS
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.runtime import command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr
from albert_tf.tokenization.text_cleaning import TextCleaning

_GROUPS = {
    "Input and output": ("init_checkpoint", "albert_config_file", "spm_model_file", "output_dir", "overwrite"),
    "What the model takes and computes in": (
        *("format", "precision", "head", "max_seq_length", "fixed_length", "batch_size", "pooling", "normalize"),
        *("output_hidden_states", "output_attentions"),
    ),
    "Fewer layers": DEPTH_FLAGS,
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, names in _GROUPS.items():
        define_flags_of(ModelExportSettings, title, flag_values, names)
    define_flags_of(TextCleaning, "Text cleaning, as when the records were made", flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    cleaning = TextCleaning(**values_of(TextCleaning, given))
    settings = ModelExportSettings(**values_of(ModelExportSettings, given), cleaning=cleaning)
    import_tensorflow()
    with quiet_stderr():
        from albert_tf.portable.export import export_model
    export_model(settings)


main = command.entry_point(__name__, run_with, required=("init_checkpoint", "output_dir", "format"))

if __name__ == "__main__":
    main()
