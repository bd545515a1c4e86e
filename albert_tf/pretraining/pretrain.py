"""A pre-training run from its settings to its last checkpoint."""

import time

from albert_tf.config import AlbertConfig
from albert_tf.inputs.pretraining_dataset import explain_record_errors
from albert_tf.pretraining.opened_records import open_all_records
from albert_tf.pretraining.run import PretrainingRun
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.pretraining.time_budget import plan_steps
from albert_tf.training.memory import explain_memory_errors
from albert_tf.training.precision import choose_precision
from albert_tf.training.run_lock import hold_for_all_workers
from albert_tf.training.strategy import (
    Agreement,
    check_batch_size,
    describe_strategy,
    explain_lost_worker,
    find_cluster,
    make_strategy,
)


def run(settings: PretrainingSettings) -> None:
    """Trains, evaluates, or both, as the settings say; goes on from the newest checkpoint in output_dir.

    Raises:
        InputError: whatever is wrong with the settings, the config, the records or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    began = time.monotonic()
    config = AlbertConfig.from_json_file(settings.albert_config_file)
    cluster = find_cluster(settings.distribution_strategy, settings.tpu)
    records, evaluation_records = open_all_records(settings, config)
    with explain_lost_worker(cluster):
        strategy = make_strategy(settings.distribution_strategy, settings.tpu)
        micro_batches = settings.gradient_accumulation_steps
        for stage in settings.stages:
            check_batch_size(stage.batch_size, strategy, "train_batch_size", micro_batches)
        check_batch_size(settings.eval_batch_size, strategy, "eval_batch_size")
        describe_strategy(strategy)
        lock = hold_for_all_workers(settings.output_dir, cluster, Agreement(strategy, cluster))
        with lock, explain_memory_errors(settings), explain_record_errors(records.paths):
            settings = choose_precision(settings, strategy, Agreement(strategy, cluster))

            def make_run(settings):
                return PretrainingRun(settings, config, records, evaluation_records, strategy, cluster)

            if settings.train_minutes is not None:
                settings = plan_steps(settings, make_run, began, Agreement(strategy, cluster))
            make_run(settings).run()
