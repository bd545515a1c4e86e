"""The files of sentence-transformers: what they say of a vector, in every form they come in, and what is refused."""

import json

import numpy as np
import pytest

from albert_tf.conversion.sentence_modules import has_modules, read_pooling, write_modules
from albert_tf.heads.pooling import Pooling
from albert_tf.heads.vector_dense import VectorDense
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning

OLD, NEW = "sentence_transformers.models.", "sentence_transformers.base.modules.pooling."
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False, "word_embedding_dimension": 24}

DENSE = VectorDense(3, "identity", np.arange(72, dtype=np.float32).reshape(24, 3), np.ones(3, np.float32))


def write(folder, kinds=("Transformer", "Pooling", "Normalize"), pooling=MEAN, prefix=OLD, first="", **others):
    """Writes the files; `others` are more of them, by their names without the ending."""
    places = (first, "1_Pooling", "2_Normalize")
    modules = [{"idx": at, "path": place, "type": prefix + kind} for at, (kind, place) in enumerate(zip(kinds, places))]
    (folder / "1_Pooling").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    for name, values in others.items():
        (folder / f"{name}.json").write_text(json.dumps(values))


def read(folder, cleaning=None, longest=512):
    return read_pooling(str(folder), cleaning, longest)


@pytest.mark.parametrize("prefix", [OLD, NEW])
@pytest.mark.parametrize(
    "pooling, mode",
    [
        (MEAN, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode": "cls", "embedding_dimension": 24, "include_prompt": True}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
        ({"word_embedding_dimension": 24}, "mean"),
    ],
)
def test_every_form_of_the_two_poolings_is_read(tmp_path, prefix, pooling, mode):
    write(tmp_path, pooling=pooling, prefix=prefix)
    assert read(tmp_path) == Pooling(mode, True)


def test_without_normalize_vectors_keep_their_lengths(tmp_path):
    write(tmp_path, ("Transformer", "Pooling"))
    assert read(tmp_path) == Pooling("mean", False)


@pytest.mark.parametrize(
    "others, length",
    [
        ({"sentence_bert_config": {"max_seq_length": 128, "do_lower_case": False}}, 128),
        ({"sentence_bert_config": {"max_seq_length": 4096}}, 512),
        ({"sentence_bert_config": {"max_seq_length": None}, "tokenizer_config": {"model_max_length": 256}}, 256),
        ({"tokenizer_config": {"model_max_length": 1e30}}, 512),
        ({}, None),
    ],
)
def test_texts_are_cut_where_the_first_file_says_so_and_never_beyond_the_model(tmp_path, others, length):
    write(tmp_path, **others)
    assert read(tmp_path).max_seq_length == length


@pytest.mark.parametrize(
    "given, message",
    [
        ({"kinds": ("Transformer", "Pooling", "LSTM")}, r"modules.json: its step 'LSTM' has no like here"),
        ({"kinds": ("Transformer", "Dense", "Pooling")}, "its steps are Transformer, Dense, Pooling; Transformer, "),
        ({"kinds": ("Transformer", "Pooling", "Pooling")}, "its steps are Transformer, Pooling, Pooling"),
        ({"kinds": ("Transformer", "Pooling", "Dense")}, "2_Normalize/config.json is missing, which says what layer"),
        ({"kinds": ("Transformer",)}, "modules.json: its steps are Transformer; Transformer, Pooling, Dense and"),
        ({"kinds": ("Pooling", "Transformer")}, "its steps are Pooling, Transformer"),
        ({"first": "0_Transformer"}, "the first in the folder itself"),
        ({"pooling": {"pooling_mode_max_tokens": True}}, "1_Pooling/config.json: pooling by max_tokens has no like"),
        ({"pooling": {"pooling_mode": ["mean", "cls"]}}, "pooling by mean, cls has no like here"),
        ({"pooling": {"pooling_mode": 7}}, "pooling by 7 has no like here"),
        (
            {"config_sentence_transformers": {"default_prompt_name": "q", "prompts": {"q": "query: "}}},
            "every text is to begin with the prompt 'q', 'query: '",
        ),
        ({"sentence_bert_config": {"max_seq_length": "long"}}, "sentence_bert_config.json: the length 'long' is none"),
    ],
)
def test_what_has_no_like_here_is_one_line(tmp_path, given, message):
    write(tmp_path, **given)
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path)
    assert "\n" not in str(error.value)


def test_a_prompt_that_is_empty_or_not_asked_for_changes_nothing(tmp_path):
    write(tmp_path, config_sentence_transformers={"default_prompt_name": None, "prompts": {"query": "query: "}})
    assert read(tmp_path) == Pooling()


def test_lower_casing_beside_a_tokenizer_that_keeps_capitals_is_refused(tmp_path):
    write(tmp_path, sentence_bert_config={"max_seq_length": 8, "do_lower_case": True})
    assert read(tmp_path, TextCleaning()).max_seq_length == 8
    with pytest.raises(InputError, match="do_lower_case is true, and the tokenizer's is false"):
        read(tmp_path, TextCleaning(do_lower_case=False))


@pytest.mark.parametrize("contents", ["{}", "[1]", '[{"type": "a"}]', "[", "[[[["])
def test_damaged_steps_are_one_line(tmp_path, contents):
    write(tmp_path)
    (tmp_path / "modules.json").write_text(contents)
    with pytest.raises(InputError, match="modules.json: (no list of steps|its steps are)"):
        read(tmp_path)


def test_a_pooling_that_is_not_there_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "1_Pooling" / "config.json").unlink()
    with pytest.raises(InputError, match="1_Pooling/config.json is missing"):
        read(tmp_path)


@pytest.mark.parametrize(
    "pooling, steps",
    [
        (Pooling(), ["", "1_Pooling", "2_Normalize"]),
        (Pooling("cls", False, 12), ["", "1_Pooling"]),
        (Pooling("mean", True, None, DENSE), ["", "1_Pooling", "2_Dense", "3_Normalize"]),
        (Pooling("mean", False, 12, DENSE), ["", "1_Pooling", "2_Dense"]),
    ],
    ids=str,
)
def test_what_is_written_is_read_again(tmp_path, pooling, steps):
    assert not has_modules(str(tmp_path))
    write_modules(str(tmp_path), pooling, 24, 17)
    assert has_modules(str(tmp_path))
    assert [step["path"] for step in json.loads((tmp_path / "modules.json").read_text())] == steps
    found = read(tmp_path)
    assert found == Pooling(pooling.mode, pooling.normalize, pooling.max_seq_length or 17, pooling.dense)
    if pooling.dense is not None:
        np.testing.assert_array_equal(found.dense.kernel, DENSE.kernel)


def test_the_pooler_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="--pooling=pooled: sentence-transformers has no step"):
        write_modules(str(tmp_path), Pooling("pooled"), 24, 17)
