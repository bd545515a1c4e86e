"""Settings: dataclasses whose fields say once what they are. Check, flags and documentation are made of that.

>>> @described
... @dataclasses.dataclass(frozen=True)
... class Counting:
...     '''Settings for counting neighbours.'''
...
...     input_file: Annotated[StrPath, "Files and globs."]
...     window: Annotated[Count, "Most pieces between two neighbours."] = 2
...     form: Annotated[str, OneOf("pairs", "table"), "Form of the counts."] = "pairs"
...
...     def __post_init__(self):
...         check(self)
>>> print(Counting.__doc__)
Settings for counting neighbours.
<BLANKLINE>
Attributes:
    input_file: Files and globs.
    window: Most pieces between two neighbours.
    form: Form of the counts. One of pairs, table.
<BLANKLINE>
>>> Counting("text", window=0)
Traceback (most recent call last):
albert_tf.runtime.errors.FlagError: window must be at least 1. Received 0.
"""

import dataclasses
import inspect
import numbers
import os
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from absl import logging

from albert_tf.runtime.errors import FlagError

# A path as users give it: text, or an object that stands for one, such as pathlib.Path.
StrPath = str | os.PathLike[str]

_MOST = 2**31 - 1
_KINDS = {bool: "True or False", int: "an integer", float: "a number", str: "text", tuple: "a tuple of texts"}
_Settings = TypeVar("_Settings")


class OneOf:
    """The words that a setting allows."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return f"OneOf{self.words}"

    def explain(self, value: Any) -> str | None:
        """Says what the value must be, unless it is."""
        return None if value in self.words else f"be one of {', '.join(self.words)}"


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The least and the most of an integer."""

    least: int
    most: int = _MOST

    def explain(self, value: Any) -> str | None:
        """Says what the value must be, unless it is."""
        if value < self.least:
            return f"be at least {self.least}"
        return f"be at most {self.most:,}" if value > self.most else None


@dataclasses.dataclass(frozen=True)
class Interval:
    """The numbers that a setting allows, as mathematics writes them: "[0, 1)" has 0 and not 1."""

    text: str

    def explain(self, value: Any) -> str | None:
        """Says where the value must lie, unless it does; NaN lies in none."""
        least, most = map(float, self.text[1:-1].split(","))
        above = least <= value if self.text.startswith("[") else least < value
        below = value <= most if self.text.endswith("]") else value < most
        return None if above and below else f"lie in {self.text}"


@dataclasses.dataclass(frozen=True)
class OnlyWith:
    """The other setting by which one has an effect at all.

    Attributes:
        name: of the other.
        value: that it must have; left out: any but None; None: it must be left out.
    """

    name: str
    value: Any = ...

    def explain_idle(self, settings: Any) -> str | None:
        """Says beside what the one has no effect, unless it has one."""
        value = getattr(settings, self.name)
        if value is None if self.value is ... else value != self.value:
            return f"without --{self.name}" if value is None else f"with --{self.name}={value}"
        return None


Count = Annotated[int, Bounds(1)]
# What is counted in a corpus may be more than 2^31.
LongCount = Annotated[int, Bounds(1, 2**63 - 1)]
CountOrNone = Annotated[int, Bounds(0)]
Seed = Annotated[int, Bounds(0, 2**32 - 1)]
Share = Annotated[float, Interval("[0, 1)")]
_Rule = OneOf | Bounds | Interval


