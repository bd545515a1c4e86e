"""Rows of SuperGLUE to texts, by hand: words in quotation marks, pronouns, connectives; labels; bad rows."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.row_files import NamedRow
from albert_tf.tasks.superglue_rows import ROW_FORMS, answers_of, index_of, label_of, places_of, whole_number

WIC = {
    "word": "place",
    "sentence1": "Do you want to come over to my place later?",
    "sentence2": "A political system with no place for the less prominent groups.",
    "start1": 31,
    "end1": 36,
    "start2": 27,
    "end2": 32,
}
WSC_TEXT = (
    "Mark told Pete many lies about himself, which Pete included in his book. He should have been more skeptical."
)
WSC = {"text": WSC_TEXT, "span1_index": 0, "span1_text": "Mark", "span2_index": 13, "span2_text": "He"}
COPA = {
    "premise": "My body cast a shadow.",
    "choice1": "The sun rose.",
    "choice2": "Grass was cut.",
    "question": "cause",
}


def fields(name, values):
    return ROW_FORMS[name].fields(NamedRow("a row", 0, values))


def row(**values):
    return NamedRow("a row", 0, values)


def test_every_pair_of_columns_is_a_text_and_another():
    assert fields("boolq", {"question": "is it", "passage": "It is."}) == {"text": "It is.", "text_pair": "is it"}
    for name in ("cb", "superglue_rte", "ax-g"):
        assert fields(name, {"premise": "A", "hypothesis": "B"}) == {"text": "A", "text_pair": "B"}
    assert fields("ax-b", {"sentence1": "A", "sentence2": "B"}) == {"text": "A", "text_pair": "B"}


def test_the_word_of_wic_stands_before_the_sentences_and_in_quotation_marks():
    wanted = {
        "text": 'place: Do you want to come over to my " place " later?',
        "text_pair": 'A political system with no " place " for the less prominent groups.',
    }
    assert fields("wic", WIC) == wanted
    # A CSV file has digits.
    assert fields("wic", {name: str(value) for name, value in WIC.items()}) == wanted


def test_the_quoted_word_has_the_pieces_that_it_has_alone(tokenizer):
    alone = tokenizer.encode("river")
    quoted = tokenizer.encode(fields("wic", WIC | {"sentence1": "the river", "start1": 4, "end1": 9})["text"])
    starts = [at for at in range(len(quoted)) if quoted[at : at + len(alone)] == alone]
    assert starts == [len(quoted) - len(alone) - len(tokenizer.encode('"'))]


def test_the_pronoun_of_wsc_is_quoted_where_its_number_says_in_both_forms():
    wanted = {"text": WSC_TEXT.replace("He ", '" He " '), "text_pair": "Mark"}
    assert fields("wsc", WSC) == wanted
    target = {name: value for name, value in WSC.items() if name != "text"}
    assert fields("wsc", {"text": WSC_TEXT, "target": target}) == wanted


def test_a_pronoun_whose_number_is_off_is_the_nearest():
    text = "He saw him, and he left."
    base = {"text": text, "span1_text": "him", "span2_text": "he"}
    assert fields("wsc", base | {"span2_index": 0})["text"] == '" He " saw him, and he left.'
    assert fields("wsc", base | {"span2_index": 3})["text"] == 'He saw him, and " he " left.'
    with pytest.raises(InputError, match="a row: 'span2_text', 'she', does not stand in the text"):
        fields("wsc", base | {"span2_index": 0, "span2_text": "she"})


def test_copa_asks_for_a_cause_by_because_and_for_an_effect_by_so():
    wanted = {"article": COPA["premise"], "question": "because", "options": [COPA["choice1"], COPA["choice2"]]}
    assert fields("copa", COPA) == wanted
    assert fields("copa", COPA | {"question": "effect"})["question"] == "so"
    with pytest.raises(InputError, match="a row: 'question' must be cause or effect; received 'why'"):
        fields("copa", COPA | {"question": "why"})


def test_an_answer_of_multirc_stands_after_its_question():
    values = {"paragraph": "It rained.", "question": "Did it rain?", "answer": "Yes"}
    assert fields("multirc", values) == {"text": "It rained.", "text_pair": "Did it rain? Yes"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"start1": 36}, "from 'start1' to 'end1', 36 to 36, is no part of a sentence of 43"),
        ({"end2": 99}, "from 'start2' to 'end2', 27 to 99, is no part of a sentence of 63"),
        ({"start1": -1}, "'start1' must be a whole number from 0; received -1"),
        ({"start1": "x"}, "'start1' must be a whole number from 0; received 'x'"),
        ({"end1": True}, "'end1' must be a whole number from 0; received True"),
        ({"sentence2": None}, "the row has no value of 'sentence2'"),
    ],
)
def test_a_word_that_is_not_there_is_one_line(values, message):
    with pytest.raises(InputError, match=f"a row: {message}"):
        fields("wic", WIC | values)


def test_a_form_tells_the_rows_that_it_can_read():
    assert ROW_FORMS["wsc"].fits({"text", "target", "idx"})
    assert ROW_FORMS["wsc"].fits(WSC)
    assert not ROW_FORMS["wsc"].fits({"text", "text_pair"})
    assert not ROW_FORMS["copa"].fits({"premise", "question", "options"})


def test_a_label_is_a_name_a_number_or_a_truth_value():
    names, truth = ("entailment", "contradiction", "neutral"), ("false", "true")
    assert [label_of(row(label=value), names, False) for value in ("neutral", 1, "2", "Entailment ")] == [2, 1, 2, 0]
    assert [label_of(row(label=value), truth, False) for value in (True, False, "True", 0, "1")] == [1, 0, 1, 0, 1]
    assert [label_of(values, truth, True) for values in (row(), row(label=-1), row(label=None), row(label=""))] == [
        None
    ] * 4
    with pytest.raises(InputError, match="a row: the row has no label; they are false, true"):
        label_of(row(label=-1), truth, False)
    for value in (3, "maybe", True, 0.5):
        with pytest.raises(InputError, match=r"a row: unknown label .*; the labels are entailment, contradiction"):
            label_of(row(label=value), names, False)


def test_numbers_of_rows_are_theirs_or_counted():
    assert [index_of(row(idx=7), 0), index_of(row(), 3), index_of(row(idx="8"), 0)] == ["7", "3", "8"]
    assert whole_number(row(idx="12"), "idx") == 12
    with pytest.raises(InputError, match="a row: 'idx' must be a whole number"):
        index_of(row(idx="x7"), 0)


def test_an_answers_three_numbers_are_read_from_json_and_from_csv():
    numbers = {"paragraph": 4, "question": 0, "answer": 2}
    assert places_of(row(idx=numbers)) == places_of(row(idx=str(numbers))) == (4, 0, 2)
    for bad in ("{", "[1]", 5, None, "__import__('os')"):
        with pytest.raises(InputError, match="a row: 'idx' must be an object with paragraph, question, answer"):
            places_of(row(idx=bad))
    with pytest.raises(InputError, match="a row: 'answer' must be a whole number from 0; received None"):
        places_of(row(idx={"paragraph": 4, "question": 0}))


def test_a_passage_gives_a_row_for_each_answer():
    questions = [
        {"question": "Q?", "idx": 3, "answers": [{"text": "x", "idx": 9, "label": 1}, {"text": "y", "idx": 10}]},
        {"question": "R?", "idx": 4, "answers": []},
    ]
    found = [one.values for one in answers_of(row(idx=5, passage={"text": "P", "questions": questions}))]
    shared = {"paragraph": "P", "question": "Q?"}
    assert found == [
        {**shared, "answer": "x", "idx": {"paragraph": 5, "question": 3, "answer": 9}, "label": 1},
        {**shared, "answer": "y", "idx": {"paragraph": 5, "question": 3, "answer": 10}, "label": None},
    ]
    for passage in (None, {"text": "P"}, {"text": "P", "questions": ["Q?"]}):
        with pytest.raises(InputError, match="a row: 'questions' must be a list of objects"):
            list(answers_of(row(idx=5, passage=passage)))
    with pytest.raises(InputError, match="a row: 'answers' must be a list of objects"):
        list(answers_of(row(idx=5, passage={"text": "P", "questions": [{"question": "Q?"}]})))
