"""Official flags to commands of ours: defaults, the cases that are more than a change of name, and what is refused."""

import subprocess
import sys

import pytest

from albert_tf.official.translation import to_words, translate
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.official_flags import SCRIPTS

LEAST = {
    "run_classifier": {"task_name": "MRPC", "data_dir": "glue", "output_dir": "out", "do_train": True},
    "run_squad_v1": {"output_dir": "out", "do_train": True, "train_file": "train.json"},
    "run_squad_v2": {"output_dir": "out", "do_train": True, "train_file": "train.json"},
    "run_race": {"data_dir": "data", "output_dir": "out"},
    "export_to_tfhub": {"albert_directory": "base", "export_path": "hub"},
    "export_checkpoints": {"albert_directory": "base", "export_path": "ckpt"},
}


def commands(script, *given, **changes):
    values = {name: flag.default for name, flag in SCRIPTS[script].flags.items()}
    return translate(script, values | LEAST[script] | changes, frozenset(given) | set(changes), now=lambda: 1234.5)


def arguments(script, *given, **changes):
    [(_, found)] = commands(script, *given, **changes)
    return found


@pytest.mark.parametrize("script", [script for script in LEAST if script.startswith("run")])
def test_the_official_defaults_hold(script):
    found = arguments(script)
    for name, flag in SCRIPTS[script].flags.items():
        if (
            flag.ours == name
            and flag.default is not None
            and name not in (*LEAST[script], "keep_checkpoint_max", "task_name")
        ):
            assert found[name] == flag.default, name


def test_defaults_that_have_another_name_hold_too():
    classifier, race, squad = (arguments(script) for script in ("run_classifier", "run_race", "run_squad_v2"))
    assert (classifier["num_train_steps"], classifier["num_warmup_steps"]) == (1000, 0)
    assert (race["num_train_steps"], race["num_warmup_steps"], race["classifier_dropout_prob"]) == (12000, 1000, 0.1)
    assert (race["do_train"], race["do_eval"], race["do_predict"]) == (True, True, False)
    assert (squad["classifier_dropout_prob"], squad["eval_batch_size"], squad["do_eval"]) == (0.1, 8, False)


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("SST-2", "sst-2"),
        ("sst-2", "sst-2"),
        ("CoLA", "cola"),
        ("STS-B", "sts-b"),
        ("MisMNLI", "mnli"),
        ("mnli", "mnli"),
    ],
)
def test_names_of_tasks_are_taken_in_any_case(given, ours):
    assert arguments("run_classifier", task_name=given)["task_name"] == ours


def test_all_checkpoints_are_kept_where_they_are_scored_later():
    assert arguments("run_classifier")["keep_checkpoint_max"] == 0
    assert arguments("run_classifier", do_eval=True)["keep_checkpoint_max"] == 1
    assert arguments("run_classifier", do_train=False, do_eval=True)["keep_checkpoint_max"] == 1
    assert arguments("run_squad_v1")["keep_checkpoint_max"] == 0
    assert arguments("run_race", do_eval=False)["keep_checkpoint_max"] == 0
    assert arguments("run_race", num_keep_checkpoint=3)["keep_checkpoint_max"] == 3
    assert arguments("run_classifier", keep_checkpoint_max=2)["keep_checkpoint_max"] == 2


def test_predictions_alone_are_made_in_their_own_batches():
    sizes = {"eval_batch_size": 4, "predict_batch_size": 16, "do_train": False, "do_predict": True}
    assert arguments("run_classifier", **sizes)["eval_batch_size"] == 16
    assert arguments("run_classifier", do_eval=True, **sizes)["eval_batch_size"] == 4
    assert arguments("run_race", do_eval=False, **sizes)["eval_batch_size"] == 16


def test_files_of_features_say_where_features_are_kept():
    assert "cache_dir" not in arguments("run_squad_v1")
    assert (
        arguments("run_squad_v1", train_feature_file="a/train", predict_feature_file="b/dev")["cache_dir"]
        == "a/features"
    )
    assert arguments("run_squad_v1", predict_feature_file="gs://b/dev")["cache_dir"] == "gs://b/features"
    assert arguments("run_race", eval_file="dev.tf_record")["cache_dir"] == "features"
    assert arguments("run_race", train_file="x/train.tf_record", eval_file="y/dev")["cache_dir"] == "x/features"
    assert "train_file" not in arguments("run_race", train_file="x/train.tf_record")
    assert arguments("run_classifier", cached_dir="c")["cache_dir"] == "c"


def test_a_level_of_race_is_chosen():
    assert arguments("run_race")["race_level"] == "all"
    assert arguments("run_race", high_only=True)["race_level"] == "high"
    assert arguments("run_race", middle_only=True)["race_level"] == "middle"


def test_the_folder_of_a_hub_module_is_a_checkpoint():
    found = arguments(
        "run_squad_v1", albert_hub_module_handle="hub/1", spm_model_file="from_tf_hub", init_checkpoint=""
    )
    assert found["init_checkpoint"] == "hub/1"
    assert "spm_model_file" not in found
    assert arguments("run_squad_v1", albert_hub_module_handle="", init_checkpoint="a")["init_checkpoint"] == "a"


