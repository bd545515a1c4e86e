"""A row of an experiment: the base with what the row changes, checked."""

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any

from albert_tf.config import AlbertConfig
from albert_tf.experiments.command_lines import (
    EMBEDDINGS,
    PRETRAINING,
    READING,
    RECORDS,
    VOCABULARY,
    check_flags,
    check_settings,
    names_of,
)
from albert_tf.experiments.fields import as_object, as_path, as_text, check_keys, is_count
from albert_tf.pretraining.settings import IN_PLACE_OF, PretrainingSettings
from albert_tf.runtime.errors import InputError

# What is not done unless a section says so.
_OPTIONAL = (VOCABULARY, EMBEDDINGS)
_SECTIONS = ("config", VOCABULARY, RECORDS, EMBEDDINGS, PRETRAINING)
BASE_KEYS = ("model", "more_text", *_SECTIONS, "budget")
_CONFIG_KEYS = tuple(field.name for field in dataclasses.fields(AlbertConfig))
_ROW_KEYS = (*BASE_KEYS, "start_from")
# Flags of the base that a row does without which starts from another's weights.
_INITIAL = ("init_checkpoint", "init_from_group0", "allow_missing_heads", "init_position_waves", "init_output_bias")
# Flags of pre-training that are those of the records.
_LENGTHS = ("max_seq_length", "max_predictions_per_seq")
_BUDGETS = ("steps", "tokens")
_ROW_NAME = re.compile(r"\w[\w.+=-]*")
_LONGEST_NAME = 60


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the grid: the base with what the row changes.

    Attributes:
        name: in the table.
        changes: what it says itself, section by section.
        config: keys of albert_config.json.
        records: flags of create_pretraining_data.
        embeddings: flags of count_embeddings; None: word embeddings start from random numbers.
        pretraining: flags of run_pretraining.
        num_train_steps: of its budget.
        start_from: the row whose weights it starts from; None: new ones.
        more_text: a file of text besides the experiment's; None: that alone.
        vocabulary: flags of train_vocabulary; None: the experiment's vocabulary.
    """

    name: str
    changes: Mapping[str, Any]
    config: Mapping[str, Any]
    records: Mapping[str, Any]
    embeddings: Mapping[str, Any] | None
    pretraining: Mapping[str, Any]
    num_train_steps: int
    start_from: str | None
    more_text: str | None
    vocabulary: Mapping[str, Any] | None


def make_row(path: str, name: str, base: Mapping[str, Any], changes: Any, num_train_steps: int | None = None) -> Row:
    """A row of an experiment's file, checked.

    Args:
        path: of the file, for errors.
        name: of the row.
        base: what all rows have.
        changes: what the row has in its place.
        num_train_steps: in place of its budget's.

    Raises:
        InputError: one line that names the file, the row and the key.
    """
    where = f"{path}: row {name}"
    if not _ROW_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise InputError(
            f"{where}: a row's name has letters, digits and _ . + = -, no comma or space, none of . + = - at its "
            f"beginning, and at most {_LONGEST_NAME} characters"
        )
    check_keys(as_object(changes, where), _ROW_KEYS, where)
    check_nulls(changes, where, base)
    start_from = changes.get("start_from")
    if start_from is not None:
        base = _without_initial_values(base, where)
    sections = _merge_sections(base, changes, where)
    config = _config({**base, **changes}["model"], sections["config"], where)
    for section in (VOCABULARY, RECORDS, EMBEDDINGS):
        check_flags(section, sections[section] or {}, where)
        reading = next(iter(names_of(sections[section] or {}, READING)), None)
        if section != RECORDS and reading is not None:
            raise InputError(f"{where}: give {reading!r} in {RECORDS}, by which {section} goes too")
    sections[PRETRAINING] = {**names_of(sections[RECORDS], _LENGTHS), **sections[PRETRAINING]}
    given = check_flags(PRETRAINING, sections[PRETRAINING], where)
    _check_pretraining(given, config, where)
    budget = _steps({**base, **changes}["budget"], given, f"{where}: budget")
    steps = num_train_steps or budget
    own = {"albert_config_file": "", "input_file": "", "output_dir": "", "num_train_steps": steps, "do_train": True}
    if start_from is not None:
        if "init_checkpoint" in given:
            raise InputError(f"{where}: give start_from or {PRETRAINING}'s init_checkpoint, not both")
        own["init_checkpoint"] = as_text(start_from, f"{where}: start_from")
        if sections[EMBEDDINGS] is not None:
            raise InputError(f"{where}: start_from brings the word embeddings; leave {EMBEDDINGS} out")
    own |= {} if sections[EMBEDDINGS] is None else {"init_embeddings": ""}
    check_settings(PRETRAINING, PretrainingSettings, {**given, **own}, where)
    stated = dataclasses.asdict(config)
    if "vocab_size" not in sections["config"]:
        # That of the vocabulary, which is given to the command.
        del stated["vocab_size"]
    more_text = {**base, **changes}.get("more_text")
    return Row(
        name,
        changes,
        stated,
        *(sections[section] for section in (RECORDS, EMBEDDINGS, PRETRAINING)),
        steps,
        start_from,
        None if more_text is None else as_path(more_text, f"{where}: more_text"),
        _vocabulary(sections[VOCABULARY], where),
    )


def _config(model: Any, keys: Mapping[str, Any], where: str) -> AlbertConfig:
    """The shape of a row's model."""
    path = as_text(model, f"{where}: model")
    try:
        shape = dataclasses.asdict(AlbertConfig.from_json_file(path))
    except InputError as error:
        raise InputError(f"{where}: model: {error}") from None
    return AlbertConfig.from_dict({**shape, **keys}, where=f"{where}: config")


