"""Exports a trained model and its vocabulary as a SavedModel that takes text.

export_saved_model --init_checkpoint=runs/base --spm_model_file=vocabulary.model --output_dir=base_saved_model
"""

from absl import flags

from albert_tf.runtime import command, flag_help


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Input and output", flag_values)
    flags.DEFINE_string(
        "init_checkpoint", None, "A run's --output_dir, one checkpoint of it, or another format's checkpoint.", **fv
    )
    flags.DEFINE_string("albert_config_file", None, "The model's JSON file; left out: the checkpoint's own.", **fv)
    flags.DEFINE_string(
        "spm_model_file",
        None,
        "The vocabulary (.model) that the model was trained with; left out: the one beside the checkpoint.",
        **fv,
    )
    flags.DEFINE_string("output_dir", None, "The folder to make.", **fv)
    flags.DEFINE_bool("overwrite", False, "Whether to replace an earlier export in --output_dir.", **fv)
    flag_help.begin_group("What the model takes and computes in", flag_values)
    flags.DEFINE_integer("max_seq_length", None, "Where texts are cut; left out: max_position_embeddings.", **fv)
    flags.DEFINE_enum("precision", "float32", ["float32", "bfloat16"], "Of weights and products.", **fv)
    flag_help.begin_group("Text cleaning", flag_values)
    flags.DEFINE_bool("do_lower_case", True, "Lower-case the text, as when the records were made.", **fv)
    flags.DEFINE_bool("keep_accents", False, "Leave accents on their letters, as when the records were made.", **fv)
    flags.DEFINE_bool("replace_quotes", False, "Turn `` and '' into \", as when the records were made.", **fv)
    flags.DEFINE_enum("normalization", "NFKD", ["NFKD", "NFKC"], "Unicode form, as when the records were made.", **fv)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    command.import_tensorflow()
    with command.quiet_stderr():
        from albert_tf.serving.saved_model import ExportSettings, export_saved_model
    from albert_tf.tokenization.text_cleaning import TextCleaning

    cleaning = TextCleaning(given.do_lower_case, given.keep_accents, given.normalization, given.replace_quotes)
    export_saved_model(
        ExportSettings(
            init_checkpoint=given.init_checkpoint,
            spm_model_file=given.spm_model_file,
            output_dir=given.output_dir,
            albert_config_file=given.albert_config_file,
            cleaning=cleaning,
            max_seq_length=given.max_seq_length,
            precision=given.precision,
            overwrite=given.overwrite,
        )
    )


main = command.entry_point(__name__, run_with, required=("init_checkpoint", "output_dir"))

if __name__ == "__main__":
    main()
