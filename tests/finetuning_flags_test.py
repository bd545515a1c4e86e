"""The flag files of fine-tuning: the published settings of every task, written out here."""

from pathlib import Path

import pytest
from absl import flags

from albert_tf import run_finetuning
from albert_tf.finetuning.rate_flag import rates_of
from albert_tf.tasks.registry import TASK_NAMES
from albert_tf.tasks.superglue import TABLES as SUPERGLUE

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


# Those that the paper starts from a model of MNLI, after RoBERTa (arXiv 1907.11692, section 5.1).
FROM_MNLI = ("rte", "sts-b", "mrpc")


def parse(name):
    values = flags.FlagValues()
    run_finetuning.define_flags(values)
    flags.DEFINE_string("flagfile", None, "As absl defines it for a program.", flag_values=values)
    values(["run_finetuning", f"--flagfile={FOLDER / f'{name}.flags'}"])
    return values


def test_every_task_that_is_trained_has_a_flag_file():
    assert {path.stem for path in FOLDER.glob("*.flags")} == {*SETTINGS, *(f"{name}_from_mnli" for name in FROM_MNLI)}
    # ax is predicted with a model of mnli; the paper has nothing on SuperGLUE; the others are a user's own.
    own = {"classification", "entities", "span_categories", "token_classification"}
    assert set(TASK_NAMES) - set(SETTINGS) == {"ax", *SUPERGLUE, *own}


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


@pytest.mark.parametrize("name", FROM_MNLI)
def test_a_small_task_that_starts_from_mnli_has_its_own_settings_besides(name):
    own, after = parse(name), parse(f"{name}_from_mnli")
    skipped = ("flagfile",)
    different = {flag for flag in own if flag not in skipped and own[flag].value != after[flag].value}
    assert different == {"init_checkpoint"}
    assert after.init_checkpoint == "runs/mnli"


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


def test_the_rate_is_a_number_or_a_list_that_stays_text():
    values = flags.FlagValues()
    run_finetuning.define_flags(values)
    values(["run_finetuning", "--learning_rate=2e-5"])
    assert rates_of(values) == {"learning_rate": 2e-5}
    values(["run_finetuning", "--learning_rate=1e-5,2e-5"])
    assert rates_of(values) == {"learning_rates": "1e-5,2e-5"}
    assert values["learning_rate"].serialize() == "--learning_rate=1e-5,2e-5"
    with pytest.raises(flags.IllegalFlagValueError):
        values(["run_finetuning", "--learning_rate=1e-5,fast"])
