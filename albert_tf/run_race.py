"""Fine-tunes on RACE by the flags of google-research/ALBERT's run_race.py; run_finetuning does the work.

docs/official.md lists what each flag is here.

run_race --data_dir=data --init_checkpoint=albert_base/model.ckpt-best --output_dir=runs/race --max_qa_length=128
"""

from absl import flags

from albert_tf import run_finetuning
from albert_tf.official import command_line
from albert_tf.runtime import command
from albert_tf.runtime.official_flags import SCRIPTS


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    command_line.define_flags("run_race", flag_values, run_finetuning)


def _run() -> None:
    command_line.run("run_race", {"run_finetuning": run_finetuning})


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run, required=SCRIPTS["run_race"].required)


if __name__ == "__main__":
    main()
