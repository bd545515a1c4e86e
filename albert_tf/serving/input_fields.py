"""The fields of an example that a user gave: found by the names of its columns, and checked one by one."""

import functools
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.checkpoints.task_fields import LIST_FIELDS, OPTIONS, TEXT, TEXT_PAIR, WORDS
from albert_tf.inputs.finetuning_features import SPAN_CATEGORIES
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.entity_recognition import ENTITIES
from albert_tf.tasks.glue import TABLES
from albert_tf.tasks.row_files import NamedRow
from albert_tf.tasks.superglue_rows import ROW_FORMS

_FEWEST_OPTIONS = 2


class ExampleFields:
    """The fields that a fine-tuned model takes, and under which names a user may give them.

    Attributes:
        names: of the fields; one with a question mark may be left out.
        plain: the name of the column that a text without a name is in; None if several fields must be given.
    """

    def __init__(self, names: Sequence[str], task: FinetunedTask | None, columns: Mapping[str, str] | None = None):
        """Knows the names.

        Args:
            names: see Attributes.
            task: what the model was fine-tuned for, by files whose columns had names; None: for nothing.
            columns: {field: its column}, where the user says so; no other name is looked for.

        Raises:
            InputError: `columns` names something that is no field of the model, or a column for two.
        """
        self.names = tuple(names)
        self._task, self._given = task, dict(columns or {})
        # Rows as SuperGLUE publishes them, of which several columns make a field.
        self._form = None if task is None or self._given else ROW_FORMS.get(task.name or "")
        self._check_given()
        required = [name for name in names if not name.endswith("?")]
        plain = {(TEXT,): TEXT, (WORDS,): TEXT}.get(tuple(required))
        self.plain = None if plain is None else self._given.get(plain, plain)
        self._trained = _trained_columns(task)
        # Rows of a file have the same names, as a rule.
        self._find_columns = functools.lru_cache(maxsize=64)(self._columns_among)

    def with_columns(self, columns: Mapping[str, str]) -> "ExampleFields":
        """The same fields under names that the user gives; arguments and errors as of __init__."""
        return ExampleFields(self.names, self._task, columns)

    def _check_given(self) -> None:
        known = {name.rstrip("?") for name in self.names} | ({TEXT} if WORDS in self.names else set())
        for field in self._given:
            if field not in known:
                raise InputError(f"--columns: this model has no field {field!r}; it takes {self}")
        if len({*self._given.values()}) < len(self._given):
            raise InputError(f"--columns: {' and '.join(map(repr, self._given))} have one column; each has its own")
        if {TEXT, WORDS} <= self._given.keys() and WORDS in self.names:
            raise InputError(f"--columns: give one of {TEXT!r} and {WORDS!r}")

    def _columns_of(self, field: str) -> tuple[str, ...]:
        """The names under which a field is looked for, in this order."""
        return (self._given[field],) if field in self._given else (*self._trained.get(field, ()), field)

    def __str__(self) -> str:
        forms = [", ".join(name.rstrip("?") for name in self.names), *([TEXT] if WORDS in self.names else [])]
        return " or ".join([*forms, *map(", ".join, self._form.columns if self._form is not None else ())])

    def _is_published(self, present: Iterable[str]) -> bool:
        """Tells whether these are the columns of a published row, and not the fields themselves."""
        return self._form is not None and self._form.fits(present) and not set(self.names) <= set(present)

    def columns(self, present: Iterable[str]) -> dict[str, str]:
        """{field: column} of those that are there: named as in the files of training, else as the fields are.

        Of a row as it is published, every column that the fields are made of stands for itself.
        """
        return self._find_columns(tuple(present))

    def _columns_among(self, present: tuple[str, ...]) -> dict[str, str]:
        if self._form is not None and self._is_published(present):
            return {name: name for names in self._form.columns for name in names if name in present}
        wanted = [name.rstrip("?") for name in self.names]
        if WORDS in wanted and TEXT in self._given:
            wanted = [TEXT]
        elif WORDS in wanted and WORDS not in present and WORDS not in self._given:
            wanted.append(TEXT)
        found = {}
        for field in wanted:
            column = next((name for name in self._columns_of(field) if name in present), None)
            if column is not None:
                found[field] = column
        if len(set(found.values())) == len(found):
            return found
        return self._shared_out(wanted, present)

    def _shared_out(self, wanted: list[str], present: tuple[str, ...]) -> dict[str, str]:
        """Columns of which none is given to two fields, where a field was trained on one of another field's name.

        Such a column is whose name it has if all fields that must be there are so named, else whose it was in training.
        """
        own = {field: field for field in wanted if field in present}
        if not self._given and all(name in own for name in self.names if not name.endswith("?")):
            return own
        found: dict[str, str] = {}
        given = {field: (column,) for field, column in self._given.items()}
        for names in (given, self._trained, {field: (field,) for field in wanted if field not in given}):
            for field in wanted:
                free = [name for name in names.get(field, ()) if name in present and name not in found.values()]
                if field not in found and free:
                    found[field] = free[0]
        return found

    def missing(self, present) -> str | None:
        """A word about the columns that are not there; None if all are."""
        if self._is_published(present):
            return None
        found = self.columns(present)
        lacking = [name for name in self.names if name not in found and not name.endswith("?")]
        if not lacking or (lacking == [WORDS] and TEXT in found):
            return None
        # The field's own name first: it is what the documents tell of.
        named = [" or ".join(map(repr, sorted(self._columns_of(field), key=field.__ne__))) for field in lacking]
        if lacking == [WORDS]:
            named = [" or ".join(map(repr, self._given.values() or (WORDS, TEXT)))]
        return f"no {', no '.join(named)}; there is {', '.join(map(reprlib.repr, present)) or 'nothing'}"

    def unread(self, example: Mapping[str, Any]) -> str | None:
        """A word about a second text that the model does not take; None where there is none."""
        takes_pairs = any(name.rstrip("?") == TEXT_PAIR for name in self.names)
        if takes_pairs or TEXT_PAIR in self.columns(example).values() or not example.get(TEXT_PAIR):
            return None
        return f"{TEXT_PAIR!r} is not read; this model takes {self}"

    def check(self, example: Any, where: str) -> dict[str, Any]:
        """The fields of one example.

        Args:
            example: {name: value}; the text alone where the model takes one text; or, where all fields are texts, a
                list of them in the order of the fields.
            where: what to call it in an error.

        Returns:
            {field: text, or list of texts}; "" for a field that was left out.

        Raises:
            InputError: a field is missing, or is not what it should be.
        """
        example = self._named(example, where)
        missing = self.missing(list(example))
        if missing is not None:
            raise InputError(f"{where}: {missing}")
        if self._form is not None and self._is_published(example):
            example = self._form.fields(NamedRow(where, 0, dict(example)))
        values = {field: example[column] for field, column in self.columns(list(example)).items()}
        if WORDS in self.names and WORDS not in values:
            return {WORDS: _text(values[TEXT], TEXT, where).split()}
        checked = {}
        for name in self.names:
            field = name.rstrip("?")
            if name.endswith("?") and values.get(field) is None:
                checked[field] = ""
            else:
                checked[field] = (_texts if field in LIST_FIELDS else _text)(values[field], field, where)
        return checked

    def _named(self, example: Any, where: str) -> Mapping[str, Any]:
        """An example with its values by name, see `check`."""
        if isinstance(example, Mapping):
            return example
        fields = [name.rstrip("?") for name in self.names]
        if isinstance(example, str):
            if self.plain is None:
                raise InputError(f"{where}: this model takes {self}: give them by name, as a JSON object")
            return {self.plain: example}
        fewest = sum(not name.endswith("?") for name in self.names)
        in_order = isinstance(example, list | tuple) and not any(field in LIST_FIELDS for field in fields)
        if in_order and fewest <= len(example) <= len(fields):
            return {self._given.get(field, field): value for field, value in zip(fields, example, strict=False)}
        raise InputError(f"{where}: an object with {self} was expected; received {_shown(example)}")


