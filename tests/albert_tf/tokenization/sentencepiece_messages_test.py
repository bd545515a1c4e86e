"""Our messages of sentencepiece are those that its package describes."""

import pytest

from albert_tf.tokenization.sentencepiece_messages import new_model, new_text
from tests.support.sentencepiece_classes import published_class


@pytest.fixture(scope="module")
def theirs():
    """The package's own descriptions."""
    return (
        published_class("sentencepiece_model_pb2", "ModelProto"),
        published_class("sentencepiece_pb2", "SentencePieceText"),
    )


def fields_of(descriptor):
    """The fields of a message and of those in it: name, number, type, default."""
    found = {}
    for field in descriptor.fields:
        found[field.name] = (field.number, field.type, field.is_repeated, field.default_value)
        if field.message_type is not None:
            found |= {f"{field.name}.{name}": value for name, value in fields_of(field.message_type).items()}
    return found


def test_every_field_is_theirs(theirs):
    for ours, theirs_class in zip((new_model(), new_text()), theirs, strict=True):
        described, known = fields_of(ours.DESCRIPTOR), fields_of(theirs_class.DESCRIPTOR)
        assert described == {name: known[name] for name in described}
    (model_class, _) = theirs
    for name in ("NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "UNUSED", "BYTE"):
        assert getattr(new_model().SentencePiece, name) == getattr(model_class.SentencePiece, name)
    assert new_model().trainer_spec.UNIGRAM == model_class().trainer_spec.UNIGRAM


def test_a_model_that_passes_through_is_the_same_model(theirs, small_model):
    model_class, _ = theirs
    with open(small_model, "rb") as file:
        contents = file.read()
    ours = new_model()
    ours.ParseFromString(contents)
    assert model_class.FromString(ours.SerializeToString()) == model_class.FromString(contents)
    assert len(ours.pieces) == len(model_class.FromString(contents).pieces)


def test_fields_that_are_not_named_are_kept(theirs):
    model_class, _ = theirs
    given = model_class()
    given.trainer_spec.character_coverage = 0.5
    given.denormalizer_spec.name = "other"
    ours = new_model()
    ours.ParseFromString(given.SerializeToString())
    assert model_class.FromString(ours.SerializeToString()) == given
