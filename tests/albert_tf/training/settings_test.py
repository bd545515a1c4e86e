"""Numbers that no run can be made of: each ends in one line that names the flag, before anything is read."""

import pytest

from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime.errors import InputError

NAN, INF = float("nan"), float("inf")


def _pretraining(**changes):
    given = {"albert_config_file": "config.json", "input_file": "records", "output_dir": "run", **changes}
    return PretrainingSettings(**given)


def _finetuning(**changes):
    return FinetuningSettings(**{"task_name": "cola", "output_dir": "run", **changes})


# Numbers of something: at least 1, or at least 0.
_COUNTS = (
    *("train_batch_size", "eval_batch_size", "save_checkpoints_steps", "iterations_per_loop", "log_steps"),
    *("gradient_accumulation_steps", "num_train_steps"),
)
_COUNTS_OR_NONE = ("num_warmup_steps", "start_warmup_step", "keep_checkpoint_max", "max_nonfinite_steps")
_BAD_IN_BOTH = {
    **dict.fromkeys(_COUNTS, (0, -1, 2**31)),
    **dict.fromkeys(_COUNTS_OR_NONE, (-1, 2**31)),
    "random_seed": (-1, 2**32, 10**30),
    "learning_rate": (NAN, INF, -INF, 0.0, -1e-3, 1e39, 1e-50),
    "poly_power": (NAN, INF, -1.0, 1e39),
}
_BAD_IN_PRETRAINING = _BAD_IN_BOTH | {
    **dict.fromkeys(("max_eval_steps", "max_seq_length", "max_predictions_per_seq"), (0, -1, 2**31)),
    "train_minutes": (NAN, INF, 0.0, -1.0),
    "muon_rate": (NAN, INF, 0.0, -1.0),
    "sentence_head_rate": (NAN, INF, 0.0, -1.0),
    "decay_proportion": (NAN, 0.0, -0.1, 1.1),
    "warmup_proportion": (NAN, 1.0, -0.1),
    "learning_rate_schedule": ("cosine", ""),
}
_BAD_IN_FINETUNING = _BAD_IN_BOTH | {
    **dict.fromkeys(("early_stopping_patience", "num_workers"), (-1, 2**31)),
    "num_seeds": (0, -1, 2**31),
    "num_train_epochs": (NAN, INF, 0.0, -1.0),
    "layerwise_learning_rate_decay": (NAN, INF, 0.0, 1.5),
    **dict.fromkeys(("classifier_dropout_prob", "hidden_dropout_prob", "warmup_proportion"), (NAN, 1.0, -0.1)),
}
_BAD = [
    (make, name, value)
    for make, table in ((_pretraining, _BAD_IN_PRETRAINING), (_finetuning, _BAD_IN_FINETUNING))
    for name, values in table.items()
    for value in values
]


@pytest.mark.parametrize(("make", "name", "value"), _BAD)
def test_no_run_is_made_of(make, name, value):
    with pytest.raises(InputError, match=f"--{name} ") as error:
        make(**{name: value})
    assert "\n" not in str(error.value)


def test_a_share_of_warm_up_becomes_steps():
    assert _pretraining(num_train_steps=1000, warmup_proportion=0.06).num_warmup_steps == 60
    assert _pretraining(num_train_steps=1000, warmup_proportion=0.0).num_warmup_steps == 0


@pytest.mark.parametrize(("warm_up", "decay"), [(0.5, 0.5), (0.3, 0.7), (0.1, 0.9), (0.06, 0.2)])
def test_shares_of_warm_up_and_decay_that_fit_a_run_fit_any_run(warm_up, decay):
    shares = {"warmup_proportion": warm_up, "decay_proportion": decay, "learning_rate_schedule": "stable_decay"}
    for steps in range(2, 40):
        made = _pretraining(num_train_steps=steps, **shares)
        assert made.num_warmup_steps + made.num_decay_steps <= steps
        assert abs(made.num_warmup_steps - steps * warm_up) <= 1


def test_a_stable_rate_needs_room_for_warm_up_and_decay():
    stable = {"learning_rate_schedule": "stable_decay", "num_train_steps": 100}
    assert _pretraining(**stable, num_warmup_steps=70, decay_proportion=0.3).num_decay_steps == 30
    with pytest.raises(InputError, match="=71 and the decay of 30 steps .* are longer than the run of 100; give less"):
        _pretraining(**stable, num_warmup_steps=71, decay_proportion=0.3)
    with pytest.raises(InputError, match="--start_warmup_step goes with --learning_rate_schedule=polynomial alone"):
        _pretraining(**stable, num_warmup_steps=7, start_warmup_step=1)


def test_a_warm_up_that_outlasts_the_run_is_refused():
    for make in (_pretraining, _finetuning):
        make(num_train_steps=100, num_warmup_steps=100)
        make(num_train_steps=100, num_warmup_steps=90, start_warmup_step=10)
        with pytest.raises(InputError, match="=101 is longer than the run of 100 steps; give at most 100"):
            make(num_train_steps=100, num_warmup_steps=101)
        with pytest.raises(InputError, match="=95 from --start_warmup_step=10 is longer .* give at most 90"):
            make(num_train_steps=100, num_warmup_steps=95, start_warmup_step=10)
    # For an evaluation the warm-up does not matter.
    _pretraining(do_train=False, do_eval=True, num_train_steps=100)
    with pytest.raises(InputError, match="--num_warmup_steps=3125 is longer than the run of 100 steps"):
        _pretraining(num_train_steps=100)
    # Steps that follow from epochs.
    settings = _finetuning(num_warmup_steps=30)
    assert settings.warmup_for(30) == 30
    with pytest.raises(InputError, match="--num_warmup_steps=30 is longer than the run of 29 steps"):
        settings.warmup_for(29)


def test_the_seeds_of_several_runs_fit_too():
    _finetuning(random_seed=2**32 - 2, num_seeds=2)
    with pytest.raises(InputError, match="--random_seed and --num_seeds: the last seed .* Received 4294967296"):
        _finetuning(random_seed=2**32 - 2, num_seeds=3)
