"""The official command lines of command_lines.sh: what each becomes here; and they run, smaller, on little data."""

import importlib
import json
import shlex
from pathlib import Path

import pytest
from absl import flags

from albert_tf.official import command_line
from albert_tf.runtime.errors import InputError
from albert_tf.tasks.glue import TABLES

LINES = [
    shlex.split(line)[2:]
    for line in Path(__file__).with_name("command_lines.sh").read_text().splitlines()
    if line.startswith("python")
]
FINETUNING = [line for line in LINES if not line[0].endswith(("run_pretraining", "run_pretraining_test"))]
PRETRAINING = [line for line in LINES if line not in FINETUNING]


def name_of(line):
    task = next((word.split("=")[1] for word in line if word.startswith("--task_name=")), "")
    return "-".join(filter(None, [line[0].removeprefix("albert."), task, "later" if "--nodo_train" in line else ""]))


def parsed(script, words):
    """The flags of a command by its official name."""
    values = flags.FlagValues()
    importlib.import_module(f"albert_tf.{script}").define_flags(values)
    values([script, *words])
    return values


def resolved(script, words):
    """The commands of ours that an official line becomes, each as its flags that do not have our default."""
    names = ("run_finetuning", "export_saved_model", "convert_checkpoint")
    commands = {name: importlib.import_module(f"albert_tf.{name}") for name in names}
    found = command_line.resolve(script, parsed(script, words), commands)
    return [
        (name, {flag: own[flag].value for flag in own if own[flag].value != own[flag].default}) for name, own in found
    ]


CHECKPOINT = {"init_checkpoint": "...", "spm_model_file": "..."}
GLUE = {"data_dir": "...", "spm_model_file": "...", "eval_batch_size": 8}
SQUAD = {
    **CHECKPOINT,
    **{
        "albert_config_file": "...",
        "output_dir": "...",
        "train_file": "...",
        "dev_file": "...",
        "cache_dir": "features",
    },
    **{"do_train": True, "do_eval": True, "max_seq_length": 384, "train_batch_size": 48, "eval_batch_size": 8},
    **{"num_train_epochs": 2.0, "save_checkpoints_steps": 5000},
}
# Where a line is not here it is one of run_glue.sh; see below.
EXPECTED = {
    "run_classifier-MNLI": {
        **(GLUE | CHECKPOINT),
        **{"task_name": "mnli", "albert_config_file": "...", "output_dir": "...", "do_train": True, "do_eval": True},
        **{"do_predict": True, "max_seq_length": 128, "train_batch_size": 128, "learning_rate": 3e-5},
        **{"num_train_steps": 10000, "num_warmup_steps": 1000, "save_checkpoints_steps": 100},
    },
    "run_squad_v1": {"task_name": "squad_v1", **SQUAD},
    "run_squad_v2": {"task_name": "squad_v2", "classifier_dropout_prob": 0.1, **SQUAD},
    "run_race": {
        **CHECKPOINT,
        **{
            "task_name": "race",
            "albert_config_file": "...",
            "output_dir": "...",
            "data_dir": "...",
            "cache_dir": "features",
        },
        **{"do_train": True, "do_eval": True, "eval_batch_size": 8, "learning_rate": 1e-5},
        **{
            "classifier_dropout_prob": 0.1,
            "num_train_steps": 12000,
            "num_warmup_steps": 1000,
            "save_checkpoints_steps": 100,
        },
    },
    # The vocabulary lies in the module.
    "run_classifier-MRPC": {
        **{"task_name": "mrpc", "init_checkpoint": "...", "data_dir": "...", "output_dir": "...", "eval_batch_size": 8},
        **{"do_train": True, "do_eval": True, "learning_rate": 2e-5, "num_train_steps": 800, "num_warmup_steps": 200},
        **{"save_checkpoints_steps": 100, "use_tpu": True, "tpu_name": "..."},
    },
}
# Steps of warm-up, rate, steps, steps between checkpoints, examples a step.
GLUE_SCRIPT = {
    "SST-2": (1256, 1e-5, 20935, 100, 32),
    "MNLI": (1000, 3e-5, 10000, 100, 128),
    "CoLA": (320, 1e-5, 5336, 100, 16),
    "QNLI": (1986, 1e-5, 33112, 200, 32),
    "QQP": (1000, 5e-5, 14000, 100, 128),
    "RTE": (200, 3e-5, 800, 100, 32),
    "STS-B": (214, 2e-5, 3598, 100, 16),
    "MRPC": (200, 2e-5, 800, 100, 32),
}
NAMES = ("num_warmup_steps", "learning_rate", "num_train_steps", "save_checkpoints_steps", "train_batch_size")
OUR_DEFAULTS = {"learning_rate": 5e-5, "train_batch_size": 32}


def expected(line):
    """Values of the command that a line becomes; run_glue.sh first trains, keeping all checkpoints, then evaluates."""
    name = name_of(line)
    if line[0].startswith("albert."):
        return EXPECTED[name]
    task = next(word.split("=")[1] for word in line if word.startswith("--task_name="))
    values = {name: value for name, value in zip(NAMES, GLUE_SCRIPT[task]) if OUR_DEFAULTS.get(name) != value}
    values |= GLUE | {"task_name": task.lower(), "output_dir": f".../{task}"}
    if "--do_train" in line:
        return values | {"do_train": True, "keep_checkpoint_max": 0, "init_checkpoint": "..."}
    return values | {"do_eval": True, "do_predict": True}


