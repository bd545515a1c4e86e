r"""Trains a small model to give the vectors of texts that a larger one, the teacher, gives.

The teacher is asked once, and its vectors are kept beside the texts. Started again with the same flags, the command
goes on from there, and from the newest checkpoint in --output_dir. What it leaves there is read by embed_texts,
search_texts, export_model and convert_checkpoint.

distil_vectors --teacher=all-MiniLM-L6-v2 --train_file=texts.txt --output_dir=runs/student \
  --albert_config_file=configs/models/albert_mini.json --spm_model_file=vocabulary.model
"""

from absl import flags

from albert_tf.distillation.distillation_flags import define_distil_vectors_flags
from albert_tf.distillation.settings import DistillationSettings
from albert_tf.embedding.embedding_flags import read_settings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.training.training_flags import asks_for_tpu


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_distil_vectors_flags(flag_values)


def _run() -> None:
    given = flags.FLAGS
    allocator.set_up_memory(release=given.release_memory)
    import_tensorflow(backend=given.backend, joins=asks_for_tpu(given))
    from albert_tf.distillation.distil import run
    from albert_tf.embedding.train import format_results

    print(format_results(run(read_settings(DistillationSettings, given, define_flags))))  # noqa: T201


main = command.entry_point(__name__, _run, required=("output_dir",))

if __name__ == "__main__":
    main()