def _check_pretraining(given: Mapping[str, Any], config: AlbertConfig, where: str) -> None:
    """Refuses examples that are longer than the model, and flags of which one takes the place of the other."""
    longest = given.get("max_seq_length", PretrainingSettings.max_seq_length)
    if longest > config.max_position_embeddings:
        raise InputError(
            f"{where}: {RECORDS}: max_seq_length is {longest}, more than config's max_position_embeddings, "
            f"{config.max_position_embeddings}"
        )
    for one, replaced in IN_PLACE_OF.items():
        other = next((flag for flag in replaced if one in given and flag in given), None)
        if other is not None:
            raise InputError(f"{where}: {PRETRAINING}: give {one} or {other}, not both")


def _vocabulary(flags: Mapping[str, Any] | None, where: str) -> Mapping[str, Any] | None:
    """The flags of a row's own vocabulary, the number of its pieces among them."""
    if flags is not None and not is_count(flags.get("vocab_size")):
        raise InputError(f"{where}: {VOCABULARY}: give vocab_size, the number of its pieces")
    return flags


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A section of the base with a row's changes; null takes a flag out.

    >>> merge({"ngram": 3, "length_schedule": "32:0.5,128:0.5"}, {"ngram": 1, "length_schedule": None})
    {'ngram': 1}
    """
    return {name: value for name, value in {**base, **changes}.items() if value is not None}


def check_nulls(part: Mapping[str, Any], where: str, base: Mapping[str, Any] | None = None) -> None:
    """Sees that every null of a row, or of the base, takes out what there is: a misspelt name would change nothing.

    Args:
        part: the row's changes, or the base.
        where: the file and the row, for errors.
        base: of the row; None where the part is the base itself.

    Raises:
        InputError: one line that names the section and the key.
    """
    for section in names_of(part, _SECTIONS):
        if part[section] is None and section in _OPTIONAL:
            continue
        if part[section] is None:
            raise InputError(f"{where}: {section}: null takes out one flag, not all; name each, or leave {section} out")
        values = as_object(part[section], f"{where}: {section}")
        nulls = dict.fromkeys(name for name, value in values.items() if value is None)
        if section == "config":
            check_keys(nulls, _CONFIG_KEYS, f"{where}: {section}")
        else:
            check_flags(section, nulls, where)
        known = nulls if base is None else as_object(base.get(section) or {}, f"{where}: {section}")
        idle = next((name for name in nulls if name not in known), None)
        if idle is not None:
            raise InputError(f"{where}: {section}: {idle!r} is null, but the base has none to take out; leave it out")


def flags_of(kind: str, values: Any, where: str) -> dict[str, Any]:
    """The flags of a command, a key of COMMANDS: checked, and without those that are null."""
    check_flags(kind, as_object(values, f"{where}: {kind}"), where)
    return merge({}, values)


def _merge_sections(base: Mapping[str, Any], changes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Each section of the base with the row's changes; None for an optional one that neither has."""
    sections: dict[str, Any] = {}
    for section in _SECTIONS:
        ours = [part.get(section, {}) for part in (base, changes)]
        if section in _OPTIONAL and section not in base:
            ours[0] = None
        if section in _OPTIONAL and (ours[1] is None or (ours[0] is None and section not in changes)):
            sections[section] = None
            continue
        ours = [{} if part is None else part for part in ours]
        sections[section] = merge(*(as_object(part, f"{where}: {section}") for part in ours))
    return sections


def _without_initial_values(base: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The base without what new weights begin with."""
    left = {key: value for key, value in base.items() if key != EMBEDDINGS}
    flags = as_object(base.get(PRETRAINING, {}), f"{where}: {PRETRAINING}")
    return {**left, PRETRAINING: {name: value for name, value in flags.items() if name not in _INITIAL}}


def _steps(budget: Any, given: Mapping[str, Any], where: str) -> int:
    """The steps of a budget in steps or in tokens, padding included."""
    budget = as_object(budget, where)
    check_keys(budget, _BUDGETS, where)
    if len(budget) != 1 or not all(is_count(value) for value in budget.values()):
        raise InputError(f"{where}: give one of steps and tokens, an integer of at least 1. Received {dict(budget)}.")
    if "steps" in budget:
        return budget["steps"]
    if given.get("batch_schedule") is not None:
        raise InputError(
            f"{where}: with {PRETRAINING}'s batch_schedule the steps are of different sizes; give steps, not tokens"
        )
    sizes = [given.get(name, getattr(PretrainingSettings, name)) for name in ("train_batch_size", "max_seq_length")]
    tokens, each = budget["tokens"], max(1, math.prod(sizes))
    # To the nearest, in integers: tokens may be more than a float holds.
    return max(1, (2 * tokens + each) // (2 * each))
