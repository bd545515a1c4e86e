"""Times fine-tuning in batches of like lengths against batches padded to one length, in turns, to the same quality."""

import dataclasses
import statistics
import time

from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow

_WAYS = {"bucketed": False, "padded": True}


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("task_name", "sst-2", "The task.", **fv)
    flags.DEFINE_string("data_dir", None, "Folder with the task's files.", **fv)
    flags.DEFINE_string("init_checkpoint", None, "Checkpoint to start from.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's shape; left out: the checkpoint's.", **fv)
    flags.DEFINE_string("spm_model_file", None, "The vocabulary; left out: that beside the checkpoint.", **fv)
    flags.DEFINE_string("output_dir", None, "Where features are kept.", **fv)
    flags.DEFINE_integer("max_seq_length", 128, "The length that is padded to.", lower_bound=1, **fv)
    flags.DEFINE_integer("train_batch_size", 32, "Examples of a step.", lower_bound=1, **fv)
    flags.DEFINE_float("learning_rate", 1e-4, "At the end of the warm-up, a tenth of the steps.", **fv)
    flags.DEFINE_integer("num_train_steps", 200, "Steps of each way.", lower_bound=1, **fv)
    flags.DEFINE_integer(
        "rounds", 5, "Turns in which they are taken; the median of the later ones counts.", lower_bound=2, **fv
    )


class Contestant:
    """One way of making batches, trained in turns with the other.

    Args:
        settings: FinetuningSettings, pad_to_max_length saying which way it is.
    """

    def __init__(self, settings):
        from albert_tf.conversion.pretrained import initialise_finetuning
        from albert_tf.finetuning.finetune import open_data
        from albert_tf.finetuning.run import FinetuningRun
        from albert_tf.inputs.finetuning_dataset import make_training_dataset
        from albert_tf.training.cluster import Cluster
        from albert_tf.training.stop_signals import StopSignals
        from albert_tf.training.strategy import make_strategy, share_out_batches

        (config, data), strategy = open_data(settings), make_strategy("auto")
        self.run = FinetuningRun(settings, config, data, strategy, Cluster(), StopSignals())
        if settings.init_checkpoint:
            initialise_finetuning(self.run.model, data.finetuned_task(), settings.init_checkpoint)
        shape = data.batch_shape(settings.train_batch_size)
        self.buckets = list(shape.buckets)
        batches = share_out_batches(
            strategy,
            lambda context: make_training_dataset(
                *(data.training_split().features, shape, settings.random_seed, settings.num_train_steps),
                context=context,
            ),
        )
        self._iterator, self._progress = iter(batches), self.run.steps.start()
        self.batch_size, self.seconds, self.examples = settings.train_batch_size, [], []

    def take(self, count: int) -> None:
        """Takes so many steps and notes how long they took."""
        import tensorflow as tf

        began = time.perf_counter()
        self._progress, taken, *_ = self.run.steps.take(self._iterator, tf.constant(count), self._progress)
        taken = int(taken)
        self.seconds.append(time.perf_counter() - began)
        self.examples.append(taken * self.batch_size)

    def figures(self) -> dict:
        """Speed without the first turn, which holds the tracing; and the score."""
        rates = [count / seconds for count, seconds in zip(self.examples[1:], self.seconds[1:])]
        scores = self.run.evaluate()
        return {
            "buckets": self.buckets,
            "examples_per_second": statistics.median(rates),
            "positions_per_example": self._progress.means()[self.run.steps.metrics.index("tokens")] / self.batch_size,
            "seconds_of_first_turn": self.seconds[0],
            self.run.task.metric: scores[self.run.task.metric],
        }


def _run() -> None:
    command.require_flags("data_dir", "output_dir")
    if flags.FLAGS.num_train_steps < flags.FLAGS.rounds:
        raise FlagError("--num_train_steps must be at least --rounds, for a step in each")
    import_tensorflow()
    from albert_tf.finetuning.settings import FinetuningSettings
    from albert_tf.tasks.task import TaskSettings

    given = flags.FLAGS
    names = [field.name for field in dataclasses.fields(FinetuningSettings) if field.name in given]
    settings = FinetuningSettings(
        **{name: given[name].value for name in names},
        task_settings=TaskSettings(max_seq_length=given.max_seq_length),
        do_eval=True,
    )
    contestants = {
        name: Contestant(dataclasses.replace(settings, pad_to_max_length=pad)) for name, pad in _WAYS.items()
    }
    for _ in range(given.rounds):
        for contestant in contestants.values():
            contestant.take(given.num_train_steps // given.rounds)
    figures = {name: contestant.figures() for name, contestant in contestants.items()}
    rates = [figures[name]["examples_per_second"] for name in _WAYS]
    result = {"benchmark": "finetuning", "task": settings.task_name, **figures, "ratio": rates[0] / rates[1]}
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
