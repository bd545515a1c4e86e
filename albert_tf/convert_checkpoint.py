"""Carries trained weights between albert_tf, the official TF1 code, Hugging Face and KerasHub.

convert_checkpoint --input=runs/base --to=hugging_face --output=base_hugging_face
"""

from absl import flags

from albert_tf.conversion.format_names import FORMAT_NAMES, HUGGING_FACE_ARCHITECTURES
from albert_tf.runtime import command


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("input", None, "The checkpoint: a file, a prefix, or a folder.", **fv)
    flags.DEFINE_string("output", None, "The folder to make.", **fv)
    flags.DEFINE_enum("from", None, FORMAT_NAMES, "Format of --input; left out: what it looks like.", **fv)
    flags.DEFINE_enum("to", None, FORMAT_NAMES, "Format of --output.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's JSON file; left out: the checkpoint's own.", **fv)
    flags.DEFINE_string(
        "spm_model_file", None, "The vocabulary (.model) to go along; left out: the one beside the checkpoint.", **fv
    )
    flags.DEFINE_bool("allow_missing_heads", False, "Start pooler and heads afresh that --input lacks.", **fv)
    flags.DEFINE_bool("allow_nonfinite", False, "Carry NaN and infinite weights over too.", **fv)
    flags.DEFINE_enum(
        "hugging_face_architecture",
        None,
        HUGGING_FACE_ARCHITECTURES,
        "With --to=hugging_face: the class of transformers; left out: the whole AlbertForPreTraining.",
        **fv,
    )


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    command.import_tensorflow()
    from albert_tf.conversion.converter import ConversionSettings, convert

    convert(
        ConversionSettings(
            input=given.input,
            output=given.output,
            to_format=given.to,
            from_format=given["from"].value,
            albert_config_file=given.albert_config_file,
            spm_model_file=given.spm_model_file,
            allow_missing_heads=given.allow_missing_heads,
            allow_nonfinite=given.allow_nonfinite,
            hugging_face_architecture=given.hugging_face_architecture,
        )
    )


main = command.entry_point(__name__, run_with, required=("input", "output", "to"))

if __name__ == "__main__":
    main()
