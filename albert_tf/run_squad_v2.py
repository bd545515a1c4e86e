r"""Fine-tunes on SQuAD v2.0 by the flags of google-research/ALBERT's run_squad_v2.py; run_finetuning does the work.

docs/official.md lists what each flag is here.

run_squad_v2 --train_file=train-v2.0.json --predict_file=dev-v2.0.json --init_checkpoint=albert_base/model.ckpt-best \
  --output_dir=runs/squad --do_train --do_predict
"""

from albert_tf import run_finetuning
from albert_tf.official import command_line

define_flags, main = command_line.make_command(__name__, run_finetuning)

if __name__ == "__main__":
    main()
