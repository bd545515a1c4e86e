"""The flags of run_pretraining that PretrainingSettings has beyond those of every training run, in their groups."""

from absl import flags

from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime.settings_flags import define_flags_of

_OPTIMISATION = "Batches and optimisation"
_FIRST = {
    "Input and output": {
        "albert_config_file": "JSON file with the model's shape.",
        "input_file": "Records to train on: comma-separated paths and globs.",
        "output_dir": "Where checkpoints and logs go.",
        "eval_input_file": "Records to evaluate on; left out: those of --input_file.",
        "spm_model_file": "The records' vocabulary (.model), to keep a copy of; left out: the one near the records, "
        "by its hash.",
    },
    "Weights to start from": {
        "init_checkpoint": "Checkpoint to start from, ours or another format's.",
        "init_embeddings": "Word embeddings to start from, of count_embeddings.",
        "init_from_group0": "Start every group of layers from the checkpoint's first.",
        "init_output_bias": "Start the masked-LM bias from how frequent pieces are.",
        "init_position_waves": "Start the position embeddings from sines and cosines, not from random numbers.",
        "allow_missing_heads": "Start heads afresh that --init_checkpoint lacks.",
    },
    "Records": {
        "max_seq_length": "Tokens of a record, padding included.",
        "max_predictions_per_seq": "Masked positions of a record, padding included.",
    },
    "What to do": {
        "do_train": "Whether to train.",
        "do_eval": "Whether to evaluate every checkpoint.",
    },
    _OPTIMISATION: {
        "train_batch_size": "Examples of a training step, over all devices.",
        "eval_batch_size": "Examples of an evaluation step, over all devices.",
        "optimizer": "Optimizer.",
        "learning_rate": "Learning rate at the end of the warm-up.",
        "muon_rate": "With --optimizer=muon: the matrices' rate, times --learning_rate.",
        "learning_rate_schedule": "What follows the warm-up.",
        "poly_power": "Power of the polynomial decay.",
        "decay_proportion": "Share of the run in which a stable rate decays at last.",
        "num_train_steps": "Steps until the learning rate is 0 and the run ends.",
        "train_minutes": "Minutes that the run has; for --num_train_steps.",
        "num_warmup_steps": "Steps of linear warm-up.",
        "warmup_proportion": "Share of warm-up in all steps, for --num_warmup_steps.",
        "start_warmup_step": "Step at which the warm-up starts.",
    },
    "Checkpoints and evaluation": {
        "save_checkpoints_steps": "Steps between checkpoints.",
        "keep_checkpoint_max": "Newest checkpoints to keep, besides the best; 0: all.",
        "max_eval_steps": "Most batches of an evaluation.",
    },
}
_BATCH_SCHEDULE = {"batch_schedule": "Examples of a step at --max_seq_length, by shares of the steps: 16:0.1,64:0.9."}
_OPTIMIZER = {
    "beta_2": "Decay of the mean of squared gradients.",
    "weight_decay_rate": "Weight decay of a step, times the learning rate.",
    "max_gradient_norm": "What the norm of all gradients together is clipped to.",
}
_DYNAMIC = {
    "length_schedule": "Tokens of an example, by shares of the steps: 32:0.5,128:0.5; shorter examples come in larger "
    "batches.",
    "masked_lm_prob": "Share of the tokens to mask, for the run or by shares of the steps: 0.3:0.7,0.15:0.3.",
    "ngram": "Longest run of words masked at once, for the run or by shares of the steps: 1:0.5,3:0.5.",
}
_LAST = {
    _OPTIMISATION: {"random_seed": "Seed of weights, order of records and dropout."},
    "Records": {
        "masking": "Of which kind the records must be; left out: they say it.",
        "sentence_task": "What the sentence labels mean; left out: what the records' manifest says. none leaves their "
        "loss out.",
    },
}


def define_pretraining_flags(flag_values: flags.FlagValues) -> None:
    """Declares what is trained, on what and how; what can change on the way; the optimizer's numbers."""
    for title, texts in _FIRST.items():
        define_flags_of(PretrainingSettings, title, texts, flag_values)
    define_flags_of(PretrainingSettings, _OPTIMISATION, _BATCH_SCHEDULE, flag_values)
    define_flags_of(PretrainingSettings, "Optimizer", _OPTIMIZER, flag_values)
    title = "Records without masks (create_pretraining_data --masking=dynamic)"
    define_flags_of(PretrainingSettings, title, _DYNAMIC, flag_values)


def define_last_flags(flag_values: flags.FlagValues) -> None:
    """Declares what --help shows last in its groups."""
    for title, texts in _LAST.items():
        define_flags_of(PretrainingSettings, title, texts, flag_values)
