"""A sentencepiece model made of a tokenizer.json: the same pieces, scores and ids; what is refused in one line."""

import json
from pathlib import Path

import pytest

import albert_tf
from albert_tf.conversion.converter import convert
from albert_tf.conversion.hugging_face import save_hugging_face
from albert_tf.conversion.hugging_face_tokenizer import tokenizer_json
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.in_graph import InGraphTokenizer
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.tokenizer_json import model_of_tokenizer_json
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import parse_model, plain_model

TEXTS = ["In 1995, (dabo) – 7, 1995, ba-be.", "ĆĀ\u200bfe ﬁ 中", "<pad> [MASK] 55,", ""]


@pytest.fixture
def written(small_tokenizer) -> dict:
    return json.loads(json.dumps(tokenizer_json(small_tokenizer)))


@pytest.fixture
def read(tmp_path):
    """A function that reads an object of JSON as a vocabulary."""

    def make(values) -> AlbertTokenizer:
        (tmp_path / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
        return AlbertTokenizer(tmp_path / "tokenizer.json")

    return make


def _rows(tokenizer):
    proto = parse_model(tokenizer.model_bytes, tokenizer.model_file)
    plain_model(proto)
    charsmap = proto.normalizer_spec.precompiled_charsmap
    return [(piece.piece, piece.score, piece.type) for piece in proto.pieces], charsmap


def test_pieces_scores_kinds_and_rules_come_back_exactly(small_tokenizer, written, read):
    again = read(written)
    assert _rows(again) == _rows(small_tokenizer)
    assert [again.encode(text) for text in TEXTS] == [small_tokenizer.encode(text) for text in TEXTS]
    assert [again.encode_with_masks(text) for text in TEXTS] == [
        small_tokenizer.encode_with_masks(text) for text in TEXTS
    ]
    assert again.sha256 == read(written).sha256


def test_the_official_vocabulary_comes_back_exactly(official_tokenizer, read):
    assert _rows(read(tokenizer_json(official_tokenizer))) == _rows(official_tokenizer)


def test_scores_as_transformers_writes_them_come_back_exactly(small_tokenizer, written, read):
    symbols = {row[0] for row in _rows(small_tokenizer)[0] if row[2] == 4}
    assert symbols
    for row in written["model"]["vocab"]:
        if row[0] in symbols:
            row[1] = 0.0
        elif row[0][-1] == "," and row[0][-2:-1].isdigit():
            row[1] -= 100
    assert _rows(read(written)) == _rows(small_tokenizer)


def test_a_file_without_rules_for_characters_makes_a_model_without(written, read):
    written["normalizer"] = None
    assert _rows(read(written))[1] == b""


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda v: v.update(model={"type": "BPE"}), "its model is 'BPE'; .* Give the .model file"),
        (lambda v: v.update(model={"type": "WordPiece"}), "`vocab` must give every piece an id"),
        (lambda v: v.pop("model"), "its model is None"),
        (lambda v: v["model"].update(byte_fallback=True), "a piece for every byte; <0x00> is missing"),
        (lambda v: v["model"].update(vocab={"a": 1}), r"`vocab` must be a list of \[piece, score\]"),
        (lambda v: v["model"]["vocab"].insert(3, ["a"]), r"entry 3 is \['a'\]"),
        (lambda v: v["model"]["vocab"].insert(3, ["a", "b"]), "entry 3"),
        (lambda v: v["model"]["vocab"].insert(3, ["a", 1e300]), "entry 3"),
        (lambda v: v["model"]["vocab"].insert(3, ["\ud800", -1.0]), "entry 3"),
        (lambda v: v["model"]["vocab"].append(v["model"]["vocab"][9]), "stands twice in `vocab`"),
        (lambda v: v["model"].update(unk_id=None), "`unk_id` must be the id of a piece. Received None"),
        (lambda v: v["model"].update(unk_id=10**6), "`unk_id` must be the id of a piece. Received 1000000"),
        (lambda v: v["model"]["vocab"][4].__setitem__(0, "<mask>"), r"lacks \[MASK\]"),
        (lambda v: v.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "é"}), "not in base64"),
        (lambda v: v.update(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "is damaged"),
    ],
)
def test_what_is_no_vocabulary_is_refused_in_one_line(written, read, change, match):
    change(written)
    with pytest.raises(InputError, match=match) as error:
        read(written)
    assert "\n" not in str(error.value)
    assert "tokenizer.json" in str(error.value)


