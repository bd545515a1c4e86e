"""The command: from its flags to settings, and what is wrong in one line."""

import dataclasses
import subprocess
import sys

import pytest
from absl import flags

from albert_tf import train_embeddings
from albert_tf.embedding import train
from albert_tf.embedding.embedding_flags import read_settings
from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.tokenization.text_cleaning import TextCleaning


def test_flags_become_settings(monkeypatch, capsys):
    given = flags.FlagValues()
    train_embeddings.define_flags(given)
    given(["train_embeddings", "--train_file=a.tsv", "--output_dir=out", "--max_score=5", "--nodo_lower_case"])
    seen = []

    def run(settings):
        seen.append(settings)
        return {"checkpoint": "out/checkpoint-00000006"}

    monkeypatch.setattr(train, "run", run)
    train_embeddings.run_with(given)
    (settings,) = seen
    assert isinstance(settings, EmbeddingSettings)
    assert (settings.train_file, settings.max_score, settings.do_train, settings.do_eval) == ("a.tsv", 5.0, True, False)
    assert not settings.cleaning.do_lower_case
    assert "--max_score=5.0" in settings.resolved_flags
    assert capsys.readouterr().out == "out/checkpoint-00000006: not evaluated by this command\n"


@pytest.mark.slow
def test_a_file_at_fault_is_one_line(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\tscore\nx\ty\thigh\n")
    command = [sys.executable, "-m", "albert_tf.train_embeddings", f"--train_file={tmp_path}/pairs.tsv"]
    done = subprocess.run([*command, f"--output_dir={tmp_path}/run"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pairs.tsv, line 2: 'score' must be a number from -1 to 1" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_settings_as_a_flag_file_give_the_same_settings(embedding_settings, tmp_path):
    settings = dataclasses.replace(
        embedding_settings,
        text_columns="text",
        symmetric=True,
        cleaning=TextCleaning(keep_accents=True),
        resolved_flags="",
    )
    given = flags.FlagValues()
    train_embeddings.define_flags(given)
    (tmp_path / "some.flags").write_text(settings.to_flags())
    given(["train_embeddings", f"--flagfile={tmp_path / 'some.flags'}"])
    found = read_settings(EmbeddingSettings, given, train_embeddings.define_flags)
    assert dataclasses.replace(found, resolved_flags="") == settings
    assert set(found.resolved_flags.splitlines()) == {"--nouse_tpu", *settings.to_flags().splitlines()}
