"""Every command, all its flags with their defaults, and what importing it costs.

A new flag, or another default, is a decision: it is made by changing the table here.
"""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from absl import flags

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 120  # a command only turns flags into settings and calls one function

FLAGS_OF = {
    "data_prep.collect_docstrings": {
        "output_file": None,
        "heldout_output_file": None,
        "heldout_every": 20,
        "max_megabytes": 0.0,
        "source_folder": None,
        "num_workers": 0,
    },
    "data_prep.create_pretraining_data": {
        "max_seq_length": 512,
        "max_predictions_per_seq": 20,
        "dupe_factor": 40,
        "masked_lm_prob": 0.15,
        "short_seq_prob": 0.1,
        "ngram": 3,
        "favor_shorter_ngram": True,
        "do_whole_word_mask": True,
        "random_seed": 12345,
        "reference_quirks": False,
        "input_file": None,
        "output_file": None,
        "spm_model_file": None,
        "do_lower_case": True,
        "keep_accents": False,
        "replace_quotes": False,
        "drop_duplicate_documents": False,
        "shuffle_megabytes": 64,
        "num_workers": 0,
        "dask_scheduler": None,
        "task_index": 0,
        "num_tasks": 1,
        "overwrite": False,
        "dry_run": False,
        "split_sentences": False,
        "language": "en",
        "text_column": "text",
        "sentence_task": "sop",
        "masking": "static",
        "normalization": "NFKD",
        "compression": "none",
        "input_format": "auto",
        "headings": "drop",
        "blank_line": "document",
        "random_next_sentence": None,
        "vocab_file": None,
        "do_permutation": None,
    },
    "data_prep.inspect_records": {
        "input_file": None,
        "spm_model_file": None,
        "num_examples": 5,
        "json_file": None,
        "plot_file": None,
    },
    "data_prep.split_sentences": {
        "input_file": None,
        "output_file": None,
        "language": "en",
        "headings": "drop",
        "blank_line": "document",
    },
    "data_prep.train_vocabulary": {
        "input_file": None,
        "model_prefix": None,
        "vocab_size": 30000,
        "character_coverage": 0.99995,
        "input_sentence_size": 10000000,
        "split_sentences": False,
        "language": "en",
        "text_column": "text",
        "do_lower_case": True,
        "keep_accents": False,
        "normalization": "NFKD",
    },
    "albert_tf.convert_checkpoint": {
        "input": None,
        "output": None,
        "from": None,
        "to": None,
        "albert_config_file": None,
        "spm_model_file": None,
        "allow_missing_heads": False,
        "hugging_face_architecture": None,
    },
    "albert_tf.export_saved_model": {
        "init_checkpoint": None,
        "albert_config_file": None,
        "spm_model_file": None,
        "output_dir": None,
        "overwrite": False,
        "max_seq_length": None,
        "do_lower_case": True,
        "keep_accents": False,
        "replace_quotes": False,
        "normalization": "NFKD",
    },
    "albert_tf.fill_mask": {
        "saved_model": None,
        "top_k": 5,
        "first": None,
        "second": None,
    },
    "albert_tf.collect_glue_submission": {
        "output_dir": None,
        "output_file": None,
    },
    "albert_tf.plot_training": {
        "output_dir": None,
        "output_file": None,
        "baseline": [],
        "title": "",
    },
    "albert_tf.predict": {
        "saved_model": None,
        "output_dir": None,
        "input_file": None,
        "output_file": None,
        "format": "jsonl",
        "batch_size": 32,
    },
    "albert_tf.run_evaluation": {
        "input_file": None,
        "output_dir": None,
        "init_checkpoint": None,
        "albert_config_file": None,
        "eval_batch_size": 64,
        "max_eval_steps": 0,
        "output_file": None,
    },
    "albert_tf.run_finetuning": {
        "task_name": None,
        "data_dir": None,
        "output_dir": None,
        "init_checkpoint": None,
        "allow_missing_heads": False,
        "albert_config_file": None,
        "spm_model_file": None,
        "do_train": False,
        "do_eval": False,
        "do_predict": False,
        "max_seq_length": 512,
        "pad_to_max_length": False,
        "max_query_length": 64,
        "doc_stride": 128,
        "max_answer_length": 30,
        "n_best_size": 20,
        "max_qa_length": 128,
        "train_file": None,
        "dev_file": None,
        "test_file": None,
        "text_column": None,
        "text_pair_column": None,
        "label_column": None,
        "labels": None,
        "multi_label": False,
        "regression": False,
        "beam": None,
        "null_score_diff_threshold": None,
        "race_level": "all",
        "do_lower_case": True,
        "keep_accents": False,
        "replace_quotes": False,
        "normalization": "NFKD",
        "train_batch_size": 32,
        "eval_batch_size": 32,
        "optimizer": "adamw",
        "learning_rate": 5e-5,
        "layerwise_learning_rate_decay": 1.0,
        "num_train_steps": None,
        "num_train_epochs": 3.0,
        "num_warmup_steps": None,
        "hidden_dropout_prob": None,
        "attention_probs_dropout_prob": None,
        "classifier_dropout_prob": 0.1,
        "early_stopping_patience": 0,
        "num_seeds": 1,
        "save_checkpoints_steps": 1000,
        "keep_checkpoint_max": 1,
        "iterations_per_loop": 1000,
        "log_steps": 100,
        "num_workers": 0,
        "cache_dir": None,
        "nonfinite": "stop",
        "max_nonfinite_steps": 10,
        "gradient_accumulation_steps": 1,
        "precision": "float32",
        "remat": False,
        "constant_graph": False,
        "jit_compile": "auto",
        "distribution_strategy": "auto",
        "random_seed": 12345,
    },
    "albert_tf.run_pretraining": {
        "albert_config_file": None,
        "input_file": None,
        "output_dir": None,
        "eval_input_file": None,
        "init_checkpoint": None,
        "init_from_group0": False,
        "allow_missing_heads": False,
        "max_seq_length": 512,
        "max_predictions_per_seq": 20,
        "do_train": True,
        "do_eval": False,
        "train_batch_size": 4096,
        "eval_batch_size": 64,
        "optimizer": "lamb",
        "learning_rate": 0.00176,
        "poly_power": 1.0,
        "num_train_steps": 125000,
        "num_warmup_steps": 3125,
        "start_warmup_step": 0,
        "save_checkpoints_steps": 5000,
        "keep_checkpoint_max": 5,
        "iterations_per_loop": 1000,
        "log_steps": 100,
        "max_eval_steps": 100,
        "nonfinite": "stop",
        "max_nonfinite_steps": 10,
        "gradient_accumulation_steps": 1,
        "precision": "float32",
        "remat": False,
        "constant_graph": False,
        "jit_compile": "auto",
        "distribution_strategy": "auto",
        "use_tpu": False,
        "tpu_name": None,
        "tpu_zone": None,
        "gcp_project": None,
        "random_seed": 12345,
        "masking": None,
        "sentence_task": None,
    },
}


