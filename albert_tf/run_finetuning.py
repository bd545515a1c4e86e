r"""Fine-tunes ALBERT on a task: GLUE, SQuAD, RACE, or one of your own; evaluates it, and predicts what is asked for.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir.

run_finetuning --task_name=sst-2 --data_dir=glue/SST-2 --init_checkpoint=runs/base --output_dir=runs/sst-2 \
  --do_train --do_eval
"""

import dataclasses

from absl import flags

from albert_tf.finetuning.task_flags import define_task_flags
from albert_tf.optimization.names import OPTIMIZER_NAMES
from albert_tf.runtime import allocator, command, flag_help
from albert_tf.training.training_flags import asks_for_tpu, define_training_flags


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Input and output", flag_values)
    flags.DEFINE_string("task_name", None, "The task, as in docs/finetuning.md: sst-2, squad_v2, classification.", **fv)
    flags.DEFINE_string("data_dir", None, "Folder with the task's files.", **fv)
    flags.DEFINE_string("output_dir", None, "Where checkpoints, predictions and results go.", **fv)
    flag_help.begin_group("Weights and vocabulary", flag_values)
    flags.DEFINE_string("init_checkpoint", None, "Checkpoint to start from, ours or another format's.", **fv)
    flags.DEFINE_bool("allow_missing_heads", False, "Start the pooler afresh if --init_checkpoint lacks it.", **fv)
    flags.DEFINE_bool("keep_head", False, "Take the head of --init_checkpoint though of a different task.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's JSON file; left out: the checkpoint's own.", **fv)
    flags.DEFINE_string("spm_model_file", None, "The vocabulary (.model); left out: that beside the checkpoint.", **fv)
    flag_help.begin_group("What to do", flag_values)
    flags.DEFINE_bool("do_train", False, "Whether to train.", **fv)
    flags.DEFINE_bool("do_eval", False, "Whether to evaluate, every checkpoint and then the best.", **fv)
    flags.DEFINE_bool("do_predict", False, "Whether to write predictions for the test split.", **fv)
    define_task_flags(flag_values)
    flag_help.begin_group("Batches and optimisation", flag_values)
    flags.DEFINE_integer("train_batch_size", 32, "Examples of a training step, over all devices.", **fv)
    flags.DEFINE_integer("eval_batch_size", 32, "Examples of an evaluation step, over all devices.", **fv)
    flags.DEFINE_enum("optimizer", "adamw", OPTIMIZER_NAMES, "Optimizer.", **fv)
    flags.DEFINE_float("learning_rate", 5e-5, "Learning rate at the end of the warm-up.", **fv)
    flags.DEFINE_float("layerwise_learning_rate_decay", 1.0, "Factor for each depth below the head.", **fv)
    flags.DEFINE_integer("num_train_steps", None, "Steps of training; left out: --num_train_epochs.", **fv)
    flags.DEFINE_float("num_train_epochs", 3.0, "Passes over the training split, without --num_train_steps.", **fv)
    flags.DEFINE_integer("num_warmup_steps", None, "Steps of linear warm-up; left out: --warmup_proportion.", **fv)
    flags.DEFINE_float("warmup_proportion", 0.1, "Share of warm-up in all steps, without --num_warmup_steps.", **fv)
    flag_help.begin_group("Dropout", flag_values)
    flags.DEFINE_float("hidden_dropout_prob", None, "Dropout in the encoder; left out: as in the config.", **fv)
    flags.DEFINE_float("attention_probs_dropout_prob", None, "Dropout of attention; left out: as in the config.", **fv)
    flags.DEFINE_float("classifier_dropout_prob", None, "Dropout of the head; left out: the checkpoint's or 0.1.", **fv)
    flag_help.begin_group("Checkpoints, evaluation and seeds", flag_values)
    flags.DEFINE_integer("early_stopping_patience", 0, "Evaluations without a better one to stop at; 0: never.", **fv)
    flags.DEFINE_integer("num_seeds", 1, "Runs, from --random_seed upwards, to report the median of.", **fv)
    flags.DEFINE_integer("save_checkpoints_steps", None, "Steps between checkpoints; left out: an epoch.", **fv)
    flags.DEFINE_integer("keep_checkpoint_max", 1, "Newest checkpoints to keep, besides the best; 0: all.", **fv)
    flag_help.begin_group("Features", flag_values)
    flags.DEFINE_integer("num_workers", 0, "Processes that make features; 0: one for each core.", **fv)
    flags.DEFINE_string("cache_dir", None, "Where features are kept; left out: OUTPUT_DIR/features.", **fv)
    define_training_flags(flag_values)
    flag_help.begin_group("Checkpoints, evaluation and seeds", flag_values)
    flags.DEFINE_integer("random_seed", 12345, "Seed of the head, order of examples and dropout.", **fv)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    allocator.set_up_memory(release=given.release_memory)
    command.import_tensorflow()
    from albert_tf.finetuning.finetune import format_results, run
    from albert_tf.finetuning.settings import FinetuningSettings
    from albert_tf.tasks.registry import TaskOptions
    from albert_tf.tasks.task import TaskSettings
    from albert_tf.tokenization.text_cleaning import TextCleaning
    from albert_tf.training.strategy import TpuAddress

    def values_of(kind) -> dict:
        return {field.name: given[field.name].value for field in dataclasses.fields(kind) if field.name in given}

    own = flags.FlagValues()
    define_flags(own)
    resolved = "".join(f"{given[name].serialize()}\n" for name in own if given[name].value is not None)
    settings = FinetuningSettings(
        **values_of(FinetuningSettings),
        task_options=TaskOptions(**{**values_of(TaskOptions), "labels": tuple(given.labels or ())}),
        task_settings=TaskSettings(**values_of(TaskSettings)),
        cleaning=TextCleaning(**values_of(TextCleaning)),
        tpu=TpuAddress(given.tpu_name, given.tpu_zone, given.gcp_project) if asks_for_tpu(given) else None,
        resolved_flags=resolved,
    )
    print(format_results(run(settings)))  # noqa: T201


main = command.entry_point(__name__, run_with, required=("task_name", "output_dir"))

if __name__ == "__main__":
    main()
