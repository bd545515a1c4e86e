"""Flags of official scripts for which our commands have no counterpart, under any name: declared and checked."""

from absl import flags, logging

from albert_tf.runtime.official_flags import SCRIPTS, OfficialFlag, describe

_DEFINE = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float, str: flags.DEFINE_string}


def define_flag(name: str, flag: OfficialFlag, text: str, flag_values: flags.FlagValues) -> None:
    """Declares an official flag, with its official default."""
    _DEFINE[flag.kind](name, flag.default, text, flag_values=flag_values)


def define_unmatched(script: str, flag_values: flags.FlagValues) -> None:
    """Declares the flags of an official script of the same name as ours that only the official one has."""
    for name, flag in SCRIPTS[script].unmatched().items():
        define_flag(name, flag, f"Accepted for official command lines: {describe(flag)}.", flag_values)


def check_unmatched(script: str, given: flags.FlagValues) -> None:
    """Raises InputError if a flag without a counterpart asks for what there is not; says which have no effect."""
    unmatched = SCRIPTS[script].unmatched()
    SCRIPTS[script].check({name: given[name].value for name in unmatched})
    # A vocabulary of its own kind, where no other is given.
    used = ("vocab_file",) if "spm_model_file" in given and not given["spm_model_file"].value else ()
    for name, flag in unmatched.items():
        if given[name].present and flag.accepts is None and not flag.is_command and name not in used:
            logging.info("--%s is %s", name, describe(flag))