def test_an_export_follows_in_a_folder_named_by_the_time():
    _, (name, found) = commands("run_classifier", export_dir="served", max_seq_length=64, do_lower_case=False)
    wanted = {"init_checkpoint": "out", "output_dir": "served/1234", "max_seq_length": 64, "do_lower_case": False}
    assert (name, found) == ("export_saved_model", wanted)
    [(name, found)] = commands("run_squad_v1", export_dir="served", do_train=False)
    assert (name, found["output_dir"]) == ("export_saved_model", "served/saved_model/1234")


def test_exports_of_whole_folders():
    [(name, found)] = commands("export_to_tfhub", checkpoint_name="model.ckpt-5")
    assert (name, found["init_checkpoint"], found["output_dir"]) == ("export_saved_model", "base/model.ckpt-5", "hub")
    [(name, found)] = commands("export_checkpoints")
    assert (name, found) == (
        "convert_checkpoint",
        {"input": "base/model.ckpt-best", "output": "ckpt", "to": "official"},
    )
    assert arguments("export_checkpoints", export_path="a/model.ckpt-best")["output"] == "a"
    assert arguments("export_checkpoints", export_path="model.ckpt-best")["output"] == "."


@pytest.mark.parametrize(
    ("script", "changes", "words"),
    [
        ("run_classifier", {"do_train": False}, "at least one of --do_train, --do_eval, --do_predict, --export_dir"),
        ("run_squad_v2", {"do_train": False}, "at least one of --do_train, --do_predict must be given"),
        ("run_squad_v1", {"train_file": None}, "--do_train needs --train_file"),
        ("run_squad_v2", {"do_predict": True}, "--do_predict needs --predict_file"),
        ("run_classifier", {"albert_hub_module_handle": "https://tfhub.dev/google/albert_base/1"}, "give its folder"),
        ("run_race", {"albert_hub_module_handle": "hub", "init_checkpoint": "a"}, "not both"),
        ("run_race", {"spm_model_file": "from_tf_hub"}, "goes with --albert_hub_module_handle"),
        ("run_race", {"high_only": True, "middle_only": True}, "leave nothing"),
        ("run_race", {"task_name": "mnli"}, "run_race has no task but race"),
        ("run_classifier", {"threshold_to_export": 0.7}, "compare them with the threshold where you call it"),
        ("run_classifier", {"master": "grpc://10.0.0.2:8470"}, "name a TPU by --tpu_name"),
        ("run_squad_v2", {"start_n_top": 3}, "five starts"),
        ("run_squad_v2", {"end_n_top": 6}, "--end_n_top=6 is not supported here"),
    ],
)
def test_what_there_is_not_is_refused_with_what_to_write(script, changes, words):
    with pytest.raises(InputError) as error:
        commands(script, **changes)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("run_classifier", {"threshold_to_export": float("nan"), "master": "", "num_tpu_cores": 32}),
        ("run_squad_v1", {"use_einsum": False, "master": "local"}),
        ("run_squad_v2", {"start_n_top": 5, "end_n_top": 5}),
    ],
)
def test_what_makes_no_difference_is_taken(script, changes):
    assert arguments(script, **changes) == arguments(script)


def test_a_word_piece_vocabulary_is_taken_where_there_is_no_sentencepiece_model():
    found = arguments("run_squad_v1", vocab_file="vocab.txt", spm_model_file=None)
    assert found["spm_model_file"] == "vocab.txt"
    both = arguments("run_squad_v1", vocab_file="vocab.txt", spm_model_file="spiece.model")
    assert both["spm_model_file"] == "spiece.model"


def test_a_line_is_written_as_a_shell_takes_it():
    assert to_words({"do_train": True, "learning_rate": 1e-5}) == ["--do_train=true", "--learning_rate=1e-05"]


@pytest.mark.parametrize(
    ("command", "flag", "code", "line"),
    [
        ("albert_tf.run_finetuning", "--train_step=3", 2, "no flag --train_step; for that of google-research/ALBERT's"),
        ("albert_tf.run_classifier", "--num_train_steps=3", 2, "it is --train_step"),
        ("albert_tf.run_race", "--max_qa_length=9", 2, "--data_dir, --output_dir must be given"),
        ("albert_tf.run_pretraining", "--masked_lm_budget=0.2", 1, "--masking=dynamic"),
        ("data_prep.create_pretraining_data", "--input_file_mode=w", 1, "text is read as UTF-8"),
        ("data_prep.create_pretraining_data", "--do_permutation", 1, "no released trainer"),
    ],
)
def test_a_command_says_so_in_one_line(command, flag, code, line):
    needed = {
        "albert_tf.run_pretraining": ["--albert_config_file=a", "--input_file=b", "--output_dir=c"],
        "data_prep.create_pretraining_data": ["--input_file=a", "--output_file=b", "--spm_model_file=c"],
    }
    words = [sys.executable, "-m", command, flag, *needed.get(command, [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code
    (said,) = done.stderr.splitlines()
    assert line in said
