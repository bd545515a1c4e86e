"""Flags that are declared from settings: their types, defaults and allowed words, and the values they give back."""

import dataclasses
import os
import typing

import pytest
from absl import flags

from albert_tf.runtime.choices import check_choices
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.flag_help import grouped_flags
from albert_tf.runtime.settings_flags import define_flags_of, values_of


@dataclasses.dataclass(frozen=True)
class _Settings:
    input_file: str | os.PathLike[str]
    length: int = 5
    share: float | None = None
    quick: bool = False
    form: str = "round"
    kind: str | None = None
    parts: tuple[str, ...] = ()

    CHOICES: typing.ClassVar = {"form": ("round", "square"), "kind": ("a", "b")}

    def __post_init__(self):
        check_choices(self)


TEXTS = {name: f"{name}." for name in ("quick", "input_file", "length", "share", "form", "kind")}


@pytest.fixture
def given():
    values = flags.FlagValues()
    define_flags_of(_Settings, "Shape", TEXTS, values)
    return values


def test_flags_have_the_types_and_defaults_of_the_settings(given):
    given(["command", "--length=7", "--share=0.5", "--quick", "--form=square", "--input_file=x"])
    values = values_of(_Settings, given)
    assert values == {
        **{"input_file": "x", "length": 7, "share": 0.5, "quick": True, "form": "square", "kind": None},
    }
    assert _Settings(**values) == _Settings("x", 7, 0.5, True, "square")


def test_what_is_left_out_is_the_default(given):
    given(["command"])
    assert values_of(_Settings, given, but=("input_file",)) == {
        name: getattr(_Settings, name) for name in TEXTS if name != "input_file"
    }


def test_they_stand_under_their_title_in_their_order(given):
    assert [flag.name for flag in grouped_flags(given)["Shape"]] == list(TEXTS)
    assert [flag.help for flag in grouped_flags(given)["Shape"]][1:4] == ["input_file.", "length.", "share."]


@pytest.mark.parametrize("argument", ["--form=oval", "--length=long", "--share=half", "--parts=a"])
def test_what_the_settings_cannot_hold_is_refused(given, argument):
    with pytest.raises(flags.Error):
        given(["command", argument])


@pytest.mark.parametrize(("name", "words"), [("form", "round, square"), ("kind", "a, b")])
def test_a_word_that_is_not_allowed_is_one_line(name, words):
    with pytest.raises(InputError, match=rf"^--{name} must be one of {words}\. Received 'oval'\.$"):
        _Settings("x", **{name: "oval"})