def test_word_pieces_come_back_exactly(word_pieces, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(word_pieces)), encoding="utf-8")
    again = make_tokenizer(path)
    assert again.model_bytes == word_pieces.model_bytes
    assert again.encode_batch(TEXTS) == word_pieces.encode_batch(TEXTS)
    assert again.describe() == word_pieces.describe()


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda model: model["vocab"].update({"x!": 10**6}), "an id, from 0 without gaps"),
        (lambda model: model["vocab"].update({"x!": 3}), "an id, from 0 without gaps"),
        (lambda model: model["vocab"].update({"x!": "3"}), "an id, from 0 without gaps"),
        (lambda model: model.update(vocab=[]), "an id, from 0 without gaps"),
        (lambda model: model.update(continuing_subword_prefix="@@"), "`continuing_subword_prefix` must be '##'"),
        (lambda model: model["vocab"].update({"x\ny": len(model["vocab"])}), "holds the end of a line"),
        (lambda model: model["vocab"].update({"\ud800": len(model["vocab"])}), "is not UTF-8"),
    ],
)
def test_word_pieces_of_another_form_are_refused_in_one_line(word_pieces, tmp_path, change, match):
    values = tokenizer_json(word_pieces)
    change(values["model"])
    (tmp_path / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(InputError, match=match) as error:
        make_tokenizer(tmp_path / "tokenizer.json")
    assert "\n" not in str(error.value)
    assert "tokenizer.json" in str(error.value)


@pytest.mark.parametrize("contents, match", [(b"", "not JSON"), (b"[]", "a JSON object"), (b"\x0a\x00", "not JSON")])
def test_what_is_no_json_is_refused(contents, match):
    with pytest.raises(InputError, match=f"tokenizer.json.*{match}"):
        model_of_tokenizer_json(contents, "tokenizer.json")


def test_a_graph_gives_the_same_ids(small_tokenizer, written, read):
    import tensorflow as tf

    again = InGraphTokenizer.from_tokenizer(read(written))
    assert again.encode(tf.constant(TEXTS)).to_list() == [small_tokenizer.encode(text) for text in TEXTS]


@pytest.fixture
def folder(small_tokenizer, small_config, tmp_path) -> Path:
    """A Hugging Face folder that has lost its sentencepiece model."""
    shape = small_config.to_dict() | {"vocab_size": small_tokenizer.vocab_size}
    model = albert_tf.AlbertForPretraining(albert_tf.AlbertConfig.from_dict(shape))
    save_hugging_face(model, str(tmp_path / "theirs"), small_tokenizer.model_file)
    (tmp_path / "theirs/spiece.model").unlink()
    return tmp_path / "theirs"


@pytest.mark.parametrize("format, name", [("albert_tf", "spiece.model"), ("hugging_face", "spiece.model")])
def test_a_folder_with_a_tokenizer_json_alone_is_whole(folder, small_tokenizer, tmp_path, format, name):
    expected = [small_tokenizer.encode(text) for text in TEXTS]
    assert albert_tf.load_tokenizer(folder).encode_batch(TEXTS) == expected
    convert(ConversionSettings(input=str(folder), output=str(tmp_path / "ours"), to_format=format))
    assert AlbertTokenizer(tmp_path / "ours" / name).encode_batch(TEXTS) == expected
    assert albert_tf.load_tokenizer(tmp_path / "ours").encode_batch(TEXTS) == expected
    loaded = albert_tf.load(folder)
    albert_tf.save(loaded, tmp_path / "saved", format)
    assert (tmp_path / "saved" / name).read_bytes() == (tmp_path / "ours" / name).read_bytes()


def test_a_folder_without_any_vocabulary_says_what_to_give(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="no vocabulary .*lies there; give its own path"):
        albert_tf.load_tokenizer(folder)
