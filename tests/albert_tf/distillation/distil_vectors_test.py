"""The command: from its flags to settings."""

from absl import flags

from albert_tf import distil_vectors
from albert_tf.distillation import distil
from albert_tf.distillation.settings import DistillationSettings


def test_flags_become_settings(monkeypatch, capsys):
    given = flags.FlagValues()
    distil_vectors.define_flags(given)
    given(["distil_vectors", "--train_file=a.txt", "--teacher=large", "--output_dir=out", "--relation_weight=0.5"])
    seen = []

    def run(settings):
        seen.append(settings)
        return {"checkpoint": "out/checkpoint-00000006"}

    monkeypatch.setattr(distil, "run", run)
    distil_vectors.run_with(given)
    (settings,) = seen
    assert isinstance(settings, DistillationSettings)
    assert (settings.teacher, settings.relation_weight, settings.optimizer) == ("large", 0.5, "muon")
    assert "--relation_weight=0.5" in settings.resolved_flags
    assert capsys.readouterr().out == "out/checkpoint-00000006: no evaluation\n"
