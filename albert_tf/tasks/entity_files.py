"""Texts with entities by their characters, as annotation tools export them; every part checked.

JSONL, {"text": ..., "entities": [{"start": 0, "end": 5, "label": "PER"}]} in each line, or a .json file with a list of
such objects. Places count code points, as Python does, from 0; the end is the place after the last character.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from absl import logging

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.tasks.json_rows import read_objects
from albert_tf.tokenization.alignment import is_visible

# Names of the list of entities; the first that a row has. spaCy and others; Prodigy; doccano and Label Studio; doccano.
ENTITY_KEYS = ("entities", "spans", "label", "labels")
_STARTS, _ENDS = ("start", "start_offset"), ("end", "end_offset")
_ID_KEYS = ("id", "guid", "index")
# Of Prodigy: a person refused the row, or passed it over.
_ANSWER, _NOT_ACCEPTED = "answer", ("reject", "ignore")


class Entity(NamedTuple):
    """text[start:end] is of a kind; both ends count code points."""

    label: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class MarkedText:
    """A text with its entities.

    Attributes:
        guid: what the file calls it, else its number from 0.
        text: as it stands there.
        entities: in order, each once; they may overlap. None without labels.
    """

    guid: str
    text: str
    entities: tuple[Entity, ...] | None = None


@dataclasses.dataclass
class _Counts:
    """Numbers of what was odd in a file, and was mended."""

    trimmed: int = 0
    blank: int = 0
    in_halves: int = 0
    not_accepted: int = 0


def read_marked_texts(
    path: str,
    text_key: str = "text",
    keys: Sequence[str] = ENTITY_KEYS,
    need_entities: bool = True,
    kinds: Sequence[str] | None = None,
    may_have_several: bool = False,
) -> list[MarkedText]:
    """The texts of a file, in its order.

    White space and invisible characters at the ends of an entity are left out of it. An entity that also names its
    "text" must be it; where it is only when places count UTF-16 units, as JavaScript does, they are converted.

    Args:
        path: .jsonl or .json.
        text_key: the name of the text.
        keys: names of the list of entities; the first that a row has.
        need_entities: refuse rows without such a list; else they are texts without labels (a test file).
        kinds: the kinds of entities that there may be; None: any.
        may_have_several: whether one may have several labels, in a list: it is as many entities then.

    Raises:
        InputError: no such file, or what stands in it is not what it should be.
    """
    counts, found = _Counts(), []
    for row in read_objects(path):
        text = row.text(text_key)
        if row.values.get(_ANSWER) in _NOT_ACCEPTED:
            counts.not_accepted += 1
            continue
        key = next((name for name in keys if row.values.get(name) is not None), None)
        listed = None if key is None else row.values.get(key)
        if listed is None and need_entities:
            wanted = ", ".join(map(repr, keys))
            raise InputError(
                f"{row.where}: no list of entities ({wanted}); there is {', '.join(map(repr, row.values))}"
            )
        entities = None if listed is None else _entities(listed, text, f"{row.where}: {key}", counts, may_have_several)
        unknown = next((one.label for one in entities or () if kinds is not None and one.label not in kinds), None)
        if unknown is not None:
            raise InputError(f"{row.where}: unknown kind of entity {unknown!r}; the kinds are {', '.join(kinds or ())}")
        guid = next((str(row.values[name]) for name in _ID_KEYS if row.values.get(name) is not None), len(found))
        found.append(MarkedText(str(guid), text, entities))
    if not found:
        raise InputError(f"{path} holds no texts")
    _warn(path, counts)
    return found


def _entities(listed: Any, text: str, where: str, counts: _Counts, several: bool) -> tuple[Entity, ...]:
    if not isinstance(listed, list):
        raise InputError(f"{where} must be a list of entities; received {_shown(listed)}")
    found = set()
    for number, value in enumerate(listed):
        for one in _each_label(value) if several else (value,):
            entity = _entity(one, text, f"{where}[{number}]", counts)
            start, end = entity.start, entity.end
            while start < end and not is_visible(text[start]):
                start += 1
            while end > start and not is_visible(text[end - 1]):
                end -= 1
            counts.blank += start == end
            counts.trimmed += start < end and (start, end) != entity[1:]
            if start < end:
                found.add(Entity(entity.label, start, end))
    return tuple(sorted(found, key=lambda one: (one.start, one.end, one.label)))


def _each_label(value: Any) -> list[Any]:
    """An entity with each of its labels, where it has a list of several."""
    if isinstance(value, Mapping):
        name = "label" if "label" in value else "labels"
        labels = value.get(name)
        return [{**value, name: label} for label in labels] if isinstance(labels, list) and labels else [value]
    if isinstance(value, list) and len(value) == 3 and isinstance(value[2], list) and value[2]:
        return [[*value[:2], label] for label in value[2]]
    return [value]


def _entity(value: Any, text: str, where: str, counts: _Counts) -> Entity:
    """One entity: an object, or [start, end, label]."""
    if isinstance(value, list) and len(value) == 3:
        start, end, label, said = *value, None
    elif isinstance(value, Mapping):
        start, end = (next((value[name] for name in names if name in value), None) for names in (_STARTS, _ENDS))
        label, said = value.get("label", value.get("labels")), value.get("text")
        label = label[0] if isinstance(label, list) and len(label) == 1 else label
    else:
        raise InputError(
            f"{where} must be an object with start, end and label, or [start, end, label]; received {_shown(value)}"
        )
    if not isinstance(label, str) or not label.strip():
        raise InputError(f"{where}: the label must be text; received {_shown(label)}")
    for place in (start, end):
        if not isinstance(place, int) or isinstance(place, bool):
            raise InputError(
                f"{where}: start and end must be whole numbers; received {_shown(start)} and {_shown(end)}"
            )
    if isinstance(said, str) and text[max(0, start) : max(0, end)] != said:
        start, end = _from_halves(text, start, end, said, where)
        counts.in_halves += 1
    if not 0 <= start < end <= len(text):
        raise InputError(f"{where}: {start} to {end} is no part of a text of {len(text)} characters")
    return Entity(label.strip(), start, end)


def _from_halves(text: str, start: int, end: int, said: str, where: str) -> tuple[int, int]:
    """The places in code points of those that count UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    before, inside = (units[2 * max(0, a) : 2 * max(0, b)] for a, b in ((0, start), (start, end)))
    try:
        first, found = len(before.decode("utf-16-le", "surrogatepass")), inside.decode("utf-16-le", "surrogatepass")
    except UnicodeDecodeError:
        first, found = 0, ""
    if start < 0 or found != said:
        stands = text[max(0, start) : max(0, end)]
        raise InputError(f"{where}: from {start} to {end} stands {_shown(stands)}, not {_shown(said)}")
    return first, first + len(found)


def _warn(path: str, counts: _Counts) -> None:
    said = {
        "entities begin or end in white space, which is left out of them": counts.trimmed,
        "entities are nothing but white space, and are left out": counts.blank,
        "entities count UTF-16 units; their places are converted": counts.in_halves,
        "rows were not accepted by a person ('answer'), and are left out": counts.not_accepted,
    }
    for what, number in said.items():
        if number:
            logging.warning("%s: %d %s", path, number, what)


def _shown(value: Any) -> str:
    """A value in an error, of at most a few dozen characters."""
    shown = to_json(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else shown[:59] + "…"
