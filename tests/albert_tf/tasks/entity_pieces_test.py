"""Entities as tags of pieces and back: by hand, and every entity of odd texts that whole pieces are, exactly."""

import random

import numpy as np
import pytest

from albert_tf.inputs.finetuning_features import NOTE_PREFIX, FeatureSet
from albert_tf.tasks.entity_files import Entity, MarkedText
from albert_tf.tasks.entity_pieces import (
    EXACT,
    FATES,
    FATES_NOTE,
    LOST,
    OVERLAPPING,
    PIECES,
    WITHIN,
    describe_fates,
    entity_features,
    found_entities,
    tag_names,
    tag_pieces,
)
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.alignment import align, is_visible
from albert_tf.tokenization.word_pieces import WordPieceTokenizer
from tests.support.word_pieces import write_word_pieces

TAGS = tag_names(("DAY", "PLACE"))
# Accents of both kinds, a ligature, characters of several pieces, ideographs, Hangul, emoji with and without their
# variation, joined ones, what is dropped and what is a space.
CHARACTERS = (
    "abcZ 12,.'-\t\n\u00a0éÉ\u0301\u0327ﬁ①½㎏日本한국\u1100\u1161ß\u200b\u200d\u00ad\0"
    "\U0001f600\u2764\ufe0f\U0001f468१９ह\u093f…\u00b4\u00a8\u2581\ufffd"
)


@pytest.fixture
def word_pieces(tmp_path):
    """A WordPiece vocabulary, which knows few of the characters."""
    return WordPieceTokenizer(write_word_pieces(tmp_path / "vocab.txt"))


def answers_of(features):
    """Logits whose highest is the label of each piece; nonsense where none is scored."""
    rng = np.random.default_rng(0)
    rows = []
    for feature in features:
        label = np.asarray(feature.label)
        row = rng.normal(size=(len(label) + 3, len(TAGS)))
        row[: len(label)] += 50.0 * (label[:, None] == np.arange(len(TAGS)))
        rows.append(row.astype(np.float32))
    return rows


def found_again(tokenizer, text, entities, **lengths):
    """The entities that a model which knows every label finds, and what became of those that were given."""
    example = MarkedText("0", text, tuple(entities))
    features = entity_features(0, example, tokenizer, TaskSettings(**lengths), TAGS)
    (found,) = found_entities(1, features, answers_of(features), TAGS)
    return [one.entity for one in found], list(features[0].notes[FATES_NOTE])


def random_case(rng):
    """A text of odd characters, and entities of it that do not overlap, with visible ends."""
    text = "".join(rng.choices(CHARACTERS, k=rng.randint(1, 40)))
    places = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 8)))
    entities = []
    for start, end in zip(places[::2], places[1::2]):
        if start < end and is_visible(text[start]) and is_visible(text[end - 1]):
            entities.append(Entity(rng.choice(("DAY", "PLACE")), start, end))
    return text, entities


@pytest.mark.parametrize("vocabulary", ["tokenizer", "word_pieces"])
def test_every_entity_that_whole_pieces_are_is_found_exactly(vocabulary, request):
    tokenizer, rng = request.getfixturevalue(vocabulary), random.Random(0)
    totals = np.zeros(len(FATES), int)
    for _ in range(300):
        text, entities = random_case(rng)
        stride = rng.randint(1, 9)
        found, fates = found_again(tokenizer, text, entities, max_seq_length=rng.randint(4, 12), doc_stride=stride)
        pieces = align(tokenizer, text)
        visible = pieces.starts < pieces.ends
        begins, finishes = set(pieces.starts[visible].tolist()), set(pieces.ends[visible].tolist())
        possible = {one for one in entities if one.start in begins and one.end in finishes}
        assert possible <= set(found), (text, entities)
        assert not (set(entities) - possible) & set(found)
        assert (fates[EXACT], sum(fates)) == (len(possible), len(entities))
        totals += fates
    assert totals[EXACT] > 60
    assert totals[WITHIN] > 5


def test_pieces_of_an_entity_have_its_tags_and_spaces_none(tokenizer):
    text = "In \t Paris, 12 May"
    example = MarkedText("0", text, (Entity("PLACE", 5, 10), Entity("DAY", 12, 18)))
    [feature] = entity_features(3, example, tokenizer, TaskSettings(), TAGS)
    aligned = align(tokenizer, text)
    names = ["-" if number < 0 else TAGS[number] for number in feature.label]
    assert (names[0], names[-1], feature.example) == ("-", "-", 3)
    tagged = {}
    for start, end, name in zip(aligned.starts, aligned.ends, names[1:-1], strict=True):
        assert (name == "-") == (start == end)
        tagged.setdefault(name.rpartition("-")[2], []).append((text[start:end], name[0]))
    assert "".join(piece for piece, _ in tagged["PLACE"]) == "Paris"
    assert "".join(piece for piece, _ in tagged["DAY"]) == "12May"
    for kind in ("PLACE", "DAY"):
        assert [prefix for _, prefix in tagged[kind]] == ["B", *"I" * (len(tagged[kind]) - 1)]


