"""Translation of an official script's flags into commands of ours, and their flags."""

import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.official_flags import SCRIPTS, text_of

# One command: its name, and its flags.
Command = tuple[str, dict[str, Any]]

_ADDRESS = re.compile(r"^(https?://|@)")
# What the official tutorial gives for --spm_model_file where a hub module has it.
_IN_THE_MODULE = "from_tf_hub"
_CHECKPOINT_NAME = "model.ckpt-best"
_ALL_CHECKPOINTS, _NEWEST_CHECKPOINT = 0, 1


def translate(
    script: str, values: Mapping[str, Any], given: frozenset[str] = frozenset(), now: Callable[[], float] = time.time
) -> list[Command]:
    """The commands of ours that do what an official command line asks for, one after the other.

    Args:
        script: of SCRIPTS, one that is called differently here.
        values: of all its flags, by name.
        given: the flags that stand on the command line.
        now: the time, which names exports, as in the official code.

    Raises:
        InputError: a value has no meaning here, or the flags do not go together; says what to write instead.
    """
    SCRIPTS[script].check(values)
    flags = SCRIPTS[script].flags
    arguments = {
        flag.ours: values[name] for name, flag in flags.items() if flag.ours and values[name] not in (None, "")
    }
    if script == "export_to_tfhub":
        path = os.path.join(values["albert_directory"], values["checkpoint_name"])
        return [("export_saved_model", arguments | {"init_checkpoint": path})]
    if script == "export_checkpoints":
        path = os.path.join(values["albert_directory"], values["checkpoint_name"])
        folder, name = os.path.split(values["export_path"])
        output = folder or "." if name == _CHECKPOINT_NAME else values["export_path"]
        return [("convert_checkpoint", arguments | {"input": path, "output": output, "to": "official"})]
    return _finetuning(script, arguments, values, given, int(now()))


def to_words(arguments: Mapping[str, Any]) -> list[str]:
    """Flags as words of a command line."""
    return [f"--{name}={text_of(value)}" for name, value in arguments.items()]


def _finetuning(script, arguments, values, given, seconds) -> list[Command]:
    is_squad = script.startswith("run_squad")
    acts = ("do_train", "do_predict") if is_squad else ("do_train", "do_eval", "do_predict")
    export_dir = values.get("export_dir")
    if not export_dir and not any(values[name] for name in acts):
        names = [f"--{name}" for name in (*acts, *(["export_dir"] if "export_dir" in values else []))]
        raise InputError(f"at least one of {', '.join(names)} must be given")
    arguments |= _weights(values)
    arguments |= {"run_classifier": _classifier, "run_race": _race}.get(script, _squad)(script, values)
    arguments |= _checkpoints_to_keep(arguments, given)
    if values.get("spm_model_file") == _IN_THE_MODULE:
        del arguments["spm_model_file"]
    elif values.get("vocab_file") and not values.get("spm_model_file"):
        # As the official tokenizer takes it: WordPiece, where no sentencepiece model is given.
        arguments["spm_model_file"] = values["vocab_file"]
    commands = [("run_finetuning", arguments)] if any(values[name] for name in acts) else []
    if export_dir:
        folder = os.path.join(export_dir, *(["saved_model"] if is_squad else []), str(seconds))
        names = ("max_seq_length", "do_lower_case")
        chosen = {"init_checkpoint": values["output_dir"], "output_dir": folder}
        commands.append(("export_saved_model", chosen | {name: values[name] for name in names}))
    return commands


def _weights(values: Mapping[str, Any]) -> dict[str, Any]:
    """--init_checkpoint, also where the official line names a hub module."""
    handle, checkpoint = values["albert_hub_module_handle"], values["init_checkpoint"]
    if not handle:
        if values["spm_model_file"] == _IN_THE_MODULE:
            raise FlagError(
                f"--spm_model_file={_IN_THE_MODULE} goes with --albert_hub_module_handle; name a .model file"
            )
        return {}
    if checkpoint:
        raise FlagError("give --init_checkpoint or --albert_hub_module_handle, not both")
    if _ADDRESS.match(handle):
        raise InputError(
            f"--albert_hub_module_handle={handle}: modules are not fetched; fetch the module's or the model's .tar.gz, "
            "unpack it and give its folder, by this flag or as --init_checkpoint"
        )
    return {"init_checkpoint": handle}


def _checkpoints_to_keep(arguments: Mapping[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """Keeps as many as the official scripts: all of a training that is to be evaluated later, in a run of its own."""
    if {"keep_checkpoint_max", "num_keep_checkpoint"} & given:
        return {}
    later = arguments["do_train"] and not arguments["do_eval"]
    return {"keep_checkpoint_max": _ALL_CHECKPOINTS if later else _NEWEST_CHECKPOINT}


def _classifier(script: str, values: Mapping[str, Any]) -> dict[str, Any]:
    name = values["task_name"].lower()
    return {"task_name": "mnli" if name == "mismnli" else name, **_eval_batch_size(values)}


def _eval_batch_size(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"eval_batch_size": values["eval_batch_size" if values["do_eval"] else "predict_batch_size"]}


def _race(script: str, values: Mapping[str, Any]) -> dict[str, Any]:
    if values["task_name"].lower() != "race":
        raise FlagError(f"--task_name={values['task_name']}: run_race has no task but race")
    if values["high_only"] and values["middle_only"]:
        raise FlagError("--high_only and --middle_only leave nothing; give one of them")
    level = "high" if values["high_only"] else "middle" if values["middle_only"] else "all"
    cache = _folder_of(values["train_file"] or values["eval_file"])
    return {"task_name": "race", "race_level": level, **cache, **_eval_batch_size(values)}


def _squad(script: str, values: Mapping[str, Any]) -> dict[str, Any]:
    for act, name in (("do_train", "train_file"), ("do_predict", "predict_file")):
        if values[act] and not values[name]:
            raise InputError(f"--{act} needs --{name}, a SQuAD file (.json)")
    cache = _folder_of(values["train_feature_file"] or values["predict_feature_file"])
    return {"task_name": script.removeprefix("run_"), **cache}


def _folder_of(path: str | None) -> dict[str, str]:
    """--cache_dir, for the files that keep features in the official code: a folder beside them."""
    return {"cache_dir": os.path.join(os.path.dirname(path), "features")} if path else {}