def commands():
    """The commands that setup.py installs, as module names."""
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "COMMANDS":
            table = ast.literal_eval(node.value)
            return [f"{package}.{name}" for package, names in table.items() for name in names]
    raise AssertionError("setup.py has no COMMANDS")


def defined_flags(command):
    """The flags of a command, in a set of flags of its own."""
    values = flags.FlagValues()
    importlib.import_module(command).define_flags(values)
    return values


def test_the_table_lists_the_commands_that_are_installed():
    assert sorted(FLAGS_OF) == sorted(commands())


@pytest.mark.parametrize("command", FLAGS_OF)
def test_flags_and_defaults_are_those_in_the_table(command):
    values = defined_flags(command)
    assert {name: values[name].default for name in values} == FLAGS_OF[command]


@pytest.mark.parametrize("command", FLAGS_OF)
def test_every_flag_says_what_it_does_in_a_sentence(command):
    values = defined_flags(command)
    # absl adds a remark of its own to the help of a flag that may be repeated.
    helps = {name: values[name].help.split(";\n    repeat")[0] for name in values}
    assert [name for name, text in helps.items() if not text.endswith(".")] == []


@pytest.mark.parametrize("command", FLAGS_OF)
def test_a_command_is_a_thin_script_that_says_what_it_is(command):
    module = importlib.import_module(command)
    lines = Path(module.__file__).read_text().splitlines()
    assert module.__doc__
    assert len(lines) <= MAX_LINES
    assert lines[-2:] == ['if __name__ == "__main__":', "    main()"]


def test_importing_the_commands_imports_no_framework():
    program = (
        "import importlib, sys\n"
        f"for name in {commands()!r}:\n"
        "    importlib.import_module(name)\n"
        "heavy = {'tensorflow', 'keras', 'jax', 'torch', 'matplotlib', 'tensorflow_text'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.flags")), ids=lambda path: path.stem)
def test_a_flag_file_names_flags_that_exist_and_says_where_it_is_from(path):
    command = f"run_{path.parent.name}"
    values = defined_flags(f"albert_tf.{command}")
    flags.DEFINE_string("flagfile", None, "As absl defines it for a program.", flag_values=values)
    values([command, *(line for line in path.read_text().splitlines() if line.startswith("--"))])
    header = [line for line in path.read_text().splitlines() if line.startswith("#")]
    for word in ("Source:", "Command:", "Hardware:", "Expected result:"):
        assert any(word in line for line in header), f"{path.name} does not say {word}"
    assert any(f"--flagfile=configs/{path.parent.name}/{path.name}" in line for line in header)
    if values.albert_config_file is not None:
        assert (ROOT / values.albert_config_file).is_file()