def test_neighbours_of_one_kind_are_two_entities(tokenizer):
    days = [Entity("DAY", 0, 2), Entity("DAY", 3, 5), Entity("DAY", 5, 6)]
    assert found_again(tokenizer, "12 13,", days)[0] == days


@pytest.mark.parametrize(("max_seq_length", "doc_stride"), [(5, 1), (6, 3), (9, 100), (64, 7)])
def test_an_entity_across_windows_is_one(tokenizer, max_seq_length, doc_stride):
    text = "x 1 2 3 4 5 6 7 8 9 y " * 3
    whole = Entity("DAY", 2, 41)
    found, fates = found_again(tokenizer, text, [whole], max_seq_length=max_seq_length, doc_stride=doc_stride)
    assert (found, fates[EXACT]) == ([whole], 1)
    features = entity_features(
        0, MarkedText("0", text), tokenizer, TaskSettings(max_seq_length=max_seq_length, doc_stride=doc_stride)
    )
    counted = [number for feature in features for number in feature.notes[PIECES] if number]
    aligned = align(tokenizer, text)
    assert counted == (np.flatnonzero(aligned.starts < aligned.ends) + 1).tolist()
    assert all(feature.label is None and len(feature.input_ids) <= max_seq_length for feature in features)


def test_of_entities_that_overlap_the_longest_whole_one_is_learnt(tokenizer):
    text = "the river city 1995"
    pieces = align(tokenizer, text)
    outer, inner = Entity("PLACE", 4, 14), Entity("DAY", 10, 14)
    assert found_again(tokenizer, text, [inner, outer]) == ([outer], [1, 0, 1, 0, 0])
    within = Entity("DAY", 5, 14)
    assert tag_pieces(pieces, [within, inner], TAGS)[1] == [1, 0, 1, 0, 0]
    assert tag_pieces(pieces, [within], TAGS)[1] == [0, 1, 0, 0, 0]


def test_what_became_of_entities_is_said():
    notes = np.array([5, 1, 0, 0, 0, 1, 0, 2, 1000, 0])
    said = describe_fates({FATES_NOTE: notes})
    assert said.startswith(
        "6 of 1,009 entities are whole pieces, and can be found exactly; 1 begin or end within a piece"
    )
    assert "; 2 share pieces with one" in said
    assert said.endswith("; 1,000 are of characters that have no pieces")
    spans = describe_fates({FATES_NOTE: np.array([3, 0, 0, 0, 2])}, "spans")
    assert spans.startswith("3 of 5 spans are whole pieces, and can be found exactly; 2 have more pieces than --max_")
    assert LOST, OVERLAPPING
    assert describe_fates({}) == describe_fates({FATES_NOTE: np.zeros(5)}) == ""


def test_counts_survive_the_cache_of_features(tokenizer):
    texts = [MarkedText("0", "paris 12 " * 9, (Entity("PLACE", 0, 5),)), MarkedText("1", "", ())]
    settings = TaskSettings(max_seq_length=8, doc_stride=3)
    made = [one for index, text in enumerate(texts) for one in entity_features(index, text, tokenizer, settings, TAGS)]
    again = FeatureSet.from_arrays(
        FeatureSet.from_features(made, "token_classification").to_arrays(), "token_classification"
    )
    columns = {name.removeprefix(NOTE_PREFIX): column.values for name, column in again.columns.items()}
    assert describe_fates(columns) == "1 of 1 entities are whole pieces, and can be found exactly"
    assert [one.entity for one in found_entities(2, again, answers_of(made), TAGS)[0]] == list(texts[0].entities)


def test_a_character_of_several_pieces_is_in_one_entity(tokenizer):
    [feature] = entity_features(0, MarkedText("0", "½"), tokenizer, TaskSettings())
    logits = np.full((len(feature.input_ids), len(TAGS)), -9.0)
    logits[1::2, TAGS.index("B-DAY")] = logits[2::2, TAGS.index("B-PLACE")] = 9.0
    [found] = found_entities(1, [feature], [logits], TAGS)
    assert len(found) == 1
    assert found[0].entity[1:] == (0, 1)
    assert found[0].score > 0.99
