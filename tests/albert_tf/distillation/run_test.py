"""Distillations: what a student starts from and learns, that a run resumes exactly, and what is wrong in one line."""

import dataclasses
import os
import shutil

import numpy as np
import pytest

from albert_tf.checkpoints import run_checkpoints
from albert_tf.conversion.converter import convert
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.distillation.distil import distil_embedder, run
from albert_tf.distillation.teacher import Axes, open_teacher
from albert_tf.rows.table_prediction import TablePrediction
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.serving.embedder import Embedder


@pytest.mark.slow
def test_a_student_starts_near_and_comes_nearer(distillation_settings, read_log):
    results = run(distillation_settings)
    lines = [line for line in read_log(distillation_settings.output_dir) if line["kind"] == "train"]
    # Of vectors of 16 numbers that have nothing to do with one another, the mean cosine is about 0.
    assert lines[0]["cosine"] > 0.3
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert lines[0]["loss"] == pytest.approx(1 - lines[0]["cosine"] + lines[0]["relation"], rel=1e-4)
    assert set(results["scores"]["dev"]) == {"spearman", "pearson"}


@pytest.mark.slow
def test_a_run_cut_off_ends_with_the_same_weights(distillation_settings, read_weights):
    run(distillation_settings)
    folder = distillation_settings.output_dir
    weights, axes = read_weights(folder, 6), np.load(os.path.join(folder, "teacher_axes.npy"))
    assert axes.shape == (24, 16)
    shutil.rmtree(os.path.join(folder, "checkpoint-00000006"))
    run(distillation_settings)
    for name, value in read_weights(folder, 6).items():
        np.testing.assert_array_equal(value, weights[name], err_msg=name)


@pytest.mark.slow
def test_a_run_that_goes_on_tells_of_a_teacher_that_says_something_else(distillation_settings, tmp_path, caplog):
    path = tmp_path / "teacher.npy"
    count, settings = len(np.load(path)), dataclasses.replace(distillation_settings, teacher=str(path))
    for seed, steps in ((1, 2), (1, 3), (2, 4)):
        np.save(path, np.random.default_rng(seed).normal(size=(count, 24)).astype(np.float32))
        run(dataclasses.replace(settings, num_train_steps=steps))
        assert ("teacher.npy has other contents" in caplog.text) == (seed == 2)
    assert "all weights start at random" not in caplog.text


