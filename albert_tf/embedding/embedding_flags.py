"""The flags of the commands that train vectors."""

from collections.abc import Callable
from typing import TypeVar

from absl import flags

from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.strategy import TpuAddress
from albert_tf.training.training_flags import asks_for_tpu, define_training_flags

_Settings = TypeVar("_Settings", bound=EmbeddingSettings)

_GROUPS = {
    "Input and output": (
        *("train_file", "dev_file", "output_dir", "text_columns", "dev_text_columns", "score_column", "max_score"),
    ),
    "Weights and vocabulary": ("init_checkpoint", "allow_missing_heads", "albert_config_file", "spm_model_file"),
    "What to do": ("do_train", "do_eval"),
    "Vectors": ("pooling", "normalize", "max_seq_length"),
    "Batches and optimisation": (
        *("train_batch_size", "eval_batch_size", "optimizer", "learning_rate", "layerwise_learning_rate_decay"),
        *("num_train_steps", "num_train_epochs", "num_warmup_steps", "warmup_proportion"),
    ),
    "Schedule and optimizer": (
        *("learning_rate_schedule", "poly_power", "decay_proportion"),
        *("beta_2", "adam_epsilon", "bias_correction", "weight_decay_rate", "max_gradient_norm"),
    ),
    "Dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "Checkpoints, evaluation and seed": (
        *("early_stopping_patience", "save_checkpoints_steps", "keep_checkpoint_max", "random_seed"),
    ),
    "Features": ("num_workers", "cache_dir"),
}


def define_train_embeddings_flags(flag_values: flags.FlagValues) -> None:
    """Declares the flags of train_embeddings."""
    define_flags_of(EmbeddingSettings, "Loss", flag_values, ["objective", "temperature", "symmetric"])
    define_embedding_flags(EmbeddingSettings, flag_values)


def define_embedding_flags(kind: type[EmbeddingSettings], flag_values: flags.FlagValues) -> None:
    """Declares those that every training of vectors has, with the titles of --help.

    Args:
        kind: EmbeddingSettings, or a subclass with defaults of its own.
        flag_values: where they go.
    """
    for title, names in _GROUPS.items():
        define_flags_of(kind, title, flag_values, names)
    define_flags_of(TextCleaning, "Text cleaning, as in pre-training", flag_values)
    define_training_flags(flag_values)


def read_settings(
    kind: type[_Settings], given: flags.FlagValues, define_flags: Callable[[flags.FlagValues], None]
) -> _Settings:
    """The settings that the flags of a command say.

    Args:
        kind: of the settings.
        given: the flags, parsed.
        define_flags: declares those of the command.
    """
    own = flags.FlagValues()
    define_flags(own)
    return kind(
        **values_of(kind, given),
        cleaning=TextCleaning(**values_of(TextCleaning, given)),
        tpu=TpuAddress(given.tpu_name, given.tpu_zone, given.gcp_project) if asks_for_tpu(given) else None,
        resolved_flags="".join(f"{given[name].serialize()}\n" for name in own if given[name].value is not None),
    )
