"""Choices before a training of vectors: the objective by the rows, pooling and dropout; flags that mean nothing."""

import dataclasses

import numpy as np
import pytest

from albert_tf.embedding.objectives import Contrastive, CosineRegression, SimCSE
from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.embedding.text_tables import TextTable
from albert_tf.embedding.train import check_variety, make_objective, read_tables, run
from albert_tf.runtime.errors import FlagError, InputError


def _settings(**changes):
    return EmbeddingSettings(**{"output_dir": "out", "train_file": "train.tsv", **changes})


def _table(count, with_scores=False):
    scores = np.zeros(1, np.float32) if with_scores else None
    return TextTable("train.tsv", ("a", "b", "c")[:count], [("x", "y", "z")[:count]], scores)


@pytest.mark.parametrize(
    ("texts", "column"),
    [([("x",)] * 3, "a"), ([("x", "1"), ("x", "2")], "a"), ([("x", "1"), ("y", "1")], "b"), ([("x", "y")], "a")],
)
def test_rows_that_have_no_other_to_be_told_from_are_refused(texts, column):
    table = TextTable("train.tsv", ("a", "b")[: len(texts[0])], texts, None)
    with pytest.raises(InputError, match=f"^train.tsv: all rows have the same {column}, so no text"):
        check_variety(table)


def test_rows_of_several_texts_or_with_wrong_ones_will_do():
    check_variety(TextTable("train.tsv", ("a", "b"), [("x", "1"), ("y", "2"), ("x", "2")], None))
    check_variety(TextTable("train.tsv", ("a", "b", "c"), [("x", "1", "2")], None))


@pytest.mark.parametrize(
    ("table", "changes", "kind"),
    [
        (_table(1), {}, SimCSE),
        (_table(2), {}, Contrastive),
        (_table(3), {}, Contrastive),
        (_table(2, True), {}, CosineRegression),
        (_table(2, True), {"objective": "contrastive", "symmetric": True}, Contrastive),
    ],
)
def test_rows_say_what_is_learned_from_them(table, changes, kind):
    assert type(make_objective(_settings(**changes), table)) is kind


def test_what_an_objective_does_not_read_is_told(embedding_settings, caplog):
    make_objective(_settings(temperature=0.1), _table(2))
    assert "has no effect" not in caplog.text
    make_objective(_settings(temperature=0.1), _table(2, True))
    assert "--temperature=0.1 has no effect with --objective=cosine" in caplog.text
    read_tables(dataclasses.replace(embedding_settings, max_score=5.0, do_eval=False, dev_file=None))
    assert f"--max_score=5 has no effect without scores, which {embedding_settings.train_file}" in caplog.text


@pytest.mark.parametrize(("objective", "is_read"), [("contrastive", False), ("auto", True), ("cosine", True)])
def test_labels_in_words_are_no_hindrance_to_what_learns_from_no_scores(tmp_path, objective, is_read):
    (tmp_path / "nli.csv").write_text("a,b,label\nx,y,entailment\nz,w,contradiction\n")
    settings = _settings(train_file=str(tmp_path / "nli.csv"), objective=objective)
    if is_read:
        with pytest.raises(InputError, match="'label' must be a number"):
            read_tables(settings)
    else:
        table, _ = read_tables(settings)
        assert (table.columns, type(make_objective(settings, table))) == (("a", "b"), Contrastive)


@pytest.mark.parametrize(
    ("table", "changes", "told"),
    [
        (_table(2), {"objective": "simcse"}, "--objective=simcse learns from single texts; train.tsv has a, b;"),
        (_table(1), {"objective": "contrastive"}, "from two texts or more; train.tsv has a;"),
        (_table(2), {"objective": "cosine"}, "from two texts with a score; train.tsv has a, b;"),
        (_table(2, True), {"symmetric": True}, "--symmetric goes with --objective=contrastive"),
        (_table(2), {"gradient_accumulation_steps": 2}, "every part of a batch would be compared with itself alone"),
    ],
)
def test_rows_of_a_different_objective_are_refused(table, changes, told):
    with pytest.raises(InputError, match=told):
        make_objective(_settings(**changes), table)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"train_file": None}, "--do_train needs --train_file"),
        ({"do_eval": True}, "--do_eval needs --dev_file"),
        ({"dev_file": "dev.tsv"}, "--dev_file goes with --do_eval"),
        ({"dev_text_columns": "a,b"}, "--dev_text_columns goes with --do_eval"),
        ({"do_train": False}, "at least one of --do_train and --do_eval"),
        ({"text_columns": "a,,b"}, "--text_columns must be different names"),
        ({"dev_text_columns": "a,a"}, "--dev_text_columns must be different names"),
        ({"temperature": 0.0}, r"--temperature must lie in \(0, 1e3\)"),
        ({"objective": "cosine", "symmetric": True}, "--symmetric goes with --objective=contrastive, not cosine"),
        ({"pooling": "max"}, "--pooling must be one of mean, cls, pooled"),
    ],
)
def test_settings_that_contradict_are_refused(changes, told):
    with pytest.raises(InputError, match=told):
        _settings(**changes)


def test_what_is_wrong_with_a_run_is_told_before_it_starts(embedding_settings, tmp_path):
    settings = dataclasses.replace(embedding_settings, score_column="nearness")
    with pytest.raises(InputError, match="--score_column: neither of .* has a column 'nearness'"):
        run(settings)
    (tmp_path / "lines.txt").write_text("baba\ndodo\n")
    lines = dataclasses.replace(embedding_settings, train_file=str(tmp_path / "lines.txt"), hidden_dropout_prob=0.0)
    with pytest.raises(InputError, match="compares a text with itself under dropout"):
        run(dataclasses.replace(lines, attention_probs_dropout_prob=0.0))
    with pytest.raises(InputError, match="--max_seq_length must be at least 4"):
        run(dataclasses.replace(embedding_settings, max_seq_length=3))
    with pytest.raises(InputError, match="--max_seq_length=64 exceeds the model's max_position_embeddings=32"):
        run(dataclasses.replace(embedding_settings, max_seq_length=64))
    with pytest.raises(FlagError):
        run(dataclasses.replace(embedding_settings, gradient_accumulation_steps=2))
    assert not (tmp_path / "run").exists()
