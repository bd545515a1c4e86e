r"""Trains a small model to give the vectors of texts that a larger one, the teacher, gives.

The teacher is asked once, and its vectors are kept beside the texts. Started again with the same flags, the command
goes on from there, and from the newest checkpoint in --output_dir. What it leaves there is read by embed_texts,
search_texts, export_model and convert_checkpoint.

distil_vectors --teacher=all-MiniLM-L6-v2 --train_file=texts.txt --output_dir=runs/student \
  --albert_config_file=configs/models/albert_mini.json --spm_model_file=vocabulary.model
"""

from absl import flags

from albert_tf.distillation.settings import DistillationSettings
from albert_tf.embedding.embedding_flags import define_embedding_flags, read_settings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.training.training_flags import asks_for_tpu

_GROUPS = {
    "Teacher": ("teacher", "vectors_file", "teacher_width"),
    "Loss": ("cosine_weight", "relation_weight", "temperature"),
    "First values": ("init_words", "init_position_waves"),
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, names in _GROUPS.items():
        define_flags_of(DistillationSettings, title, flag_values, names)
    define_embedding_flags(DistillationSettings, flag_values)
    define_flags_of(DistillationSettings, "Batches and optimisation", flag_values, ["muon_rate"])


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
