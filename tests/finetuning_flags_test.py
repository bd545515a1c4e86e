"""The flag files of fine-tuning: the published settings of every task, written out here."""

from pathlib import Path

import pytest
from absl import flags

from albert_tf import run_finetuning
from albert_tf.tasks.registry import TASK_NAMES

FOLDER = Path(__file__).resolve().parents[1] / "configs" / "finetuning"

# Table of hyper-parameters in the paper's appendix; race as corrected for the v2 models, squad_v2 likewise published.
# task: (rate, examples a step, dropout of the encoder, of the head, steps, warm-up, longest sequence)
SETTINGS = {
    "cola": (1e-5, 16, 0.0, 0.1, 5336, 320, 512),
    "sts-b": (2e-5, 16, 0.0, 0.1, 3598, 214, 512),
    "sst-2": (1e-5, 32, 0.0, 0.1, 20935, 1256, 512),
    "mnli": (3e-5, 128, 0.0, 0.1, 10000, 1000, 512),
    "qnli": (1e-5, 32, 0.0, 0.1, 33112, 1986, 512),
    "qqp": (5e-5, 128, 0.1, 0.1, 14000, 1000, 512),
    "rte": (3e-5, 32, 0.1, 0.1, 800, 200, 512),
    "mrpc": (2e-5, 32, 0.0, 0.1, 800, 200, 512),
    "wnli": (2e-5, 16, 0.1, 0.1, 2000, 250, 512),
    "squad_v1": (5e-5, 48, 0.0, 0.1, 3649, 365, 384),
    "squad_v2": (3e-5, 48, 0.0, 0.1, 8144, 814, 384),
    "race": (1e-5, 32, 0.0, 0.1, 12000, 1000, 512),
}


def parse(name):
    values = flags.FlagValues()
    run_finetuning.define_flags(values)
    flags.DEFINE_string("flagfile", None, "As absl defines it for a program.", flag_values=values)
    values(["run_finetuning", f"--flagfile={FOLDER / f'{name}.flags'}"])
    return values


def test_every_task_that_is_trained_has_a_flag_file():
    assert {path.stem for path in FOLDER.glob("*.flags")} == set(SETTINGS)
    # ax is predicted with a model of mnli; the others are a user's own.
    assert set(TASK_NAMES) - set(SETTINGS) == {"ax", "classification", "token_classification"}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_flag_file_has_the_published_settings(name):
    values = parse(name)
    rate, batch, dropout, head_dropout, steps, warmup, length = SETTINGS[name]
    assert values.task_name == name
    assert (values.do_train, values.do_eval, values.optimizer) == (True, True, "adamw")
    assert (values.learning_rate, values.train_batch_size) == (rate, batch)
    assert values.hidden_dropout_prob == values.attention_probs_dropout_prob == dropout
    assert values.classifier_dropout_prob == head_dropout
    assert (values.num_train_steps, values.num_warmup_steps, values.max_seq_length) == (steps, warmup, length)
    assert values.num_train_steps > values.save_checkpoints_steps


@pytest.mark.parametrize("name", ["squad_v1", "squad_v2"])
def test_questions_and_windows_have_the_official_lengths(name):
    values = parse(name)
    assert (values.max_query_length, values.doc_stride, values.max_answer_length, values.n_best_size) == (
        64,
        128,
        30,
        20,
    )


def test_race_has_the_official_length_of_question_and_option():
    assert parse("race").max_qa_length == 128
