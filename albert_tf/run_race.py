"""Fine-tunes on RACE by the flags of google-research/ALBERT's run_race.py; run_finetuning does the work.

docs/official.md lists what each flag is here.

run_race --data_dir=data --init_checkpoint=albert_base/model.ckpt-best --output_dir=runs/race --max_qa_length=128
"""

from albert_tf import run_finetuning
from albert_tf.official import command_line

define_flags, main = command_line.make_command(__name__, run_finetuning)

if __name__ == "__main__":
    main()
