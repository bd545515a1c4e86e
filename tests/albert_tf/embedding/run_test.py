"""Trainings of vectors: what they learn and leave, that they resume exactly, and what reads them."""

import dataclasses
import json
import os
import random
import shutil
import types

import numpy as np
import pytest
import run_folders
from bit_flips import TENSORS, flip_bit

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.converter import convert
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.embedding.dev_set import DevSet
from albert_tf.embedding.run import check_own_checkpoints
from albert_tf.embedding.text_tables import read_table
from albert_tf.embedding.train import format_results, run
from albert_tf.finetuning.earlier_runs import check_own_checkpoints as check_no_other_task
from albert_tf.heads.pooling import Pooling
from albert_tf.portable.export import export_model
from albert_tf.portable.settings import ModelExportSettings
from albert_tf.runtime.errors import InputError
from albert_tf.serving.embedder import Embedder
from albert_tf.tokenization.text_cleaning import TextCleaning

TEXTS = ["baba dodo fafa", "mama", "lala lolo kaka nana mama lala lolo kaka nana mama lala lolo kaka nana"]


@pytest.fixture(scope="session")
def _trained(tmp_path_factory):
    return tmp_path_factory.mktemp("trained") / "run"


@pytest.fixture
def trained(embedding_settings, _trained):
    """(settings of a finished run, its results); the run is made once for all tests."""
    if not _trained.exists():
        run(dataclasses.replace(embedding_settings, output_dir=str(_trained)))
    shutil.copytree(_trained, embedding_settings.output_dir)
    with open(os.path.join(embedding_settings.output_dir, "results.json")) as file:
        return embedding_settings, json.load(file)


def test_a_run_leaves_scores_and_how_a_text_becomes_a_vector(trained, read_log):
    settings, results = trained
    assert results["metric"] == "spearman"
    assert "spearman" in format_results(results)
    lines = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert 0 < lines[-1]["tokens"] <= 2 * 8 * 16
    assert 0 < lines[-1]["accuracy"] <= 1
    evaluated = [line["spearman"] for line in read_log(settings.output_dir) if line["kind"] == "eval"]
    assert max(evaluated) == results["scores"]["dev"]["spearman"]
    found = load_pretrained(settings.output_dir)
    assert found.pooling == Pooling("mean", True, 16)
    assert set(found.model.load_report.missing) == {
        name for name in found.model.load_report.missing if not name.startswith(("albert/embeddings", "albert/encoder"))
    }


def test_a_best_checkpoint_with_a_flipped_bit_in_its_tensors_is_passed_over(trained, caplog):
    settings, before = trained
    best = os.path.join(settings.output_dir, os.path.basename(before["checkpoint"]))
    flip_bit(os.path.join(best, TENSORS))
    again = run(dataclasses.replace(settings, do_train=False))["checkpoint"]
    assert again != best
    assert f"{best} is passed over" in caplog.text
    run(dataclasses.replace(settings, do_train=False, init_checkpoint=again))
    assert f"--init_checkpoint={again} is not read: --output_dir has {again}, which is asked" in caplog.text


def test_training_further_without_a_judgement_says_which_checkpoint_stays_in_use(trained, caplog):
    settings, results = trained
    longer = dataclasses.replace(settings, num_train_steps=settings.num_train_steps + 1, do_eval=False, dev_file=None)
    best = os.path.join(settings.output_dir, os.path.basename(results["checkpoint"]))
    assert run(longer)["checkpoint"] == best
    assert f"is not evaluated; {best}, the best of those that are, stays the one in use" in caplog.text


