"""Spans as pieces and back: by hand, and every span of odd texts that whole pieces are, exactly, in any windows."""

import random

import numpy as np
import pytest

from albert_tf.inputs.finetuning_features import NOTE_PREFIX, FeatureSet
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entity_files import Entity, MarkedText
from albert_tf.tasks.entity_pieces import EXACT, FATES_NOTE, LOST, PIECES, TOO_LONG, WITHIN, describe_fates
from albert_tf.tasks.span_pieces import found_spans, own_places, span_ends, span_features, span_stride
from albert_tf.tasks.squad_windows import cut_windows
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.alignment import align, is_visible
from albert_tf.tokenization.word_pieces import WordPieceTokenizer
from tests.support.word_pieces import write_word_pieces

LABELS = ("DAY", "PLACE")
CHARACTERS = (
    "abcZ 12,.'-\t\n\u00a0éÉ\u0301\u0327ﬁ①½㎏日本한국\u1100\u1161ß\u200b\u200d\u00ad\0"
    "\U0001f600\u2764\ufe0f\U0001f468१９ह\u093f…\u00b4\u00a8\u2581\ufffd"
)


@pytest.fixture
def word_pieces(tmp_path):
    """A WordPiece vocabulary, which knows few of the characters."""
    return WordPieceTokenizer(write_word_pieces(tmp_path / "vocab.txt"))


def answers_of(features, widest):
    """Logits that are above 0 for the labels of each feature, and where nothing is scored nonsense."""
    rng = np.random.default_rng(0)
    rows = []
    for feature in features:
        length = len(feature.input_ids)
        row = rng.normal(size=(length + 3, widest, len(LABELS))).astype(np.float32)
        scored = np.flatnonzero(np.asarray(feature.p_mask) == 0)
        row[scored] = -5.0
        row.reshape(-1)[list(feature.label)] = 5.0
        rows.append(row)
    return rows


def found_again(tokenizer, text, spans, **lengths):
    """The spans that a model which knows every label finds, and what became of those that were given."""
    settings = TaskSettings(**lengths)
    features = span_features(0, MarkedText("0", text, tuple(spans)), tokenizer, settings, LABELS)
    (found,) = found_spans(1, features, answers_of(features, settings.max_span_length), LABELS)
    return [one.entity for one in found], list(features[0].notes[FATES_NOTE])


def random_case(rng):
    """A text of odd characters, and spans of it with visible ends, which may overlap."""
    text = "".join(rng.choices(CHARACTERS, k=rng.randint(1, 40)))
    spans = set()
    for _ in range(rng.randint(0, 8)):
        start, end = sorted(rng.choices(range(len(text) + 1), k=2))
        if start < end and is_visible(text[start]) and is_visible(text[end - 1]):
            spans.add(Entity(rng.choice(LABELS), start, end))
    return text, sorted(spans)


@pytest.mark.parametrize("vocabulary", ["tokenizer", "word_pieces"])
def test_every_span_that_whole_pieces_are_is_found_exactly(vocabulary, request):
    tokenizer, rng = request.getfixturevalue(vocabulary), random.Random(0)
    totals = np.zeros(5, int)
    for _ in range(300):
        text, spans = random_case(rng)
        widest = rng.randint(1, 12)
        lengths = {"max_seq_length": 2 * widest + rng.randint(3, 8), "doc_stride": rng.randint(1, 9)}
        found, fates = found_again(tokenizer, text, spans, max_span_length=widest, **lengths)
        pieces = align(tokenizer, text)
        begins, finishes = (set(at[keep].tolist()) for at, keep in zip((pieces.starts, pieces.ends), span_ends(pieces)))
        short = {one for one in spans if (at := pieces.pieces_of(one.start, one.end)) and at[1] - at[0] < widest}
        possible = {one for one in spans if one.start in begins and one.end in finishes}
        assert (possible & short) <= set(found), (text, spans)
        assert not (set(spans) - possible) & set(found)
        assert len(found) == len(set(found))
        assert sum(fates) == len(spans)
        totals += fates
    assert totals[EXACT] > 120
    assert totals[WITHIN] > 5
    assert totals[TOO_LONG] > 20


