"""Pre-trains ALBERT on records: masked LM and sentence order, on one device, several, or a TPU.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir.

run_pretraining --flagfile=configs/pretraining/base_125k.flags --input_file='records/train-*' --output_dir=runs/base
"""

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.pretraining.batch_halves import threads_of_steps
from albert_tf.pretraining.pretraining_flags import define_pretraining_flags
from albert_tf.pretraining.settings import IN_PLACE_OF, PretrainingSettings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings_flags import values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.training.strategy import TpuAddress
from albert_tf.training.training_flags import asks_for_tpu

# What its flags are the fields of.
SETTINGS = (PretrainingSettings,)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_pretraining_flags(flag_values)


def _check_budget(given: flags.FlagValues) -> tuple[str, ...]:
    """The flags whose values --train_minutes takes the place of."""
    chosen = [name for name in IN_PLACE_OF if given[name].value is not None]
    for name in chosen:
        for other in IN_PLACE_OF[name]:
            if given[other].present:
                raise FlagError(f"give --{name} or --{other}, not both")
    return tuple(other for name in chosen for other in IN_PLACE_OF[name])


def _run() -> None:
    unmatched_flags.check_unmatched("run_pretraining", flags.FLAGS)
    allocator.set_up_memory(release=flags.FLAGS.release_memory)
    given = flags.FLAGS
    values = values_of(PretrainingSettings, given)
    tpu = TpuAddress(given.tpu_name, given.tpu_zone, given.gcp_project) if asks_for_tpu(given) else None
    left_out = _check_budget(given)
    named = [name for name in values if given[name].value is not None and name not in left_out]
    resolved = "".join(f"{given[name].serialize()}\n" for name in named) + ("" if tpu is None else tpu.to_flags())
    settings = PretrainingSettings(**values, tpu=tpu, resolved_flags=resolved)
    threads = threads_of_steps(settings)
    import_tensorflow(backend=given.backend, joins=asks_for_tpu(given), num_threads=threads)
    from albert_tf.pretraining.pretrain import run

    run(settings)


main = command.entry_point(__name__, _run, required=("albert_config_file", "input_file", "output_dir"))

if __name__ == "__main__":
    main()
