r"""Fine-tunes ALBERT on a task: GLUE, SuperGLUE, SQuAD, RACE, or one of your own; evaluates it, and predicts.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir.

run_finetuning --task_name=sst-2 --data_dir=glue/SST-2 --init_checkpoint=runs/base --output_dir=runs/sst-2 \
  --do_train --do_eval
"""

from absl import flags

from albert_tf.finetuning.finetuning_flags import define_finetuning_flags
from albert_tf.finetuning.rate_flag import rates_of
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.settings_flags import values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.training.strategy import TpuAddress
from albert_tf.training.training_flags import asks_for_tpu

# What its flags are the fields of.
SETTINGS = (FinetuningSettings, TaskOptions, TaskSettings, TextCleaning)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_finetuning_flags(flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    allocator.set_up_memory(release=given.release_memory)
    import_tensorflow(backend=given.backend, joins=asks_for_tpu(given))
    from albert_tf.finetuning.finetune import run
    from albert_tf.finetuning.summary import format_results

    own = flags.FlagValues()
    define_flags(own)
    resolved = "".join(f"{given[name].serialize()}\n" for name in own if given[name].value is not None)
    settings = FinetuningSettings(
        **values_of(FinetuningSettings, given, but=["learning_rate"]),
        **rates_of(given),
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
