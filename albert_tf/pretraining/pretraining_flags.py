"""The flags of a pre-training run, for the command that trains and the one that plans."""

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import flag_help
from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.training.training_flags import MEMORY_TITLE, define_training_flags

_OPTIMISATION = "Batches and optimisation"
_GROUPS = {
    "Input and output": ("albert_config_file", "input_file", "output_dir", "eval_input_file", "spm_model_file"),
    "Weights to start from": (
        *("init_checkpoint", "init_embeddings", "init_from_group0", "init_output_bias", "init_position_waves"),
        "allow_missing_heads",
    ),
    "Records": ("max_seq_length", "max_predictions_per_seq", "masking", "sentence_task"),
    "What to do": ("do_train", "do_eval"),
    _OPTIMISATION: (
        *("train_batch_size", "eval_batch_size", "optimizer", "learning_rate", "muon_rate", "sentence_head_rate"),
        *("learning_rate_schedule", "poly_power", "decay_proportion", "num_train_steps", "train_minutes"),
        *("num_warmup_steps", "warmup_proportion", "start_warmup_step", "batch_schedule", "random_seed"),
    ),
    "Dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "Checkpoints and evaluation": ("save_checkpoints_steps", "keep_checkpoint_max", "max_eval_steps"),
    "Optimizer": ("beta_2", "adam_epsilon", "bias_correction", "weight_decay_rate", "max_gradient_norm"),
    "Records without masks (create_pretraining_data --masking=dynamic)": (
        *("length_schedule", "masked_lm_prob", "ngram", "pack_sequences"),
    ),
}


def define_pretraining_flags(flag_values: flags.FlagValues) -> None:
    """Declares them all, with the titles of --help."""
    for title, names in _GROUPS.items():
        define_flags_of(PretrainingSettings, title, flag_values, names)
    define_training_flags(flag_values)
    define_flags_of(PretrainingSettings, MEMORY_TITLE, flag_values, ["batch_halves"])
    flag_help.begin_group("Official command lines", flag_values)
    unmatched_flags.define_unmatched("run_pretraining", flag_values)