@dataclasses.dataclass(frozen=True)
class Described:
    """A field of settings, as its annotation describes it.

    Attributes:
        kinds: the types of its values.
        rules: what they must be besides.
        text: its meaning.
        default: dataclasses.MISSING if it has to be given.
        only_with: the setting by which it has an effect; None: it always has.
    """

    kinds: tuple[type, ...]
    rules: tuple[_Rule, ...]
    text: str
    default: Any
    only_with: OnlyWith | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words it allows; () for any."""
        return next((rule.words for rule in self.rules if isinstance(rule, OneOf)), ())


def fields_of(kind: type) -> Mapping[str, Described]:
    """The fields of a settings dataclass by name.

    A subclass may change a default without saying again what the field means and allows: `window: int = 5`. One that
    says either replaces the rules.
    """
    hints = [typing.get_type_hints(part, include_extras=True) for part in kind.__mro__[:-1]]
    described = {}
    for field in dataclasses.fields(kind):
        own = [_take_apart(part[field.name]) for part in hints if field.name in part]
        rules = next((rules for _, rules, text, _ in own if rules or text), ())
        text = next((text for _, _, text, _ in own if text), "")
        only_with = next((other for *_, other in own if other), None)
        described[field.name] = Described(own[0][0], rules, text, field.default, only_with)
    return described


def _take_apart(hint: Any) -> tuple[tuple[type, ...], tuple[_Rule, ...], str, OnlyWith | None]:
    """The plain types, rules, text and OnlyWith in an annotation, such as `Annotated[Count | None, "..."]`."""
    if typing.get_origin(hint) is Annotated:
        inner, *extras = typing.get_args(hint)
        kinds, rules, text, other = _take_apart(inner)
        rules += tuple(extra for extra in extras if isinstance(extra, _Rule))
        text = next((extra for extra in extras if isinstance(extra, str)), text)
        return kinds, rules, text, next((extra for extra in extras if isinstance(extra, OnlyWith)), other)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        parts = [_take_apart(part) for part in typing.get_args(hint)]
        kinds = tuple(kind for part in parts for kind in part[0])
        return kinds, tuple(rule for part in parts for rule in part[1]), "", None
    return (typing.get_origin(hint) or hint,), (), "", None


def described(kind: type[_Settings]) -> type[_Settings]:
    """Adds to the docstring of a settings dataclass what its fields mean; its signature shows their types alone."""
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Attributes:"]
    for name, field in fields_of(kind).items():
        words = f" One of {', '.join(field.words)}." if field.words else ""
        lines += [f"    {name}: {field.text}{words}"] if field.text else []
    kind.__doc__ = "\n".join([*lines, ""])
    hints, init = typing.get_type_hints(kind), vars(kind)["__init__"]
    init.__annotations__ = {name: hints.get(name, hint) for name, hint in init.__annotations__.items()}
    return kind


def check(settings: Any) -> None:
    """Checks every field of settings by its type and rules; paths become their texts, NumPy's numbers Python's.

    The `__post_init__` of a settings dataclass calls it first. A list is as good as a tuple, and None is allowed where
    it is the default.

    Raises:
        FlagError: a value of another type, or one that its rules forbid.
    """
    for name, field in fields_of(type(settings)).items():
        value = getattr(settings, name)
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
            object.__setattr__(settings, name, value)
        wanted = None if value is None and field.default is None else explain(value, field)
        if wanted:
            raise FlagError(f"--{name} must {wanted}. Received {value!r}.")
        if isinstance(value, numbers.Real) and not isinstance(value, int | float):
            object.__setattr__(settings, name, int(value) if isinstance(value, numbers.Integral) else float(value))


def warn_of_idle(settings: Any) -> None:
    """Logs which settings were given, as other than their defaults, though another leaves them without effect."""
    for name, field in fields_of(type(settings)).items():
        value = getattr(settings, name)
        beside = None if field.only_with is None else field.only_with.explain_idle(settings)
        if beside and value != field.default:
            logging.warning("--%s=%s has no effect %s", name, value, beside)


def explain(value: Any, field: Described) -> str | None:
    """Says what a field's value must be, by its type and rules, unless it is."""
    if not any(_is_of(value, kind) for kind in field.kinds):
        return f"be one of {', '.join(field.words)}" if field.words else f"be {_describe(field.kinds)}"
    if value is None:
        return None
    return next((wanted for rule in field.rules if (wanted := rule.explain(value))), None)


def _is_of(value: Any, kind: type) -> bool:
    if kind is tuple:
        return isinstance(value, tuple | list) and all(isinstance(part, str) for part in value)
    if kind in (int, float):
        number = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    return isinstance(value, kind)


def _describe(kinds: tuple[type, ...]) -> str:
    if os.PathLike in kinds:
        return "a path: text, or an object such as pathlib.Path"
    return _KINDS.get(kinds[0], f"of type {kinds[0].__name__}")