def test_spans_may_nest_cross_and_have_several_labels(tokenizer):
    text = "the river city 1995"
    spans = [
        *(Entity("DAY", 0, 14), Entity("PLACE", 0, 14), Entity("PLACE", 4, 9)),
        *(Entity("DAY", 4, 19), Entity("PLACE", 10, 14)),
    ]
    found, fates = found_again(tokenizer, text, spans)
    assert (found, fates) == (spans, [5, 0, 0, 0, 0])


def test_a_label_is_the_number_of_its_piece_its_width_and_its_class(tokenizer):
    text = "in paris"
    pieces = align(tokenizer, text)
    example = MarkedText("0", text, (Entity("PLACE", 3, 8),))
    [feature] = span_features(2, example, tokenizer, TaskSettings(max_span_length=8), LABELS)
    first, last = pieces.pieces_of(3, 8)
    assert feature.label == [((first + 1) * 8 + last - first) * 2 + 1]
    assert (feature.example, list(feature.input_ids)) == (2, [tokenizer.cls_id, *pieces.ids, tokenizer.sep_id])
    assert list(feature.p_mask) == [1, *(1 - span_ends(pieces)[0].astype(int)), 1]


def test_what_cannot_be_learnt_is_counted(tokenizer):
    text = "a 1995 \u0301 river in the city"
    spans = [Entity("DAY", 3, 6), Entity("PLACE", 9, 26)]
    _, fates = found_again(tokenizer, text, spans, max_span_length=3)
    assert fates[TOO_LONG] == 1
    assert fates[EXACT] + fates[WITHIN] == 1
    nothing = MarkedText("0", "\u200b a", (Entity("DAY", 0, 1),))
    [feature] = span_features(0, nothing, tokenizer, TaskSettings(), LABELS)
    assert (feature.notes[FATES_NOTE][LOST], feature.label) == (1, [])


@pytest.mark.parametrize(
    ("count", "room", "stride", "widest"), [(3, 9, 1, 4), (50, 9, 1, 4), (61, 14, 6, 4), (9, 9, 1, 4)]
)
def test_every_piece_counts_in_one_window_which_holds_its_longest_span(count, room, stride, widest):
    windows = cut_windows(count, room, stride)
    owned = own_places(windows, widest)
    assert [place for begin, end in owned for place in range(begin, end)] == list(range(count))
    for (start, length), (begin, end) in zip(windows, owned, strict=True):
        for place in range(begin, end):
            assert start <= place
            assert min(place + widest, count) <= start + length


def test_windows_overlap_by_two_of_the_longest_spans():
    assert span_stride(TaskSettings(max_seq_length=128, doc_stride=128, max_span_length=16)) == 94
    assert span_stride(TaskSettings(max_seq_length=128, doc_stride=50, max_span_length=16)) == 50
    with pytest.raises(InputError, match="spans of up to max_span_length=16 pieces need a max_seq_length of 35"):
        span_stride(TaskSettings(max_seq_length=34, max_span_length=16))


def test_a_text_without_labels_and_an_empty_one_have_features(tokenizer):
    [feature] = span_features(0, MarkedText("0", ""), tokenizer, TaskSettings())
    assert (feature.label, list(feature.input_ids)) == (None, [tokenizer.cls_id, tokenizer.sep_id])
    assert found_spans(1, [feature], [np.ones((2, 16, 2))], LABELS) == [()]


def test_features_survive_their_cache(tokenizer):
    texts = [MarkedText("0", "paris 12 " * 9, (Entity("PLACE", 0, 5), Entity("DAY", 0, 8))), MarkedText("1", "", ())]
    settings = TaskSettings(max_seq_length=14, doc_stride=3, max_span_length=5)
    made = [one for index, text in enumerate(texts) for one in span_features(index, text, tokenizer, settings, LABELS)]
    again = FeatureSet.from_arrays(FeatureSet.from_features(made, "span_categories").to_arrays(), "span_categories")
    assert [again[at].label for at in range(len(made))] == [tuple(one.label) for one in made]
    columns = {name.removeprefix(NOTE_PREFIX): column.values for name, column in again.columns.items()}
    assert describe_fates(columns, "spans").startswith("1 of 2 spans are whole pieces")
    found = found_spans(2, again, answers_of(made, 5), LABELS)
    assert [len(row) for row in found] == [1, 0]
    assert len(made) > 4
    assert sum(np.count_nonzero(again[at].notes[PIECES]) for at in range(len(made))) > 20
