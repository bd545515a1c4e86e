"""Every flag of every script of google-research/ALBERT, its default there, and what it is here.

One table: the commands that take official command lines, the words about a flag that does not exist, and
docs/official.md all go by it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from albert_tf.runtime.errors import InputError


@dataclasses.dataclass(frozen=True)
class OfficialFlag:
    """A flag of an official script.

    Attributes:
        default: the official one.
        ours: our flag that means the same; None where there is none.
        note: what a user should know of the difference; "" where there is none.
        accepts: the only values taken, of a flag without a counterpart; None takes any.
        instead: what to write in place of a different value.
        kind: the type of its values.
    """

    default: Any
    ours: str | None = None
    note: str = ""
    accepts: tuple[Any, ...] | None = None
    instead: str = ""
    kind: type = str

    def takes(self, value: Any) -> bool:
        """Tells whether the value is one of those accepted; an empty one, and nan, is as good as none."""
        return self.accepts is None or value != value or value in (None, "", *self.accepts)

    @property
    def is_command(self) -> bool:
        """Tells whether the note is a command of its own, in place of a flag."""
        return self.note.startswith("`")


@dataclasses.dataclass(frozen=True)
class OfficialScript:
    """A script of google-research/ALBERT.

    Attributes:
        command: ours that does the same.
        flags: all of its flags by name.
        required: those without which it does not start.
    """

    command: str
    flags: dict[str, OfficialFlag]
    required: tuple[str, ...] = ()

    def unmatched(self) -> dict[str, OfficialFlag]:
        """The flags that have no counterpart here."""
        return {name: flag for name, flag in self.flags.items() if flag.ours is None}

    def check(self, values: Mapping[str, Any]) -> None:
        """Raises InputError if one of these values, by flag, would mean something that there is not."""
        for name, value in values.items():
            if not self.flags[name].takes(value):
                raise InputError(f"--{name}={text_of(value)} is not supported here: {self.flags[name].instead}")


def text_of(value: Any) -> str:
    """A value as it stands on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe(flag: OfficialFlag) -> str:
    """Describes in half a sentence what an official flag is here."""
    if flag.ours is not None:
        return f"--{flag.ours}" + (f" ({flag.note})" if flag.note else "")
    if flag.accepts is None:
        return flag.note if flag.is_command else f"not used: {flag.note}"
    taken = ", ".join(map(text_of, flag.accepts))
    return f"{f'only {taken}' if taken else 'not supported'}: {flag.instead}"


def _flag(default: Any, *args: Any, **kwargs: Any) -> OfficialFlag:
    return OfficialFlag(default, *args, **{"kind": str if default is None else type(default), **kwargs})


def _same(**defaults: Any) -> dict[str, OfficialFlag]:
    return {name: _flag(default, name) for name, default in defaults.items()}


_TPU = {
    **_same(use_tpu=False, tpu_name=None, tpu_zone=None, gcp_project=None),
    "master": _flag(
        None,
        accepts=("local",),
        instead="name a TPU by --tpu_name=grpc://ADDRESS:PORT, several machines by TF_CONFIG (docs/operations.md)",
    ),
    "num_tpu_cores": _flag(8, note="all cores that the TPU has are used"),
}
# The official tokenizer reads it where there is no sentencepiece model.
_VOCAB_FILE = _flag(None, note="where --spm_model_file is given; alone it names the vocab.txt of WordPiece")
_FINETUNING = {
    **_same(albert_config_file=None, spm_model_file=None, output_dir=None, init_checkpoint=None, do_lower_case=True),
    "vocab_file": _VOCAB_FILE,
    "albert_hub_module_handle": _flag(
        None, "init_checkpoint", "the folder of a module that was fetched and unpacked; no address is fetched from"
    ),
    **_same(train_batch_size=32, iterations_per_loop=1000),
    **_TPU,
}
_KEEP = "the official script keeps all; here: all where --do_train stands without --do_eval, else the best and the last"
_PREDICT_BATCH_SIZE = _flag(8, "eval_batch_size", "where nothing is evaluated; the results are the same with any")
_CLASSIFICATION = {
    **_FINETUNING,
    **_same(data_dir=None, max_seq_length=512, eval_batch_size=8),
    "predict_batch_size": _PREDICT_BATCH_SIZE,
}


