"""The command itself: official command lines, contradictions, one line for each mistake."""

import re
import subprocess
import sys

import pytest
from absl import flags

from albert_tf.runtime.errors import InputError
from data_prep import create_pretraining_data, inspect_records
from tests.support.word_pieces import write_word_pieces


def _run(module, *arguments):
    command = [sys.executable, "-m", f"data_prep.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _parse(*arguments) -> flags.FlagValues:
    values = flags.FlagValues()
    create_pretraining_data.define_flags(values)
    values(["command", *arguments])
    return values


def test_an_official_command_line_runs(small_corpus, small_vocabulary, tmp_path):
    finished = _run(
        "create_pretraining_data",
        *(f"--input_file={small_corpus}", f"--output_file={tmp_path}/a.tfrecord,{tmp_path}/b.tfrecord"),
        *(f"--spm_model_file={small_vocabulary}", "--vocab_file=albert.vocab", "--do_lower_case=true"),
        *("--max_seq_length=64", "--max_predictions_per_seq=10", "--masked_lm_prob=0.15", "--dupe_factor=2"),
        *("--do_whole_word_mask=true", "--ngram=3", "--favor_shorter_ngram=true", "--random_next_sentence=false"),
        *("--do_permutation=false", "--random_seed=12345", "--short_seq_prob=0.1", "--num_workers=1"),
    )
    assert finished.returncode == 0, finished.stderr
    assert "--vocab_file is not used" in finished.stderr
    assert re.search(r"\d+ examples in 2 files, [\d.]+ s, \d+ examples/s", finished.stderr)
    shown = _run(
        "inspect_records", f"--input_file={tmp_path}/*", f"--spm_model_file={small_vocabulary}", "--num_examples=1"
    )
    assert shown.returncode != 0  # the corpus beside the records is no record file
    shown = _run("inspect_records", f"--input_file={tmp_path}/*.tfrecord", f"--spm_model_file={small_vocabulary}")
    assert shown.returncode == 0, shown.stderr
    assert "[MASK:" in shown.stdout
    assert "sentence_task sop" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "task"),
    [
        ([], "sop"),
        (["--sentence_task=none"], "none"),
        (["--random_next_sentence"], "nsp"),
        (["--random_next_sentence=false"], "sop"),
        (["--random_next_sentence=true", "--sentence_task=nsp"], "nsp"),
        (["--random_next_sentence=false", "--sentence_task=none"], "none"),
    ],
)
def test_the_official_flag_names_the_task(arguments, task):
    assert create_pretraining_data.resolve_sentence_task(_parse(*arguments)) == task


@pytest.mark.parametrize(
    "arguments",
    [
        ["--random_next_sentence=true", "--sentence_task=sop"],
        ["--random_next_sentence=true", "--sentence_task=none"],
        ["--random_next_sentence=false", "--sentence_task=nsp"],
    ],
)
def test_contradicting_tasks_are_refused(arguments):
    with pytest.raises(InputError, match=r"--random_next_sentence=\w+ contradicts --sentence_task="):
        create_pretraining_data.resolve_sentence_task(_parse(*arguments))


def test_an_official_line_names_a_word_piece_vocabulary_beside_an_empty_one(small_corpus, tmp_path):
    vocabulary = write_word_pieces(tmp_path / "vocab.txt")
    for number, empty in enumerate(([], ["--spm_model_file="])):
        finished = _run(
            "create_pretraining_data",
            *(f"--input_file={small_corpus}", f"--output_file={tmp_path}/{number}.tfrecord", *empty),
            *(f"--vocab_file={vocabulary}", "--max_seq_length=64", "--dupe_factor=1", "--num_workers=1"),
        )
        assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "0.tfrecord").read_bytes() == (tmp_path / "1.tfrecord").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "--input_file, --output_file, --spm_model_file or --vocab_file must be given"),
        (["--input_file=x", "--output_file=y", "--spm_model_file=z"], 1, "the vocabulary z does not exist"),
        (["--sentence_task=sup"], 2, "sentence_task"),
        (["--max_seq_length=many"], 2, "max_seq_length"),
        (["--input_file=x", "--output_file=y", "--spm_model_file=z", "--do_permutation"], 1, "not supported"),
    ],
)
def test_mistakes_are_one_line(arguments, code, message):
    finished = _run("create_pretraining_data", *arguments)
    assert finished.returncode == code
    assert message in finished.stderr
    assert len(finished.stderr.strip().splitlines()) == 1
    assert finished.stdout == ""


def test_both_commands_define_their_flags_apart():
    values = flags.FlagValues()
    inspect_records.define_flags(values)
    assert values["num_examples"].default == 5
