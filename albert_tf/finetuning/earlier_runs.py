"""Facts of what was trained before, in a run's folder and at the checkpoint that it starts from."""

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.pretrained import stored_tasks
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.heads.finetuning import CLASSIFIER_DROPOUT_PROB
from albert_tf.runtime.errors import InputError


def head_dropout(settings: FinetuningSettings, task: FinetunedTask) -> float:
    """Dropout of the head: the flag's, else that of the checkpoint the run goes on from or starts from."""
    if settings.classifier_dropout_prob is not None:
        return settings.classifier_dropout_prob
    for known in stored_tasks(settings.output_dir, settings.init_checkpoint):
        if known.classifier_dropout_prob is not None and known.shares_head_with(task):
            return known.classifier_dropout_prob
    return CLASSIFIER_DROPOUT_PROB


def check_own_checkpoints(output_dir: str, task: FinetunedTask) -> None:
    """Refuses an output_dir in which something else was trained: the weights may fit, the head does not."""
    for folder in reversed(run_checkpoints.CheckpointFolder(output_dir).all()):
        try:
            known = run_checkpoints.read_state(folder).finetuned_task(folder)
        except InputError:
            # A damaged one is passed over when the run is restored.
            continue
        if known is None or not known.shares_head_with(task):
            what = "a pre-training run" if known is None else f"a run of {known}"
            raise InputError(
                f"--output_dir={output_dir} holds {what}, not of {task}; name another folder, and give this one as "
                "--init_checkpoint to start from it"
            )
        return
