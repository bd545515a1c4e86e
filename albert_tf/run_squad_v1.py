r"""Fine-tunes on SQuAD v1.1 by the flags of google-research/ALBERT's run_squad_v1.py; run_finetuning does the work.

docs/official.md lists what each flag is here.

run_squad_v1 --train_file=train-v1.1.json --predict_file=dev-v1.1.json --init_checkpoint=albert_base/model.ckpt-best \
  --output_dir=runs/squad --do_train --do_predict
"""

from albert_tf import export_saved_model, run_finetuning
from albert_tf.official import command_line

define_flags, main = command_line.make_command(__name__, run_finetuning, export_saved_model)

if __name__ == "__main__":
    main()