@pytest.mark.slow
def test_what_reads_a_student_finds_the_cosine_that_the_log_tells(distillation_settings, tmp_path, read_log):
    settings = dataclasses.replace(distillation_settings, train_batch_size=40, num_train_steps=2, learning_rate=1e-9)
    run(dataclasses.replace(settings, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    taught = open_teacher(str(settings.teacher), TablePrediction(str(settings.train_file)))
    axes = Axes(np.load(os.path.join(settings.output_dir, "teacher_axes.npy")))
    learned = axes.apply(taught.vectors(np.arange(len(taught.texts))))
    cosines = np.sum(Embedder(settings.output_dir)(taught.texts) * learned, axis=1)
    logged = next(line["cosine"] for line in read_log(settings.output_dir) if line["kind"] == "train")
    assert cosines.mean() == pytest.approx(logged, abs=1e-4)


@pytest.mark.slow
def test_a_student_of_any_shape_and_start(distillation_settings, small_config, tmp_path):
    def train(settings, width):
        vectors = Embedder(run(settings)["checkpoint"])(["baba dodo", "mama"])
        assert vectors.shape == (2, width)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)

    train(distillation_settings, small_config.hidden_size)
    going_on = dataclasses.replace(
        distillation_settings,
        init_checkpoint=distillation_settings.output_dir,
        output_dir=str(tmp_path / "again"),
        optimizer="adamw",
        relation_weight=0.0,
        gradient_accumulation_steps=2,
    )
    train(going_on, small_config.hidden_size)
    for shape in ({"embedding_size": 16}, {"embedding_size": 32}, {"hidden_size": 48, "num_hidden_groups": 2}):
        config = dataclasses.replace(small_config, vocab_size=60, **shape)
        config.to_json_file(str(tmp_path / "config.json"))
        settings = dataclasses.replace(distillation_settings, output_dir=str(tmp_path / str(shape)))
        train(settings, config.hidden_size)
    settings = dataclasses.replace(distillation_settings, output_dir=str(tmp_path / "random"), init_words=False)
    train(settings, config.hidden_size)


@pytest.mark.slow
def test_a_student_as_wide_as_its_teacher_starts_from_the_axes_and_is_read_everywhere(
    distillation_settings, read_log, read_weights, tmp_path
):
    settings = dataclasses.replace(distillation_settings, teacher_width=True)
    results = distil_embedder(settings)
    texts = ["baba dodo", "mama"]
    vectors = Embedder(results["checkpoint"])(texts)
    assert vectors.shape == (2, 24)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    lines = [line for line in read_log(settings.output_dir) if line["kind"] == "train"]
    assert lines[0]["cosine"] > 0.3
    # Without training, and beside another start, the layer is that of the checkpoint.
    again = dataclasses.replace(settings, do_train=False, teacher=None)
    assert run(again)["scores"] == results["scores"]
    going_on = dataclasses.replace(
        settings, init_checkpoint=settings.output_dir, output_dir=str(tmp_path / "more"), learning_rate=1e-12
    )
    run(going_on)
    name, best = "vector_dense/kernel", run_checkpoints.step_of(results["checkpoint"])
    before, after = read_weights(settings.output_dir, best)[name], read_weights(going_on.output_dir, 6)[name]
    np.testing.assert_allclose(after, before, atol=1e-5)
    with pytest.raises(InputError, match="holds vectors of mean, a dense layer to 24 numbers, of length 1, of at most"):
        run(distillation_settings)
    folder = str(tmp_path / "folder")
    convert(ConversionSettings(input=settings.output_dir, output=folder, to_format="sentence_transformers"))
    np.testing.assert_allclose(Embedder(folder)(texts), vectors, atol=1e-6)


@pytest.mark.slow
def test_the_first_dense_layer_turns_the_students_axes_into_the_teachers(distillation_settings, read_weights):
    settings = dataclasses.replace(
        distillation_settings, teacher_width=True, learning_rate=1e-12, num_train_steps=1, save_checkpoints_steps=1
    )
    run(settings)
    taught = open_teacher(str(settings.teacher), TablePrediction(str(settings.train_file)))
    np.testing.assert_allclose(
        read_weights(settings.output_dir, 1)["vector_dense/kernel"], Axes.of(taught, 16).matrix.T, atol=1e-5
    )


def test_what_is_wrong_is_one_line(distillation_settings, tmp_path):
    def refused(fault, kind=InputError, **changes):
        with pytest.raises(kind, match=fault):
            run(dataclasses.replace(distillation_settings, **changes))

    with pytest.raises(InputError, match="`settings` must be DistillationSettings. Received dict."):
        distil_embedder({})
    refused("--do_train needs --teacher", teacher=None)
    alone = {"do_eval": False, "dev_file": None, "max_score": 1.0}
    refused("train_file=.*no such file on this machine", train_file="nowhere.txt", **alone)
    refused("max_score goes with --do_eval", FlagError, **{**alone, "max_score": 5.0})
    refused("score_column: .*texts.txt has no column 'like'", score_column="like", **alone)
    refused("no such file; embed_texts writes one", teacher="nowhere.npy")
    refused("--teacher: .*nowhere: no model here", teacher=str(tmp_path / "nowhere"))
    refused("objective is for EmbeddingSettings", FlagError, objective="cosine")
    refused("symmetric is for EmbeddingSettings", FlagError, symmetric=True)
    refused("above 0", FlagError, cosine_weight=0.0, relation_weight=0.0)
    refused("one text a row", FlagError, text_columns="a,b")
    refused("compared with itself alone", FlagError, gradient_accumulation_steps=2)
    assert not os.path.exists(os.path.join(distillation_settings.output_dir, "teacher_axes.npy"))


@pytest.mark.slow
def test_a_dense_layer_to_another_width_than_the_teachers_is_refused(distillation_settings, tmp_path):
    changes = {"num_train_steps": 1, "do_eval": False, "dev_file": None, "max_score": 1.0}
    settings = dataclasses.replace(distillation_settings, teacher_width=True, **changes)
    run(settings)
    vectors = np.load(settings.teacher)
    np.save(tmp_path / "wider.npy", np.concatenate([vectors, vectors[:, :4]], axis=1))
    others = {"init_checkpoint": settings.output_dir, "output_dir": str(tmp_path / "on")}
    with pytest.raises(InputError, match="has a dense layer to 24 numbers, and --teacher gives 28"):
        run(dataclasses.replace(settings, teacher=str(tmp_path / "wider.npy"), **others))
    # Without the flag it stays what it is.
    run(dataclasses.replace(settings, teacher=str(tmp_path / "wider.npy"), teacher_width=False, **others))
    assert Embedder(others["output_dir"]).hidden_size == 24


def test_a_run_that_python_began_leaves_its_flags_too(distillation_settings):
    settings = dataclasses.replace(
        distillation_settings, num_train_steps=1, num_warmup_steps=0, do_eval=False, dev_file=None, max_score=1.0
    )
    settings = dataclasses.replace(settings, resolved_flags="")
    distil_embedder(settings)
    with open(os.path.join(settings.output_dir, "distil_vectors.flags")) as file:
        assert file.read() == settings.to_flags()
