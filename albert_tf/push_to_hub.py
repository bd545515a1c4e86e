"""Puts a model on the Hugging Face hub: the folder that transformers reads, and a model card of what is known.

push_to_hub --input_dir=runs/base --repo=somebody/albert-base-mine --license=apache-2.0 --private
push_to_hub --input_dir=runs/base --repo=somebody/albert-base-mine --output_dir=base_hub --dry_run
"""

from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.uploading.settings import PublicationSettings

_FLAGS = (
    *("input_dir", "repo", "output_dir", "private", "revision", "license", "dry_run"),
    *("albert_config_file", "spm_model_file", "allow_missing_heads", "hugging_face_architecture"),
)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_flags_of(PublicationSettings, "Flags", flag_values, _FLAGS)
    define_flags_of(TextCleaning, "Text cleaning, as when the records were made", flag_values)


def _run() -> None:
    cleaning = TextCleaning(**values_of(TextCleaning, flags.FLAGS))
    settings = PublicationSettings(**values_of(PublicationSettings, flags.FLAGS), cleaning=cleaning)
    import_tensorflow()
    from albert_tf.uploading.publish import publish

    publish(settings)


main = command.entry_point(__name__, _run, required=("input_dir", "repo"))

if __name__ == "__main__":
    main()