def _cache(what: str) -> OfficialFlag:
    return _flag(None, "cache_dir", f"`features` beside the file; {what} are made anew there, in a format of our own")


_TRAIN_FEATURES = _cache("features")
_LATER_FEATURES = _flag(
    None, "cache_dir", "`features` beside the file, where no file of training features names a place"
)
_SQUAD = {
    **_FINETUNING,
    **_same(train_file=None, max_seq_length=384, doc_stride=128, max_query_length=64, do_train=False),
    "predict_file": _flag(None, "dev_file"),
    "do_predict": _flag(False, "do_eval", "every checkpoint is scored on --predict_file, the best predicts it"),
    "predict_batch_size": _flag(8, "eval_batch_size"),
    "train_feature_file": _TRAIN_FEATURES,
    "predict_feature_file": _LATER_FEATURES,
    "predict_feature_left_file": _flag(None, note="--predict_feature_file names the place of both"),
    **_same(learning_rate=5e-5, num_train_epochs=3.0, warmup_proportion=0.1, save_checkpoints_steps=1000),
    **_same(n_best_size=20, max_answer_length=30),
}
_USE_EINSUM = _flag(True, note="it says how a product is computed, not which")
_BEAM = "the head compares five starts, and five ends for each; leave it out"
_EXPORT_DIR = "`export_saved_model --output_dir`"

