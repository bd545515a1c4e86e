"""Carries trained weights between albert_tf, the official TF1 code, Hugging Face and KerasHub.

convert_checkpoint --input=runs/base --to=hugging_face --output=base_hugging_face
"""

from absl import flags

from albert_tf.conversion.settings import FORMAT_NAMES, ConversionSettings
from albert_tf.runtime import command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.tokenization.text_cleaning import TextCleaning

_OTHERS = (
    *("albert_config_file", "spm_model_file", "allow_missing_heads", "allow_nonfinite", "hugging_face_architecture"),
    *("pooling", "normalize", "weight_type"),
)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_flags_of(ConversionSettings, "Flags", flag_values, ["input", "output"])
    fv = {"flag_values": flag_values}
    flags.DEFINE_enum("from", None, FORMAT_NAMES, "Format of --input; left out: what it looks like.", **fv)
    flags.DEFINE_enum("to", None, FORMAT_NAMES, "Format of --output.", **fv)
    define_flags_of(ConversionSettings, "Flags", flag_values, _OTHERS)
    define_flags_of(TextCleaning, "Text cleaning, as when the records were made, for formats that say it", flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    import_tensorflow()
    from albert_tf.conversion.converter import convert

    formats = {"from_format": given["from"].value, "to_format": given.to}
    cleaning = TextCleaning(**values_of(TextCleaning, given))
    convert(ConversionSettings(**values_of(ConversionSettings, given), **formats, cleaning=cleaning))


main = command.entry_point(__name__, run_with, required=("input", "output", "to"))

if __name__ == "__main__":
    main()
