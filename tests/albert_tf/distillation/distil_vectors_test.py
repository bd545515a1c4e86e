"""The command: from its flags to settings."""

import dataclasses

from absl import flags

from albert_tf.distil_vectors import define_flags
from albert_tf.distillation.settings import DistillationSettings
from albert_tf.embedding.embedding_flags import read_settings
from albert_tf.tokenization.text_cleaning import TextCleaning


def test_flags_become_settings():
    given = flags.FlagValues()
    define_flags(given)
    given(["distil_vectors", "--train_file=a.txt", "--teacher=large", "--output_dir=out", "--relation_weight=0.5"])
    settings = read_settings(DistillationSettings, given, define_flags)
    assert (settings.teacher, settings.relation_weight, settings.optimizer) == ("large", 0.5, "muon")
    assert "--relation_weight=0.5" in settings.resolved_flags


def test_settings_as_a_flag_file_give_the_same_settings(distillation_settings, tmp_path):
    settings = dataclasses.replace(
        distillation_settings, init_words=False, cleaning=TextCleaning(keep_accents=True), resolved_flags=""
    )
    given = flags.FlagValues()
    define_flags(given)
    (tmp_path / "some.flags").write_text(settings.to_flags())
    given(["distil_vectors", f"--flagfile={tmp_path / 'some.flags'}"])
    found = read_settings(DistillationSettings, given, define_flags)
    assert dataclasses.replace(found, resolved_flags="") == settings
    assert set(found.resolved_flags.splitlines()) == {"--nouse_tpu", *settings.to_flags().splitlines()}