def is_unicode(text: str) -> bool:
    """Tells whether a text can be written as UTF-8: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def empty_fields(checked: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The fields that must be given, and have nothing in them but white space."""
    values = {name: checked[name] for name in names if not name.endswith("?")}
    return [name for name, value in values.items() if not (value.strip() if isinstance(value, str) else value)]


def _trained_columns(task: FinetunedTask | None) -> dict[str, tuple[str, ...]]:
    """{field: names of its column in the files that the model was trained on}, where they were named."""
    if task is None:
        return {}
    if task.name in TABLES:
        table = TABLES[task.name]
        kinds = [names for names in (table.texts, table.test_texts) if all(isinstance(name, str) for name in names)]
        return {field: tuple(filter(None, found)) for field, *found in _transposed((TEXT, TEXT_PAIR), kinds)}
    if task.name not in ("classification", ENTITIES, SPAN_CATEGORIES):
        return {}
    named = {TEXT: task.options.get("text_column"), TEXT_PAIR: task.options.get("text_pair_column")}
    return {field: (column,) for field, column in named.items() if isinstance(column, str)}


def _transposed(fields: Sequence[str], kinds: Sequence[Sequence[str]]) -> list[list[str | None]]:
    return [[field, *(names[at] if at < len(names) else None for names in kinds)] for at, field in enumerate(fields)]


def _text(value: Any, field: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: {field!r} must be text. Received {_shown(value)}")
    if not is_unicode(value):
        raise InputError(f"{where}: {field!r} is not UTF-8: it has bytes, or a lone surrogate, that are no character")
    return value


def _texts(value: Any, field: str, where: str) -> list[str]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{where}: {field!r} must be a list of texts. Received {_shown(value)}")
    texts = [_text(text, f"{field}[{number}]", where) for number, text in enumerate(value)]
    if field == OPTIONS and len(texts) < _FEWEST_OPTIONS:
        raise InputError(f"{where}: {field!r} must be a list of at least {_FEWEST_OPTIONS} texts; it has {len(texts)}")
    blank = next((number for number, text in enumerate(texts) if not text.strip()), None)
    if field == WORDS and blank is not None:
        raise InputError(f"{where}: '{field}[{blank}]' is empty; leave it out")
    return texts


def _shown(value: Any) -> str:
    """A value in an error, however large or deep."""
    return f"a {type(value).__name__}" if isinstance(value, Mapping | list | tuple) else reprlib.repr(value)
