"""The flags that an experiment gives to the commands: checked by the commands' own declarations, and as words."""

import difflib
import functools
import importlib
from collections.abc import Collection, Mapping
from typing import Any

from absl import flags

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings import explain, fields_of
from albert_tf.runtime.settings_flags import values_of

# The commands by what they do in an experiment. They run as processes of their own and are asked for their flags by
# name: nothing of them, nor of data_prep, is part of this room.
VOCABULARY, RECORDS, EMBEDDINGS = "vocabulary", "records", "embeddings"
PRETRAINING, EVALUATION, FINETUNING = "pretraining", "evaluation", "finetuning"
COMMANDS = {
    VOCABULARY: "data_prep.train_vocabulary",
    RECORDS: "data_prep.create_pretraining_data",
    EMBEDDINGS: "data_prep.count_embeddings",
    PRETRAINING: "albert_tf.run_pretraining",
    EVALUATION: "albert_tf.run_evaluation",
    FINETUNING: "albert_tf.run_finetuning",
}
# What text is read and cleaned by: that of a row's records holds for what else is made of the text.
READING = (
    *("split_sentences", "language", "longest_sentence", "text_column", "input_format", "headings", "blank_line"),
    *("do_lower_case", "keep_accents", "replace_quotes", "normalization"),
)
# Flags that are not an experiment's to give: its files, and what it says in another place.
OWN_FLAGS = {
    VOCABULARY: ("input_file", "model_prefix", "kind", "overwrite"),
    RECORDS: (
        *("input_file", "output_file", "spm_model_file", "vocab_file", "num_workers", "dask_scheduler", "task_index"),
        *("num_tasks", "overwrite", "dry_run", "random_seed"),
    ),
    EMBEDDINGS: ("input_file", "output_file", "spm_model_file", "embedding_size", "overwrite"),
    PRETRAINING: (
        *("albert_config_file", "input_file", "eval_input_file", "output_dir", "spm_model_file", "init_embeddings"),
        *("do_train", "do_eval", "num_train_steps", "train_minutes", "random_seed"),
    ),
    EVALUATION: ("input_file", "output_dir", "init_checkpoint", "output_file", "overwrite", "across_sentence_tasks"),
    FINETUNING: (
        *("task_name", "data_dir", "output_dir", "init_checkpoint", "do_train", "do_eval", "do_predict"),
        *("random_seed", "num_seeds", "num_folds", "ensemble", "restart_failed_seeds", "cache_dir"),
    ),
}

# Types of flags whose values may be written in several ways.
_PLAIN = ("bool", "int", "float")
# A number, or text with several; whoever takes one alone says so.
_ONE_OR_SEVERAL = "learning_rate"


def as_word(name: str, value: Any) -> str:
    """A flag as a word of a command line.

    >>> as_word("do_train", True), as_word("labels", ["yes", "no"]), as_word("ngram", "1:0.5,3:0.5")
    ('--do_train=true', '--labels=yes,no', '--ngram=1:0.5,3:0.5')
    """
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return f"--{name}={value}"


def as_read(kind: str, name: str, value: Any) -> Any:
    """A number or a switch as the command reads it, whichever way it is written; any other value as it is.

    >>> as_read("records", "short_seq_prob", 0.0), as_read("pretraining", "train_batch_size", "8")
    (0, 8)
    """
    if not isinstance(value, str | int | float):
        return value
    declared = _declared(kind)
    if name not in declared or declared[name].flag_type() not in _PLAIN:
        return value
    flag = declared[name]
    read = flag.parser.parse(as_word(name, value).partition("=")[2])
    return int(read) if isinstance(read, float) and read.is_integer() else read


def check_flags(kind: str, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Sees that a command has these flags and takes these values.

    Args:
        kind: of the command, a key of COMMANDS.
        given: the flags; None stands for one that is left out.
        where: the file and the row, for errors.

    Returns:
        the values of those that are given, as the command reads them.

    Raises:
        InputError: one line that names the flag.
    """
    declared, command = _declared(kind), COMMANDS[kind].rpartition(".")[2]
    values = {}
    for name, value in given.items():
        if name not in declared:
            close = difflib.get_close_matches(name, list(declared), n=1)
            advice = f"did you mean {close[0]}?" if close else f"{command} --help lists them"
            raise InputError(f"{where}: {kind}: {command} has no flag {name!r}; {advice}")
        if name in OWN_FLAGS[kind]:
            raise InputError(f"{where}: {kind}: {name!r} is set by run_experiments; leave it out")
        if not isinstance(value, str | int | float | bool | list | None):
            raise InputError(f"{where}: {kind}: {name!r} must be a value or a list of them. Received {value!r}.")
        if value is not None:
            text = as_word(name, value).partition("=")[2]
            try:
                values[name] = declared[name].parser.parse(text)
            except ValueError as error:
                reason = " ".join(str(error.args[0]).split())
                raise InputError(f"{where}: {kind}: {name!r} cannot be {value!r}: {reason}") from None
            wanted = None if name == _ONE_OR_SEVERAL else _explain(kind, name, values[name])
            if wanted is not None:
                raise InputError(f"{where}: {kind}: {name!r} must {wanted}. Received {value!r}.")
    return values


def check_settings(kind: str, settings: type, values: Mapping[str, Any], where: str) -> None:
    """Sees that settings can be made of flags: they know rules of their own.

    Args:
        kind: of the command.
        settings: their class.
        values: as check_flags returns them, and of flags that are not an experiment's to give.
        where: the file and the row, for errors.

    Raises:
        InputError: what the settings raise, with the place.
    """
    known, fields = {**values_of(settings, _declared(kind)), **values}, fields_of(settings)
    try:
        settings(**{name: value for name, value in known.items() if name in fields})
    except InputError as error:
        raise InputError(f"{where}: {kind}: {error}") from None


def _explain(kind: str, name: str, value: Any) -> str | None:
    """Says what a flag's value must be by its settings, unless it is."""
    for settings in importlib.import_module(COMMANDS[kind]).SETTINGS:
        field = fields_of(settings).get(name)
        if field is not None:
            return explain(value, field)
    return None


@functools.cache
def _declared(kind: str) -> flags.FlagValues:
    """The flags of a command, with their defaults."""
    values = flags.FlagValues()
    importlib.import_module(COMMANDS[kind]).define_flags(values)
    return values


def names_of(given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The flags that have one of the names."""
    return {name: value for name, value in given.items() if name in names}
