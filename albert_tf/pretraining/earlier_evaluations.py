"""Evaluations of the checkpoints that a run finds in its folder: on other records, or none."""

from absl import logging

from albert_tf.checkpoints import run_checkpoints
from albert_tf.checkpoints.checkpoint_evaluation import BEST_METRIC, read_evaluation, write_evaluation
from albert_tf.pretraining.evaluation import EVALUATED_ON
from albert_tf.runtime.errors import DamagedError, InputError
from albert_tf.training.log_file import append_evaluation


def evaluate_again(run) -> None:
    """Evaluates on a run's records the checkpoints that were on others, so that all are compared by the same.

    One whose weights are damaged keeps the evaluation that it has.

    Args:
        run: run.PretrainingRun; its model is another one's afterwards.
    """
    own = run.evaluated_on()
    known = {folder: read_evaluation(folder) for folder in run.checkpoints.all()}
    # Earlier versions did not note the records.
    others = [folder for folder, found in known.items() if found and found.get(EVALUATED_ON, own) != own]
    # No worker has begun to write before all have looked. Of what is not the same for all, the training tells.
    (number,) = run.agreement.mean(float(len(others)))
    if number != len(others):
        return
    for folder in others:
        try:
            found = _evaluate(run, folder)
        except DamagedError as error:
            logging.warning("%s keeps its evaluation on other records: %s", folder, error)
            continue
        metric = found.get(BEST_METRIC, "masked_lm_accuracy")
        logging.info("%s: %s %.4f on the records now given", folder, metric, found[metric])


def evaluate_the_rest(run) -> None:
    """Evaluates the checkpoints that were not yet, then names the best.

    Args:
        run: run.PretrainingRun; its model is another one's afterwards.

    Raises:
        InputError: there is no checkpoint.
    """
    folders = run.checkpoints.all()
    if not folders:
        raise InputError(f"--output_dir: {run.settings.output_dir} holds no checkpoint to evaluate")
    for folder in [folder for folder in folders if read_evaluation(folder) is None]:
        _evaluate(run, folder)
    run.agreement.mean(0.0)
    best = run.checkpoints.best()
    found = {name: value for name, value in read_evaluation(best).items() if name not in (EVALUATED_ON, BEST_METRIC)}
    logging.info("best checkpoint %s: %s", best, ", ".join(f"{name} {value:.6g}" for name, value in found.items()))


def _evaluate(run, folder):
    run_checkpoints.load_model_weights(folder, run.model)
    found = run.evaluate()
    if run.cluster.is_chief:
        write_evaluation(folder, found)
        append_evaluation(run.settings.output_dir, run_checkpoints.step_of(folder), found)
    return found
