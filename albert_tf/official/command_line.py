"""Commands by the official names: their flags, and running what they are here."""

import os
import shlex
import sys
import types
from collections.abc import Callable, Mapping

from absl import flags, logging

from albert_tf.official.translation import to_words, translate
from albert_tf.official.unmatched_flags import check_unmatched, define_flag
from albert_tf.runtime import command, flag_help
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.official_flags import SCRIPTS, OfficialFlag, describe

_CLEANING = ("keep_accents", "replace_quotes", "normalization")
# Flags of our commands that their official forms take too.
ALSO_TAKEN = (
    *("allow_missing_heads", "hidden_dropout_prob", "attention_probs_dropout_prob"),
    *("num_workers", "log_steps", "gradient_accumulation_steps", "precision", "remat", "release_memory"),
    *("constant_graph", "jit_compile", "distribution_strategy", "random_seed"),
    *_CLEANING,
    "overwrite",
)
_GROUPS = {
    "Input and output": (
        *("task_name", "data_dir", "train_file", "eval_file", "predict_file", "output_dir", "export_dir"),
        *("cached_dir", "train_feature_file", "predict_feature_file", "predict_feature_left_file"),
        *("albert_directory", "checkpoint_name", "export_path"),
    ),
    "Weights and vocabulary": (
        *("init_checkpoint", "albert_hub_module_handle", "albert_config_file", "spm_model_file", "vocab_file"),
        *("do_lower_case", "use_einsum"),
    ),
    "What to do": ("do_train", "do_eval", "do_predict"),
    "TPU": ("use_tpu", "tpu_name", "tpu_zone", "gcp_project", "master", "num_tpu_cores"),
}
_OTHERS = "Lengths, batches, steps"


def define_flags(script: str, flag_values: flags.FlagValues, ours: types.ModuleType) -> None:
    """Declares all flags of an official script, with its defaults, and those of ALSO_TAKEN that our command has.

    Args:
        script: of SCRIPTS.
        flag_values: where.
        ours: the module of our command.
    """
    own = flags.FlagValues()
    ours.define_flags(own)
    known = SCRIPTS[script].flags
    grouped = {name for names in _GROUPS.values() for name in names}
    for title, names in (*_GROUPS.items(), (_OTHERS, [name for name in known if name not in grouped])):
        flag_help.begin_group(title, flag_values)
        for name in filter(known.__contains__, names):
            define_flag(name, known[name], _help(name, known[name], own), flag_values)
    flag_help.begin_group(f"Of {SCRIPTS[script].command}, not in the official script", flag_values)
    # An official checkpoint, which is all that export_checkpoints writes, does not say how texts are cleaned.
    cleans = "do_lower_case" in known and known["do_lower_case"].ours is not None
    for name in ALSO_TAKEN:
        if name in own and (cleans or name not in _CLEANING):
            flags.DEFINE_flag(own[name], flag_values)


def _help(name: str, flag: OfficialFlag, own: flags.FlagValues) -> str:
    """The help of our flag, and what it is called here if that is different."""
    if flag.ours is None:
        return f"Here {describe(flag)}."
    text = own[flag.ours].help
    return f"{text} Here {describe(flag)}." if flag.ours != name or flag.note else text


def resolve(
    script: str, given: flags.FlagValues, commands: Mapping[str, types.ModuleType]
) -> list[tuple[str, flags.FlagValues]]:
    """The commands of ours that an official command line becomes, each with its flags.

    Args:
        script: of SCRIPTS.
        given: its flags, parsed.
        commands: the modules of those commands of ours that it may become.

    Raises:
        InputError: see translation.translate; or a value is none that our flag takes.
    """
    check_unmatched(script, given)
    values = {name: given[name].value for name in SCRIPTS[script].flags}
    also = {name: given[name].value for name in ALSO_TAKEN if name in given and given[name].present}
    resolved = []
    for name, arguments in translate(script, values, frozenset(name for name in values if given[name].present)):
        own = flags.FlagValues()
        commands[name].define_flags(own)
        # A model is exported after its training with the texts cleaned alike; the rest concerns the training.
        taken = _CLEANING if resolved else ALSO_TAKEN
        words = to_words(arguments | {flag: also[flag] for flag in taken if flag in also and flag in own})
        try:
            own([name, *words])
        except flags.Error as error:
            raise InputError(" ".join(str(error).split())) from None
        resolved.append((name, own))
    return resolved


def make_command(module: str, *ours: types.ModuleType) -> tuple[Callable[..., None], Callable[[], None]]:
    """A command by an official name.

    Args:
        module: __name__ of the command; its last part, also of the file that runs as a program, is the script's.
        *ours: the modules of the commands of ours that it becomes; the first one's flags explain its own.

    Returns:
        (its define_flags, its main).
    """
    script = os.path.splitext(os.path.basename(sys.modules[module].__file__))[0]
    commands = {one.__name__.rsplit(".", 1)[1]: one for one in ours}

    def define(flag_values: flags.FlagValues = flags.FLAGS) -> None:
        define_flags(script, flag_values, ours[0])

    required = SCRIPTS[script].required
    return define, command.entry_point(module, lambda: run(script, commands), required=required)


def run(script: str, commands: Mapping[str, types.ModuleType]) -> None:
    """Does what an official command line, parsed into flags.FLAGS, asks for; arguments as of resolve."""
    resolved = resolve(script, flags.FLAGS, commands)
    for name, own in resolved:
        words = [own[flag].serialize() for flag in own if own[flag].value != own[flag].default]
        logging.info("google-research/ALBERT's %s is, here: %s %s", script, name, shlex.join(words))
    for name, own in resolved:
        commands[name].run_with(own)
