"""The command: from its flags to settings."""

from absl import flags

from albert_tf.distil_vectors import define_flags
from albert_tf.distillation.settings import DistillationSettings
from albert_tf.embedding.embedding_flags import read_settings


def test_flags_become_settings():
    given = flags.FlagValues()
    define_flags(given)
    given(["distil_vectors", "--train_file=a.txt", "--teacher=large", "--output_dir=out", "--relation_weight=0.5"])
    settings = read_settings(DistillationSettings, given, define_flags)
    assert (settings.teacher, settings.relation_weight, settings.optimizer) == ("large", 0.5, "muon")
    assert "--relation_weight=0.5" in settings.resolved_flags
