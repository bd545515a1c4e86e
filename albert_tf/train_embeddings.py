r"""Trains a model to make vectors of texts: of single texts, of pairs that belong together, or of pairs with scores.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir. What it leaves there is read
by embed_texts, search_texts, export_model and convert_checkpoint.

train_embeddings --init_checkpoint=runs/base --train_file=texts.txt --output_dir=runs/vectors
train_embeddings --init_checkpoint=runs/base --train_file=questions.jsonl --output_dir=runs/search \
  --dev_file=held_out.jsonl --do_eval
"""

from absl import flags

from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.strategy import TpuAddress
from albert_tf.training.training_flags import asks_for_tpu, define_training_flags

_GROUPS = {
    "Input and output": (
        *("train_file", "dev_file", "output_dir", "text_columns", "dev_text_columns", "score_column", "max_score"),
    ),
    "Weights and vocabulary": ("init_checkpoint", "allow_missing_heads", "albert_config_file", "spm_model_file"),
    "What to do": ("do_train", "do_eval"),
    "Vectors": ("pooling", "normalize", "max_seq_length"),
    "Loss": ("objective", "temperature", "symmetric"),
    "Batches and optimisation": (
        *("train_batch_size", "eval_batch_size", "optimizer", "learning_rate", "layerwise_learning_rate_decay"),
        *("num_train_steps", "num_train_epochs", "num_warmup_steps", "warmup_proportion"),
    ),
    "Schedule and optimizer": (
        *("learning_rate_schedule", "poly_power", "decay_proportion"),
        *("beta_2", "adam_epsilon", "weight_decay_rate", "max_gradient_norm"),
    ),
    "Dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "Checkpoints, evaluation and seed": (
        *("early_stopping_patience", "save_checkpoints_steps", "keep_checkpoint_max", "random_seed"),
    ),
    "Features": ("num_workers", "cache_dir"),
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, names in _GROUPS.items():
        define_flags_of(EmbeddingSettings, title, flag_values, names)
    define_flags_of(TextCleaning, "Text cleaning, as in pre-training", flag_values)
    define_training_flags(flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    allocator.set_up_memory(release=given.release_memory)
    import_tensorflow(backend=given.backend, joins=asks_for_tpu(given))
    from albert_tf.embedding.train import format_results, run

    own = flags.FlagValues()
    define_flags(own)
    resolved = "".join(f"{given[name].serialize()}\n" for name in own if given[name].value is not None)
    settings = EmbeddingSettings(
        **values_of(EmbeddingSettings, given),
        cleaning=TextCleaning(**values_of(TextCleaning, given)),
        tpu=TpuAddress(given.tpu_name, given.tpu_zone, given.gcp_project) if asks_for_tpu(given) else None,
        resolved_flags=resolved,
    )
    print(format_results(run(settings)))  # noqa: T201


main = command.entry_point(__name__, run_with, required=("output_dir",))

if __name__ == "__main__":
    main()