def test_a_run_that_is_there_is_judged_by_another_dev_set(trained, tmp_path):
    settings, before = trained
    with open(settings.dev_file) as file:
        header, *rows = file.read().splitlines()
    other = tmp_path / "other.tsv"
    other.write_text("\n".join([header, *rows[: len(rows) // 2]]) + "\n")
    again = run(dataclasses.replace(settings, dev_file=str(other)))
    dev = DevSet.from_table(read_table(str(other), settings.columns("dev_text_columns")))
    found = dev.judge(Embedder(again["checkpoint"])(list(dev.texts)))
    assert again["scores"]["dev"][dev.metric] == pytest.approx(found[dev.metric], abs=1e-5)
    assert again["scores"] != before["scores"]


@pytest.mark.slow
def test_a_run_is_judged_by_texts_cleaned_as_in_its_training(embedding_settings):
    with open(embedding_settings.dev_file) as file:
        header, *rows = file.read().splitlines()
    with open(embedding_settings.dev_file, "w") as file:
        file.write("\n".join([header, *(row.title() for row in rows)]) + "\n")
    cased = dataclasses.replace(embedding_settings, cleaning=TextCleaning(do_lower_case=False))
    scores = run(cased)["scores"]
    assert run(dataclasses.replace(embedding_settings, do_train=False))["scores"] == scores
    assert run(dataclasses.replace(cased, do_train=False))["scores"] == scores


@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_run_is_not_judged_by_texts_of_another_vocabulary(trained, train_pieces, tmp_path, is_its_own):
    settings, _ = trained
    words = [first + vowel + second + vowel for first in "prst" for second in "vwxyz" for vowel in "aeiou"]
    rng = random.Random(1)
    other = train_pieces([" ".join(rng.choices(words, k=8)) for _ in range(400)], vocab_size=60)
    changes = {} if is_its_own else {"init_checkpoint": settings.output_dir, "output_dir": str(tmp_path / "judged")}
    with pytest.raises(InputError, match="made with another vocabulary"):
        run(dataclasses.replace(settings, do_train=False, spm_model_file=other, **changes))
    assert not os.path.exists(tmp_path / "judged" / "results.json")


@pytest.mark.faults
def test_a_run_cut_off_ends_with_the_same_weights_and_scores(trained, read_weights):
    settings, whole = trained
    weights = read_weights(settings.output_dir, 6)
    shutil.rmtree(os.path.join(settings.output_dir, "checkpoint-00000006"))
    again = run(settings)
    assert again["scores"] == whole["scores"]
    for name, value in read_weights(settings.output_dir, 6).items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)


@pytest.mark.slow
def test_what_reads_a_run_makes_the_vectors_that_its_evaluation_made(trained, tmp_path):
    settings, results = trained
    embedder = Embedder(settings.output_dir)
    dev = DevSet.from_table(read_table(settings.dev_file, settings.columns("dev_text_columns")))
    assert dev.judge(embedder(list(dev.texts)))[dev.metric] == pytest.approx(results["scores"]["dev"][dev.metric], 1e-5)
    vectors = embedder(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    folder = str(tmp_path / "sentences")
    convert(ConversionSettings(input=settings.output_dir, to_format="sentence_transformers", output=folder))
    np.testing.assert_allclose(Embedder(folder)(TEXTS), vectors, atol=2e-6)
    pytest.importorskip("onnxruntime")
    exported = str(tmp_path / "onnx")
    export_model(
        ModelExportSettings(init_checkpoint=settings.output_dir, output_dir=exported, format="onnx", head="embedding")
    )
    np.testing.assert_allclose(Embedder(exported)(TEXTS), vectors, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["cls", "pooled"])
def test_lines_are_learned_from_under_dropout_that_is_switched_on(embedding_settings, tmp_path, pooling, read_log):
    (tmp_path / "lines.txt").write_text("\n".join(f"baba dodo {word}" for word in ("mama", "lala", "kaka", "nana") * 4))
    with open(embedding_settings.albert_config_file) as file:
        config = json.load(file) | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    settings = dataclasses.replace(
        embedding_settings, train_file=str(tmp_path / "lines.txt"), pooling=pooling, normalize=False
    )
    run(settings)
    found = load_pretrained(settings.output_dir)
    assert found.pooling == Pooling(pooling, False, 16)
    assert found.model.config.hidden_dropout_prob == 0.1
    lines = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert all(line["loss"] > 0 for line in lines)
    with pytest.raises(InputError, match="holds vectors of .*not normalised.*this run is of mean"):
        run(dataclasses.replace(settings, pooling="mean"))


@pytest.mark.slow
def test_scored_pairs_and_searches_are_judged_by_their_own_scores(embedding_settings):
    settings = dataclasses.replace(
        embedding_settings, train_file=embedding_settings.dev_file, dev_file=embedding_settings.train_file
    )
    results = run(settings)
    assert results["metric"] == "mrr"
    assert 0 < results["scores"]["dev"]["mrr"] <= 1
    again = run(
        dataclasses.replace(
            embedding_settings,
            do_train=False,
            init_checkpoint=settings.output_dir,
            output_dir=settings.output_dir + "-evaluated",
        )
    )
    assert set(again["scores"]["dev"]) == {"spearman", "pearson"}


def test_a_folder_of_something_else_is_refused(tmp_path):
    pooling = Pooling("mean", True, 16)
    run_folders.add_checkpoint(tmp_path, 8, pooling=dataclasses.asdict(pooling))
    check_own_checkpoints(str(tmp_path), pooling)
    with pytest.raises(InputError, match="of cls, of length 1, of at most 16 pieces; name another folder"):
        check_own_checkpoints(str(tmp_path), Pooling("cls", True, 16))
    with pytest.raises(InputError, match="holds a training of vectors, not of"):
        settings = types.SimpleNamespace(output_dir=str(tmp_path))
        check_no_other_task(settings, FinetunedTask("regression", 1))
    run_folders.add_checkpoint(tmp_path, 9)
    with pytest.raises(InputError, match="holds a run that trained no vectors; name another folder"):
        check_own_checkpoints(str(tmp_path), pooling)


@pytest.mark.slow
def test_a_run_that_python_began_leaves_its_flags_too(embedding_settings):
    settings = dataclasses.replace(
        embedding_settings, num_train_steps=1, num_warmup_steps=0, do_eval=False, dev_file=None
    )
    settings = dataclasses.replace(settings, resolved_flags="")
    run(settings)
    with open(os.path.join(settings.output_dir, "train_embeddings.flags")) as file:
        assert file.read() == settings.to_flags()
