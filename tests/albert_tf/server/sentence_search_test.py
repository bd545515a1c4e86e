"""The nearest sentences of a file: cosines of means by hand, and files that are none."""

import numpy as np
import pytest
from word_model import WordModel

from albert_tf.runtime.errors import InputError
from albert_tf.server import sentence_search
from albert_tf.server.sentence_search import SentenceSearch, pooled
from albert_tf.server.settings import ServerSettings


def search(path, models=None, **settings):
    models = {"words": WordModel()} if models is None else models
    return SentenceSearch.of_file(str(path), models, ServerSettings(**settings))


def test_a_mean_is_over_the_text_alone():
    outputs = {
        "sequence_output": np.array([[[3, 0], [0, 4], [9, 9]]], np.float32),
        "input_mask": np.array([[1, 1, 0]], np.int32),
    }
    assert pooled(outputs) == pytest.approx(np.array([[0.6, 0.8]]))


def test_the_nearest_comes_first_whatever_the_batches(tmp_path):
    (tmp_path / "sentences").write_text("zz zz\n\n\ta\nbbb\ncc\r\n")
    for size in (1, 2, 32):
        found = search(tmp_path / "sentences", max_batch_size=size)
        assert found.sentences == ["zz zz", "a", "bbb", "cc"]
        question = found.question("bb")
        nearest = found.nearest(WordModel().run(question.signature, question.inputs), 2)
        assert [one["sentence"] for one in nearest] == ["bbb", "cc"]
        assert nearest[0]["cosine"] == pytest.approx(1, abs=1e-5)


def test_no_file_is_no_search():
    assert SentenceSearch.of_file(None, {}, ServerSettings()) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no sentences; one was expected in each line"),
        (b"\n \n", "no sentences"),
        (b"a\n\xff\n", "line 2: not UTF-8"),
        (b"a\n" + b"b" * 101, "line 2: 101 characters; at most 100"),
        (b"a\n" * 9, "more than 8 sentences"),
    ],
)
def test_a_file_that_cannot_be_searched_is_one_line(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(sentence_search, "MOST_SENTENCES", 8)
    (tmp_path / "sentences").write_bytes(content)
    with pytest.raises(InputError, match=message):
        search(tmp_path / "sentences", max_text_chars=100)


def test_a_file_has_to_be_there_and_a_model_that_encodes(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        search(tmp_path / "nowhere")
    with pytest.raises(InputError, match="needs a model that was only pre-trained"):
        search(tmp_path / "nowhere", models={})
