"""Flags that are declared from settings: their types, defaults and allowed words, and the values they give back."""

import dataclasses
from typing import Annotated

import pytest
from absl import flags

from albert_tf.runtime.flag_help import grouped_flags
from albert_tf.runtime.settings import OneOf, StrPath
from albert_tf.runtime.settings_flags import define_flags_of, flag_lines, values_of


@dataclasses.dataclass(frozen=True)
class _Settings:
    input_file: Annotated[StrPath, "Input."]
    length: Annotated[int, "Length."] = 5
    share: Annotated[float | None, "Share."] = None
    quick: Annotated[bool, "Quick."] = False
    form: Annotated[str, OneOf("round", "square"), "Form."] = "round"
    kind: Annotated[str | None, OneOf("a", "b"), "Kind."] = None
    parts: Annotated[tuple[str, ...], "Parts."] = ()


NAMES = ["quick", "input_file", "length", "share", "form", "kind"]


@pytest.fixture
def given():
    values = flags.FlagValues()
    define_flags_of(_Settings, "Shape", values, NAMES)
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
        name: getattr(_Settings, name) for name in NAMES if name != "input_file"
    }


def test_they_stand_under_their_title_in_their_order(given):
    assert [flag.name for flag in grouped_flags(given)["Shape"]] == NAMES
    assert [flag.help for flag in grouped_flags(given)["Shape"]][1:4] == ["Input.", "Length.", "Share."]


def test_a_list_is_a_tuple_in_the_settings():
    values = flags.FlagValues()
    define_flags_of(_Settings, "Shape", values, ["parts"])
    values(["command", "--parts=a,b"])
    assert values_of(_Settings, values) == {"parts": ("a", "b")}


def test_a_command_may_have_a_default_of_its_own():
    values = flags.FlagValues()
    define_flags_of(_Settings, "Shape", values, ["quick", "length"], but={"quick": True})
    values(["command"])
    assert values_of(_Settings, values) == {"quick": True, "length": 5}


@pytest.mark.parametrize("argument", ["--form=oval", "--length=long", "--share=half", "--parts=a"])
def test_what_the_settings_cannot_hold_is_refused(given, argument):
    with pytest.raises(flags.Error):
        given(["command", argument])


def test_settings_as_a_flag_file_give_the_same_settings(given, tmp_path):
    settings = _Settings("a b=c", length=7, quick=True, kind="b")
    (tmp_path / "some.flags").write_text(flag_lines(settings, but=["parts"]))
    given(["command", f"--flagfile={tmp_path / 'some.flags'}"])
    assert _Settings(**values_of(_Settings, given)) == settings
    assert not given["share"].present
    assert flag_lines(dataclasses.replace(settings, parts=("a", "b"))).endswith("--kind=b\n--parts=a,b\n")
