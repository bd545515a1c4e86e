"""A pre-training run from its settings to its last checkpoint."""

import time

from albert_tf.checkpoints.model_agreement import with_dropout
from albert_tf.checkpoints.newest_state import newest_config
from albert_tf.config import AlbertConfig
from albert_tf.inputs.pretraining_dataset import explain_record_errors
from albert_tf.pretraining.batch_halves import choose_batch_halves
from albert_tf.pretraining.opened_records import open_all_records
from albert_tf.pretraining.run import PretrainingRun
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.pretraining.time_budget import plan_run
from albert_tf.training.machine import choose_precision
from albert_tf.training.session import open_session


def run(settings: PretrainingSettings) -> None:
    """Trains, evaluates, or both, as the settings say; goes on from the newest checkpoint in output_dir.

    Raises:
        InputError: whatever is wrong with the settings, the config, the records or the checkpoints.
        RunStopped: a signal came, or another worker was lost.
    """
    began = time.monotonic()
    settings = settings.with_flags()
    config = AlbertConfig.from_json_file(settings.albert_config_file)
    config = with_dropout(config, settings, newest_config(settings.output_dir) if settings.do_train else None)
    records, evaluation_records = open_all_records(settings, config)
    batch_sizes = [stage.batch_size for stage in settings.stages]
    with open_session(settings, batch_sizes) as session, explain_record_errors(records.paths):
        settings = choose_precision(settings, session.strategy, session.agreement)
        settings = choose_batch_halves(settings, session.strategy)

        def make_run(settings):
            return PretrainingRun(settings, config, records, evaluation_records, session.strategy, session.cluster)

        if settings.train_minutes is None or not settings.do_train:
            make_run(settings).run()
        else:
            plan_run(settings, make_run, began, session.agreement).run()
