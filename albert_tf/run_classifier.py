r"""Fine-tunes on GLUE by the flags of google-research/ALBERT's run_classifier.py; run_finetuning does the work.

docs/official.md lists what each flag is here.

run_classifier --task_name=MNLI --data_dir=glue --init_checkpoint=albert_base/model.ckpt-best --output_dir=runs/mnli \
  --do_train --do_eval --train_step=10000 --warmup_step=1000
"""

from absl import flags

from albert_tf import export_saved_model, run_finetuning
from albert_tf.official import command_line
from albert_tf.runtime import command
from albert_tf.runtime.official_flags import SCRIPTS


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    command_line.define_flags("run_classifier", flag_values, run_finetuning)


def _run() -> None:
    commands = {"run_finetuning": run_finetuning, "export_saved_model": export_saved_model}
    command_line.run("run_classifier", commands)


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, required=SCRIPTS["run_classifier"].required)


if __name__ == "__main__":
    main()
