"""Digests of what an experiment names: they change with what is read of it, and with nothing else."""

import json

import pytest

from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.experiments.named_files import digest_of_named
from albert_tf.runtime.errors import InputError


@pytest.fixture
def run(tmp_path):
    """The folder of a run with two checkpoints, the older of them evaluated."""
    folder = tmp_path / "run"
    for step in (1, 2):
        checkpoint = folder / f"checkpoint-{step:08d}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "checkpoint.json").write_text(json.dumps({"step": step}))
        (checkpoint / "weights").write_text(f"of step {step}")
    write_evaluation(str(folder / "checkpoint-00000001"), {"masked_lm_accuracy": 0.5})
    (folder / "albert_config.json").write_text("{}")
    (folder / "vocabulary.model").write_text("v")
    return folder


def test_a_run_is_its_best_checkpoint_config_and_vocabulary(run):
    before = digest_of_named(str(run), "x: data")
    for name in ("run.lock", "page.html", "train_log.jsonl", ".DS_Store", "checkpoint-00000002/weights"):
        (run / name).write_text("other")
        assert digest_of_named(str(run), "x: data") == before
    for name in ("checkpoint-00000001/weights", "albert_config.json", "vocabulary.model"):
        (run / name).write_text("other")
        old, before = before, digest_of_named(str(run), "x: data")
        assert before != old
    write_evaluation(str(run / "checkpoint-00000002"), {"masked_lm_accuracy": 0.75})
    assert digest_of_named(str(run), "x: data") != before


def test_a_folder_of_data_is_its_files_through_links_without_hidden_ones_and_locks(tmp_path):
    data, linked = tmp_path / "data", tmp_path / "linked"
    data.mkdir()
    linked.mkdir()
    (linked / "train.tsv").write_text("a")
    (data / "part").symlink_to(linked)
    (data / "part" / "round").symlink_to(data)
    before = digest_of_named(str(data), "x: data")
    (data / ".cache").mkdir()
    for name in (".DS_Store", ".cache/x", "part/.x", "features.lock"):
        (data / name).write_text("other")
    assert digest_of_named(str(data), "x: data") == before
    (linked / "train.tsv").write_text("b")
    assert digest_of_named(str(data), "x: data") != before


def test_a_prefix_is_the_files_of_the_checkpoint_and_those_beside_it(tmp_path):
    prefix = tmp_path / "model.ckpt-best"
    with pytest.raises(InputError, match="^x: data: there is no .*model.ckpt-best; a path starts"):
        digest_of_named(str(prefix), "x: data")
    names = ("model.ckpt-best.index", "model.ckpt-best.data-00000-of-00001", "albert_config.json", "30k-clean.model")
    for name in names:
        (tmp_path / name).write_text("a")
    found = {digest_of_named(str(prefix), "x: data")}
    for name in names:
        (tmp_path / name).write_text("b")
        found.add(digest_of_named(str(prefix), "x: data"))
    assert len(found) == 5
    assert digest_of_named("hf://albert/albert-base-v2", "x: data") is None
