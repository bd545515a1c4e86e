"""The flags of a fine-tuning run, for the command that trains and the report of its run."""

from absl import flags

from albert_tf.finetuning.rate_flag import define_rates
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.training_flags import define_training_flags

_FIRST = {
    "Input and output": ("task_name", "data_dir", "output_dir"),
    "Weights and vocabulary": (
        *("init_checkpoint", "allow_missing_heads", "keep_head", "albert_config_file", "spm_model_file"),
    ),
    "What to do": ("do_train", "do_eval", "do_predict"),
}
_RECIPE = {
    "Batches and optimisation": (
        *("train_batch_size", "eval_batch_size", "optimizer", "layerwise_learning_rate_decay"),
        *("num_train_steps", "num_train_epochs", "num_warmup_steps", "warmup_proportion"),
    ),
    "Schedule and optimizer": (
        *("learning_rate_schedule", "poly_power", "decay_proportion"),
        *("beta_2", "adam_epsilon", "bias_correction", "weight_decay_rate", "max_gradient_norm"),
    ),
    "Weights that are trained": ("freeze", "lora_rank", "lora_alpha"),
    "Loss": ("class_weights", "pos_weight", "label_smoothing"),
    "Early exit": ("early_exit", "exit_training", "exit_pooling", "exit_rate_factor", "exit_tolerance", "score_layers"),
    "Distillation": ("teacher", "distillation_temperature", "distillation_weight"),
    "Dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout_prob"),
    "Checkpoints, evaluation and seeds": (
        *("best_metric", "early_stopping_patience", "save_checkpoints_steps", "keep_checkpoint_max"),
        *("num_seeds", "num_folds", "ensemble", "random_seed", "restart_failed_seeds"),
    ),
    "Features": ("max_train_examples", "max_eval_examples", "num_workers", "cache_dir"),
}

_SQUAD_AND_RACE = "SQuAD and RACE"
_OWN_TASK = (
    *("train_file", "dev_file", "test_file", "text_column", "text_pair_column", "label_column"),
    *("labels", "multi_label", "regression", "label_threshold", "long_texts", "group_column"),
)
_WINDOWS = ("max_query_length", "doc_stride", "max_answer_length", "n_best_size", "max_qa_length")


def define_finetuning_flags(flag_values: flags.FlagValues) -> None:
    """Declares them all, with the titles of --help."""
    for title, names in _FIRST.items():
        # As in the official scripts, a command that is not asked to train does not; settings made in Python do.
        define_flags_of(FinetuningSettings, title, flag_values, names, but={"do_train": False})
    define_flags_of(TaskSettings, "Lengths", flag_values, ["max_seq_length"])
    define_flags_of(FinetuningSettings, "Lengths", flag_values, ["pad_to_max_length"])
    define_flags_of(TaskSettings, _SQUAD_AND_RACE, flag_values, _WINDOWS)
    define_flags_of(TaskOptions, "A task of your own", flag_values, _OWN_TASK)
    define_flags_of(TaskSettings, "A task of your own", flag_values, ["max_span_length"])
    define_flags_of(TaskOptions, _SQUAD_AND_RACE, flag_values, ["beam", "null_score_diff_threshold", "race_level"])
    define_flags_of(TextCleaning, "Text cleaning, as in pre-training", flag_values)
    for title, names in _RECIPE.items():
        define_flags_of(FinetuningSettings, title, flag_values, names)
    define_rates(flag_values)
    define_training_flags(flag_values)
