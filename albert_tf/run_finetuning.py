r"""Fine-tunes ALBERT on a task: GLUE, SQuAD, RACE, or one of your own; evaluates it, and predicts what is asked for.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir.

run_finetuning --task_name=sst-2 --data_dir=glue/SST-2 --init_checkpoint=runs/base --output_dir=runs/sst-2 \
  --do_train --do_eval
"""

from absl import flags

from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.finetuning.task_flags import define_task_flags
from albert_tf.runtime import allocator, command
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.strategy import TpuAddress
from albert_tf.training.training_flags import asks_for_tpu, define_training_flags

_SEEDS = "Checkpoints, evaluation and seeds"
_RANDOM_SEED = "Seed of the head, order of examples and dropout."
_FIRST = {
    "Input and output": {
        "task_name": "The task, as in docs/finetuning.md: sst-2, squad_v2, classification.",
        "data_dir": "Folder with the task's files.",
        "output_dir": "Where checkpoints, predictions and results go.",
    },
    "Weights and vocabulary": {
        "init_checkpoint": "Checkpoint to start from, ours or another format's.",
        "allow_missing_heads": "Start the pooler afresh if --init_checkpoint lacks it.",
        "keep_head": "Take the head of --init_checkpoint though of a different task.",
        "albert_config_file": "The model's JSON file; left out: the checkpoint's own.",
        "spm_model_file": "The vocabulary (.model); left out: that beside the checkpoint.",
    },
    "What to do": {
        "do_train": "Whether to train.",
        "do_eval": "Whether to evaluate, every checkpoint and then the best.",
        "do_predict": "Whether to write predictions for the test split.",
    },
}
_RECIPE = {
    "Batches and optimisation": {
        "train_batch_size": "Examples of a training step, over all devices.",
        "eval_batch_size": "Examples of an evaluation step, over all devices.",
        "optimizer": "Optimizer.",
        "learning_rate": "Learning rate at the end of the warm-up.",
        "layerwise_learning_rate_decay": "Factor for each depth below the head.",
        "num_train_steps": "Steps of training; left out: --num_train_epochs.",
        "num_train_epochs": "Passes over the training split, without --num_train_steps.",
        "num_warmup_steps": "Steps of linear warm-up; left out: --warmup_proportion.",
        "warmup_proportion": "Share of warm-up in all steps, without --num_warmup_steps.",
    },
    "Dropout": {
        "hidden_dropout_prob": "Dropout in the encoder; left out: as in the config.",
        "attention_probs_dropout_prob": "Dropout of attention; left out: as in the config.",
        "classifier_dropout_prob": "Dropout of the head; left out: the checkpoint's or 0.1.",
    },
    _SEEDS: {
        "early_stopping_patience": "Evaluations without a better one to stop at; 0: never.",
        "num_seeds": "Runs, from --random_seed upwards, to report the median of.",
        "save_checkpoints_steps": "Steps between checkpoints; left out: an epoch.",
        "keep_checkpoint_max": "Newest checkpoints to keep, besides the best; 0: all.",
    },
    "Features": {
        "num_workers": "Processes that make features; 0: one for each core.",
        "cache_dir": "Where features are kept; left out: OUTPUT_DIR/features.",
    },
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, texts in _FIRST.items():
        # As in the official scripts, a command that is not asked to train does not; settings made in Python do.
        define_flags_of(FinetuningSettings, title, texts, flag_values, but={"do_train": False})
    define_task_flags(flag_values)
    for title, texts in _RECIPE.items():
        define_flags_of(FinetuningSettings, title, texts, flag_values)
    define_training_flags(flag_values)
    define_flags_of(FinetuningSettings, _SEEDS, {"random_seed": _RANDOM_SEED}, flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    allocator.set_up_memory(release=given.release_memory)
    command.import_tensorflow()
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
