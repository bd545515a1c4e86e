r"""Fine-tunes on GLUE by the flags of google-research/ALBERT's run_classifier.py; run_finetuning does the work.

docs/official.md lists what each flag is here.

run_classifier --task_name=MNLI --data_dir=glue --init_checkpoint=albert_base/model.ckpt-best --output_dir=runs/mnli \
  --do_train --do_eval --train_step=10000 --warmup_step=1000
"""

from albert_tf import export_saved_model, run_finetuning
from albert_tf.official import command_line

define_flags, main = command_line.make_command(__name__, run_finetuning, export_saved_model)

if __name__ == "__main__":
    main()
