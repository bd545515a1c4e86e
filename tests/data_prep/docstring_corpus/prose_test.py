"""Prose extraction: what is kept and what is dropped, on small texts in the styles that docstrings are written in."""

import textwrap

import pytest

from data_prep.docstring_corpus.prose import count_sentences, is_prose, prose_paragraphs

KEPT = "This is a sentence that is kept in the corpus."


def paragraphs(text):
    return prose_paragraphs(textwrap.dedent(text))


def test_lines_of_a_paragraph_are_joined_and_blank_lines_separate():
    text = """The first line of it
        is continued on the second one.

        And this is another paragraph of the text."""
    assert prose_paragraphs(text) == [
        "The first line of it is continued on the second one.",
        "And this is another paragraph of the text.",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "```python\nThis is a line of code in a fence.\n\nAnd this is also in the fence.\n```",
        ">>> describe()\nThis is the output of the doctest here.",
        "Example::\n\n    This is in a block that is literal.\n\n    And so is this one in it.",
        ".. code-block:: python\n\n    This is in a block that is literal.",
        ".. _label: this is a target and it is not shown.",
        ":param name: This is the description of a parameter.",
        "Args:\n    name: This is the description of a parameter.\n\n    other: This is the one of another.",
        "Parameters\n----------\nname : int\n    This is the description of a parameter.\n\nThis is in the section.",
        "+----+----+\n| This is a table | and it is dropped. |\n+----+----+",
        "[1] A. Author, This is a reference to it. https://example.org.",
        "if x[0] == 1 and not y(z): return {a_b: [c, d] for c in f(g)}.",
    ],
)
def test_code_and_listings_are_dropped(code):
    assert paragraphs(f"{KEPT}\n\n{code}\n") == [KEPT]


def test_text_after_a_listing_is_kept():
    parameters = "Parameters\n----------\nx : int\n    It is a name for the thing.\n"
    assert paragraphs(f"{parameters}\nNotes\n-----\n{KEPT}\n") == [KEPT]
    assert paragraphs(f"Args:\n    x: It is a name for the thing.\n\n{KEPT}") == [KEPT]


def test_the_text_of_a_note_is_kept():
    assert paragraphs(f".. note::\n\n    {KEPT}") == [KEPT]


def test_bullets_are_paragraphs_of_their_own():
    text = "- The first of them is here\n  and is continued.\n- The second of them is here.\n* short"
    assert paragraphs(text) == ["The first of them is here and is continued.", "The second of them is here."]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("Use :class:`~package.module.Thing` for it.", "Use Thing for it."),
        ("Use :func:`the thing <package.thing>` for it.", "Use the thing for it."),
        ("Use ``code`` and `name` for all of it.", "Use code and name for all of it."),
        ("Use **this** and *that* for all of it.", "Use this and that for all of it."),
        ("Use [the thing](https://example.org/a) for it.", "Use the thing for it."),
        ("Use what was said there [1]_ for it.", "Use what was said there for it."),
        (r"Use \a name when you have it.", "Use name when you have it."),
        ("Multiply 2 * 3 to have it * 4 in the end.", "Multiply 2 * 3 to have it * 4 in the end."),
    ],
)
def test_markup_is_removed(marked, plain):
    assert paragraphs(f"It is so. {marked}") == [f"It is so. {plain}"]


@pytest.mark.parametrize(
    "text",
    [
        "Too short to be kept.",
        "this has no full stop at the end of it",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa.",
        "x = [1, 2, 3] + (4 if a else {5: 6}) # and the rest.",
        "See https://example.org/page for the rest of it.",
        "It is a " + "x" * 41 + " and it is in the middle.",
    ],
)
def test_what_is_not_prose_is_refused(text):
    assert not is_prose(text)


def test_sentences_are_counted_by_their_ends():
    assert count_sentences('It costs 3.50 in all. He said "no!" Is it a.b.c?') == 3


def test_an_unclosed_fence_drops_the_rest():
    assert paragraphs(f"{KEPT}\n\n```\n{KEPT}\n") == [KEPT]


def test_text_without_prose_gives_nothing():
    assert prose_paragraphs("") == []
    assert prose_paragraphs("x\n=\n") == []


def test_links_whose_text_ends_and_brackets_that_do_not():
    assert paragraphs("An array[0 of it and [the text](there.html) of a link are here.") == [
        "An array[0 of it and the text of a link are here."
    ]


@pytest.mark.parametrize(("many", "kept"), [("[" * 200_000, ""), (" " * 200_000, "This is a sentence of the corpus.")])
def test_a_long_line_is_read_in_one_go(many, kept):
    # Patterns that were tried from every place anew took minutes for either.
    assert prose_paragraphs(f"This is a sentence {many} of the corpus.") == ([kept] if kept else [])
