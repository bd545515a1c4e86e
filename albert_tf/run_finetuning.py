r"""Fine-tunes ALBERT on a task: GLUE, SQuAD, RACE, or one of your own; evaluates it, and predicts what is asked for.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir.

run_finetuning --task_name=sst-2 --data_dir=glue/SST-2 --init_checkpoint=runs/base --output_dir=runs/sst-2 \
  --do_train --do_eval
"""

from absl import flags

from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.strategy import TpuAddress
from albert_tf.training.training_flags import asks_for_tpu, define_training_flags

_FIRST = {
    "Input and output": ("task_name", "data_dir", "output_dir"),
    "Weights and vocabulary": (
        *("init_checkpoint", "allow_missing_heads", "keep_head", "albert_config_file", "spm_model_file"),
    ),
    "What to do": ("do_train", "do_eval", "do_predict"),
}
_RECIPE = {
    "Batches and optimisation": (
        *("train_batch_size", "eval_batch_size", "optimizer", "learning_rate", "layerwise_learning_rate_decay"),
        *("num_train_steps", "num_train_epochs", "num_warmup_steps", "warmup_proportion"),
    ),
    "Dropout": ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout_prob"),
    "Checkpoints, evaluation and seeds": (
        *("early_stopping_patience", "num_seeds", "save_checkpoints_steps", "keep_checkpoint_max", "random_seed"),
    ),
    "Features": ("num_workers", "cache_dir"),
}

_SQUAD_AND_RACE = "SQuAD and RACE"
_OWN_TASK = (
    *("train_file", "dev_file", "test_file", "text_column", "text_pair_column", "label_column"),
    *("labels", "multi_label", "regression"),
)
_WINDOWS = ("max_query_length", "doc_stride", "max_answer_length", "n_best_size", "max_qa_length")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, names in _FIRST.items():
        # As in the official scripts, a command that is not asked to train does not; settings made in Python do.
        define_flags_of(FinetuningSettings, title, flag_values, names, but={"do_train": False})
    define_flags_of(TaskSettings, "Lengths", flag_values, ["max_seq_length"])
    define_flags_of(FinetuningSettings, "Lengths", flag_values, ["pad_to_max_length"])
    define_flags_of(TaskSettings, _SQUAD_AND_RACE, flag_values, _WINDOWS)
    define_flags_of(TaskOptions, "A task of your own", flag_values, _OWN_TASK)
    define_flags_of(TaskOptions, _SQUAD_AND_RACE, flag_values, ["beam", "null_score_diff_threshold", "race_level"])
    define_flags_of(TextCleaning, "Text cleaning, as in pre-training", flag_values)
    for title, names in _RECIPE.items():
        define_flags_of(FinetuningSettings, title, flag_values, names)
    define_training_flags(flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    allocator.set_up_memory(release=given.release_memory)
    import_tensorflow(backend=given.backend, joins=asks_for_tpu(given))
    from albert_tf.finetuning.finetune import format_results, run

    own = flags.FlagValues()
    define_flags(own)
    resolved = "".join(f"{given[name].serialize()}\n" for name in own if given[name].value is not None)
    settings = FinetuningSettings(
        **values_of(FinetuningSettings, given),
        task_options=TaskOptions(**values_of(TaskOptions, given)),
        task_settings=TaskSettings(**values_of(TaskSettings, given)),
        cleaning=TextCleaning(**values_of(TextCleaning, given)),
        tpu=TpuAddress(given.tpu_name, given.tpu_zone, given.gcp_project) if asks_for_tpu(given) else None,
        resolved_flags=resolved,
    )
    print(format_results(run(settings)))  # noqa: T201


main = command.entry_point(__name__, run_with, required=("task_name", "output_dir"))

if __name__ == "__main__":
    main()