SCRIPTS = {
    "create_pretraining_data": OfficialScript(
        "create_pretraining_data",
        {
            **_same(input_file=None, output_file=None, spm_model_file=None, do_lower_case=True),
            **_same(do_whole_word_mask=True, favor_shorter_ngram=True, max_seq_length=512, ngram=3),
            **_same(max_predictions_per_seq=20, random_seed=12345, dupe_factor=40),
            **_same(masked_lm_prob=0.15, short_seq_prob=0.1),
            "random_next_sentence": _flag(False, "sentence_task", "true is nsp"),
            "vocab_file": _VOCAB_FILE,
            "input_file_mode": _flag(
                "r", accepts=("r", "rb"), instead="text is read as UTF-8, also from .gz, .xz and .zst; leave it out"
            ),
            "do_permutation": _flag(
                False,
                accepts=(False,),
                instead="no released trainer reads records of twice the predictions; leave it out",
            ),
        },
    ),
    "run_pretraining": OfficialScript(
        "run_pretraining",
        {
            **_same(albert_config_file=None, input_file=None, output_dir=None, init_checkpoint=None),
            **_same(max_seq_length=512, max_predictions_per_seq=20, do_train=True, do_eval=False),
            **_same(train_batch_size=4096, eval_batch_size=64, optimizer="lamb", learning_rate=0.00176),
            **_same(poly_power=1.0, num_train_steps=125_000, num_warmup_steps=3125, start_warmup_step=0),
            **_same(save_checkpoints_steps=5000, keep_checkpoint_max=5, iterations_per_loop=1000),
            **_same(max_eval_steps=100, init_from_group0=False),
            **_TPU,
            "masked_lm_budget": _flag(
                0.0,
                accepts=(0.0,),
                instead="to draw masks in training make the records with create_pretraining_data --masking=dynamic",
            ),
        },
    ),
    "run_classifier": OfficialScript(
        "run_finetuning",
        {
            **_CLASSIFICATION,
            "task_name": _flag(
                None, "task_name", "in capitals or not; mismnli is mnli, of which both dev sets are scored"
            ),
            **_same(do_train=False, do_eval=False, do_predict=False),
            **_same(learning_rate=5e-5, optimizer="adamw", save_checkpoints_steps=1000),
            "train_step": _flag(1000, "num_train_steps"),
            "warmup_step": _flag(0, "num_warmup_steps"),
            "cached_dir": _flag(None, "cache_dir"),
            "keep_checkpoint_max": _flag(5, "keep_checkpoint_max", _KEEP),
            "export_dir": _flag(None, None, f"{_EXPORT_DIR}, in a folder of EXPORT_DIR named by the time"),
            "threshold_to_export": _flag(
                None,
                kind=float,
                accepts=(),
                instead="the exported model gives probabilities; compare them with the threshold where you call it",
            ),
        },
        ("data_dir", "task_name", "output_dir"),
    ),
    "run_squad_v1": OfficialScript(
        "run_finetuning",
        {
            **_SQUAD,
            "use_einsum": _USE_EINSUM,
            "export_dir": _flag(
                None, None, f"{_EXPORT_DIR}, in EXPORT_DIR/saved_model, named by the time; no TFLite file is made"
            ),
        },
        ("output_dir",),
    ),
    "run_squad_v2": OfficialScript(
        "run_finetuning",
        {
            **_SQUAD,
            "dropout_prob": _flag(0.1, "classifier_dropout_prob"),
            "start_n_top": _flag(5, accepts=(5,), instead=_BEAM),
            "end_n_top": _flag(5, accepts=(5,), instead=_BEAM),
        },
        ("output_dir",),
    ),
    "run_race": OfficialScript(
        "run_finetuning",
        {
            **_CLASSIFICATION,
            "task_name": _flag("race", "task_name"),
            **_same(do_train=True, do_eval=True, do_predict=False, max_qa_length=128),
            **_same(learning_rate=1e-5, save_checkpoints_steps=100),
            "train_step": _flag(12000, "num_train_steps"),
            "warmup_step": _flag(1000, "num_warmup_steps"),
            "dropout_prob": _flag(0.1, "classifier_dropout_prob"),
            "num_keep_checkpoint": _flag(5, "keep_checkpoint_max", _KEEP),
            "high_only": _flag(False, "race_level", "high"),
            "middle_only": _flag(False, "race_level", "middle"),
            "train_file": _TRAIN_FEATURES,
            "eval_file": _LATER_FEATURES,
            "predict_file": _flag(None, note="nor does the official script use it; the test split is in --data_dir"),
        },
        ("data_dir", "output_dir"),
    ),
    "export_checkpoints": OfficialScript(
        "convert_checkpoint",
        {
            "albert_directory": _flag(None, "input"),
            "checkpoint_name": _flag("model.ckpt-best", "input", "the checkpoint's name in --albert_directory"),
            "export_path": _flag(None, "output", "a folder, in which model.ckpt-best appears"),
            "do_lower_case": _flag(True, note="nor does the official script use it"),
        },
        ("albert_directory", "export_path"),
    ),
    "export_to_tfhub": OfficialScript(
        "export_saved_model",
        {
            "albert_directory": _flag(None, "init_checkpoint"),
            "checkpoint_name": _flag(
                "model.ckpt-best", "init_checkpoint", "the checkpoint's name in --albert_directory"
            ),
            "export_path": _flag(None, "output_dir"),
            "do_lower_case": _flag(True, "do_lower_case"),
            "use_einsum": _USE_EINSUM,
        },
        ("albert_directory", "export_path"),
    ),
}


def advise(command: str, name: str) -> str:
    """Advice on what to write in place of a flag that a command lacks, if an official script has it; else "".

    Args:
        command: the command, ours or official, without its package.
        name: the flag.
    """
    if command in SCRIPTS and SCRIPTS[command].command != command:
        theirs = [theirs for theirs, flag in SCRIPTS[command].flags.items() if flag.ours == name]
        return f"here, as in google-research/ALBERT, it is --{theirs[0]}" if theirs else ""
    found: dict[str, str] = {}
    for key, script in SCRIPTS.items():
        if script.command == command and name in script.flags:
            flag = script.flags[name]
            found.setdefault(f"write {describe(flag)}" if flag.ours else f"is {describe(flag)}", key)
    return "; ".join(f"for that of google-research/ALBERT's {key} {what}" for what, key in found.items())