def test_a_command_runs_with_flags_that_are_not_those_of_the_process(tmp_path):
    words = ["--task_name=CoLA", f"--data_dir={tmp_path}", f"--output_dir={tmp_path / 'out'}", "--do_train"]
    modules = {"run_finetuning": importlib.import_module("albert_tf.run_finetuning")}
    ((_, own),) = command_line.resolve("run_classifier", parsed("run_classifier", words), modules)
    with pytest.raises(InputError, match="the model's shape is not known"):
        modules["run_finetuning"].run_with(own)


def test_every_official_line_is_here():
    assert len(PRETRAINING) == 2
    assert len(FINETUNING) == 5 + 2 * len(GLUE_SCRIPT)


@pytest.mark.parametrize("line", FINETUNING, ids=name_of)
def test_an_official_line_becomes_the_line_of_ours_that_means_the_same(line):
    script = line[0].removeprefix("albert.")
    [(command, given)] = resolved(script, line[1:])
    assert (command, given) == ("run_finetuning", expected(line))


@pytest.mark.parametrize("line", PRETRAINING, ids=name_of)
def test_the_official_lines_of_pretraining_are_ours(line):
    values = parsed("run_pretraining", line[1:])
    for word in line[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        wanted = {"use_tpu": False} if name == "nouse_tpu" else {name: value or True}
        for flag, text in wanted.items():
            assert values[flag].value == values[flag].parser.parse(text if isinstance(text, str) else str(text))


# In place of the official sizes; and no TPU.
SIZES = {
    **{"train_batch_size": 4, "eval_batch_size": 4, "predict_batch_size": 4, "max_seq_length": 40},
    **{"max_predictions_per_seq": 5, "doc_stride": 16, "max_query_length": 12, "max_qa_length": 12},
    **{"num_train_steps": 2, "num_warmup_steps": 1, "train_step": 2, "warmup_step": 1, "save_checkpoints_steps": 1},
    **{"num_train_epochs": 0.2, "max_eval_steps": 1, "use_tpu": "False", "tpu_name": ""},
}


def smaller(line, paths):
    """An official line with paths and sizes of ours, and nothing else changed but the package's name."""
    words = []
    for word in line[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        if "..." in value:
            words.append(f"--{name}={paths[name]}")
        else:
            words.append(f"--{name}={SIZES[name]}" if name in SIZES else word)
    return f"albert_tf.{line[0].removeprefix('albert.')}", *words


PATHS = {
    **{"albert_config_file": "albert_base/albert_config.json", "init_checkpoint": "albert_base/model.ckpt-best"},
    **{"spm_model_file": "30k-clean.model", "vocab_file": "30k-clean.vocab", "tpu_name": ""},
    **{"albert_hub_module_handle": "albert_base", "train_feature_file": "features/train.tfrecord"},
    **{"predict_feature_file": "features/predict.tfrecord", "predict_feature_left_file": "features/left.pickle"},
}
FILES = {
    "run_pretraining": {"input_file": "train.tfrecord"},
    "run_classifier": {"data_dir": "glue"},
    "run_squad_v1": {"train_file": "train-v1.1.json", "predict_file": "dev-v1.1.json"},
    "run_squad_v2": {"train_file": "v2.0.json", "predict_file": "v2.0.json"},
    "run_race": {"data_dir": ".", "train_file": "race/train.tf_record", "eval_file": "race/eval.tf_record"},
}


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in LINES if line[0].startswith("albert.")], ids=name_of)
def test_an_official_line_of_the_readme_runs(run, tmp_path, line):
    script = line[0].removeprefix("albert.")
    run(*smaller(line, PATHS | FILES[script] | {"output_dir": tmp_path / "run"}))
    if script == "run_pretraining":
        assert (tmp_path / "run" / "checkpoint-00000002" / "evaluation.json").is_file()
        return
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["metric"] in next(iter(results["scores"].values()))


@pytest.mark.slow
@pytest.mark.parametrize("task", GLUE_SCRIPT)
def test_the_lines_of_the_glue_script_run(run, tmp_path, task):
    first, second = (line for line in FINETUNING if line[0] == "run_classifier" and f"--task_name={task}" in line)
    paths = PATHS | FILES["run_classifier"] | {"output_dir": tmp_path / task}
    run(*smaller(first, paths))
    assert "scores" not in json.loads((tmp_path / task / "results.json").read_text())
    run(*smaller(second, paths))
    results = json.loads((tmp_path / task / "results.json").read_text())
    assert len(list((tmp_path / task).glob("checkpoint-*/evaluation.json"))) == 2
    submission = next(iter(TABLES[task.lower()].submissions.values()))
    assert len((tmp_path / task / submission).read_text().splitlines()) == 13
    assert results["scores"]


@pytest.mark.slow
def test_the_line_of_the_trivial_model_test_runs(run, tmp_path):
    line = next(line for line in LINES if line[0] == "run_pretraining_test")
    _, *words = smaller(line, {"output_dir": tmp_path / "run"})
    given = (
        "--input_file=train.tfrecord",
        "--albert_config_file=albert_base/albert_config.json",
        "--num_warmup_steps=0",
    )
    run("albert_tf.run_pretraining", *words, *given, "--max_predictions_per_seq=5")
    assert (tmp_path / "run" / "checkpoint-00000002").is_dir()
