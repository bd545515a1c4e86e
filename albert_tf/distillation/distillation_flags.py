"""The flags of distil_vectors."""

from absl import flags

from albert_tf.distillation.settings import DistillationSettings
from albert_tf.embedding.embedding_flags import define_embedding_flags
from albert_tf.runtime.settings_flags import define_flags_of

_GROUPS = {
    "Teacher": ("teacher", "vectors_file", "teacher_width"),
    "Loss": ("cosine_weight", "relation_weight", "temperature"),
    "First values": ("init_words", "init_position_waves"),
}


def define_distil_vectors_flags(flag_values: flags.FlagValues) -> None:
    """Declares them, with the titles of --help."""
    for title, names in _GROUPS.items():
        define_flags_of(DistillationSettings, title, flag_values, names)
    define_embedding_flags(DistillationSettings, flag_values)
    define_flags_of(DistillationSettings, "Batches and optimisation", flag_values, ["muon_rate"])
