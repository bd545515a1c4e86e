"""Runs an experiment: rows of settings, each pre-trained, evaluated and fine-tuned; ends in a table, a picture, a page.

Started again, it goes on where it was stopped; what has changed in the experiment's file is done anew, and no more.

run_experiments --experiment=sentence_task --input_file=train.txt --spm_model_file=vocabulary.model --output_dir=runs
"""

from absl import flags

from albert_tf.experiments.settings import ExperimentSettings
from albert_tf.runtime import command
from albert_tf.runtime.settings_flags import define_flags_of, values_of

_GROUPS = {
    "Input and output": ("experiment", "input_file", "held_out_file", "held_out_every", "spm_model_file", "output_dir"),
    "What to do": ("rows", "num_seeds", "tasks_file", "num_train_steps", "dry_run"),
    "Several runs at once": ("task_index", "num_tasks"),
}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    for title, names in _GROUPS.items():
        define_flags_of(ExperimentSettings, title, flag_values, names)


def _run() -> None:
    from albert_tf.experiments.run import ExperimentRun

    settings = ExperimentSettings(**values_of(ExperimentSettings, flags.FLAGS))
    run = ExperimentRun(settings)
    print(run.describe() if settings.dry_run else run.run())  # noqa: T201


main = command.entry_point(__name__, _run, required=("experiment", "input_file", "spm_model_file", "output_dir"))

if __name__ == "__main__":
    main()
