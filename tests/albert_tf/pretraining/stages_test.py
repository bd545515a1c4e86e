"""The stages of a run: from flags to steps, and how many examples they hold."""

import dataclasses

import pytest

from albert_tf.inputs.reading import AS_MADE, Reading
from albert_tf.pretraining.stages import make_stages, parse_schedule
from albert_tf.runtime.errors import InputError


def test_a_run_without_schedules_is_one_stage():
    stages = make_stages(100, 8, 64)
    (stage,) = stages
    assert (stage.first_step, stage.end_step, stage.batch_size, stage.reading) == (0, 100, 8, AS_MADE)
    assert stages.ends() == ()
    assert stages.examples_between(20, 50) == 240


def test_short_examples_come_in_larger_batches():
    stages = make_stages(100, 8, 128, lengths=[(32, 0.5), (64, 0.25), (128, 0.25)])
    assert [(s.first_step, s.end_step, s.batch_size, s.reading.seq_length) for s in stages] == [
        *((0, 50, 32, 32), (50, 75, 16, 64), (75, 100, 8, 128)),
    ]
    assert stages.ends() == (50, 75)
    assert stages.examples_between(0, 100) == 50 * 32 + 25 * 16 + 25 * 8
    assert stages.examples_between(49, 76) == 32 + 25 * 16 + 8
    # A run may be at a step after the end that it has now.
    assert stages.examples_between(99, 110) == 11 * 8
    assert stages.at(110) is stages.at(99)
    assert [stages.at(step).batch_size for step in (0, 49, 50, 75)] == [32, 32, 16, 8]


def test_every_change_of_anything_begins_a_stage():
    stages = make_stages(
        *(100, 64, 64),
        batches=[(16, 0.1), (64, 0.9)],
        masked_lm_probs=[(0.3, 0.7), (0.15, 0.3)],
        ngrams=[(1, 0.7), (3, 0.3)],
    )
    assert [(s.first_step, s.batch_size, s.reading.masked_lm_prob, s.reading.ngram) for s in stages] == [
        *((0, 16, 0.3, 1), (10, 64, 0.3, 1), (70, 64, 0.15, 3)),
    ]


def test_a_stage_too_short_for_a_step_is_left_out_with_a_word(caplog):
    stages = make_stages(2, 8, 64, lengths=[(32, 0.2), (64, 0.8)])
    assert [(s.first_step, s.end_step, s.reading.seq_length) for s in stages] == [(0, 2, 64)]
    assert caplog.messages == ["32 of a schedule has none of the 2 steps: 0.2 of them"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *[(text, "must be VALUE or VALUE:SHARE") for text in ("", "a", "32:0.5,64", "32:0.5:1", "3.2", "32;64")],
        *[(text, "all of them positive") for text in ("0", "-1:1", "32:0,64:1", "32:1.5,64:-0.5", "32:nan")],
        ("32:0.5,64:0.4", r"the shares must add up to 1; those of '32:0.5,64:0.4' add up to 0.9$"),
    ],
)
def test_other_texts_are_one_line(text, message):
    with pytest.raises(InputError, match=f"^--length_schedule.*{message}"):
        parse_schedule("length_schedule", text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length_schedule": "7:0.5,16:0.5"}, "--length_schedule: lengths lie between 8 and --max_seq_length=16."),
        ({"length_schedule": "17"}, "--length_schedule: lengths lie between 8 and --max_seq_length=16. Received 17."),
        ({"masked_lm_prob": "1"}, "--masked_lm_prob must lie below 1. Received 1."),
        ({"ngram": "21"}, "--ngram must be at most 20. Received 21."),
        ({"batch_schedule": "8:0.5"}, "--batch_schedule: the shares must add up to 1"),
        ({"beta_2": 1.0}, r"--beta_2 must lie in \[0, 1\). Received 1.0."),
        ({"weight_decay_rate": float("nan")}, r"--weight_decay_rate must lie in \[0, 1e6\). Received nan."),
        ({"max_gradient_norm": 0.0}, r"--max_gradient_norm must lie in \(0, 1e30\). Received 0.0."),
    ],
)
def test_settings_that_no_run_can_have_are_one_line(settings, changes, message):
    with pytest.raises(InputError, match=f"^{message}"):
        dataclasses.replace(settings, **changes)


def test_predictions_have_the_room_that_the_rate_wants():
    from albert_tf.records.masking_rules import MaskingRules

    given = MaskingRules(masked_lm_prob=0.15, max_predictions_per_seq=20)
    assert AS_MADE.rules(given, 128) is given
    assert Reading(masked_lm_prob=0.4).rules(given, 128).max_predictions_per_seq == 51
    assert Reading(seq_length=32).rules(given, 128).max_predictions_per_seq == 5
    assert Reading(ngram=1).rules(dataclasses.replace(given, max_predictions_per_seq=9), 128) == dataclasses.replace(
        given, max_predictions_per_seq=9, ngram=1
    )
