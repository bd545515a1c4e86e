"""Pre-trains ALBERT on records: masked LM and sentence order, on one device, several, or a TPU.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir.

run_pretraining --flagfile=configs/pretraining/base_125k.flags --input_file='records/train-*' --output_dir=runs/base
"""

import dataclasses

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.optimization.names import OPTIMIZER_NAMES, POLYNOMIAL, SCHEDULES
from albert_tf.runtime import allocator, command, flag_help
from albert_tf.runtime.errors import InputError
from albert_tf.training.training_flags import asks_for_tpu, define_recipe_flags, define_training_flags


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Input and output", flag_values)
    flags.DEFINE_string("albert_config_file", None, "JSON file with the model's shape.", **fv)
    flags.DEFINE_string("input_file", None, "Records to train on: comma-separated paths and globs.", **fv)
    flags.DEFINE_string("output_dir", None, "Where checkpoints and logs go.", **fv)
    flags.DEFINE_string("eval_input_file", None, "Records to evaluate on; left out: those of --input_file.", **fv)
    text = "The records' vocabulary (.model), to keep a copy of; left out: the one near the records, by its hash."
    flags.DEFINE_string("spm_model_file", None, text, **fv)
    flag_help.begin_group("Weights to start from", flag_values)
    flags.DEFINE_string("init_checkpoint", None, "Checkpoint to start from, ours or another format's.", **fv)
    flags.DEFINE_string("init_embeddings", None, "Word embeddings to start from, of count_embeddings.", **fv)
    flags.DEFINE_bool("init_from_group0", False, "Start every group of layers from the checkpoint's first.", **fv)
    flags.DEFINE_bool("init_output_bias", False, "Start the masked-LM bias from how frequent pieces are.", **fv)
    text = "Start the position embeddings from sines and cosines, not from random numbers."
    flags.DEFINE_bool("init_position_waves", False, text, **fv)
    flags.DEFINE_bool("allow_missing_heads", False, "Start heads afresh that --init_checkpoint lacks.", **fv)
    flag_help.begin_group("Records", flag_values)
    flags.DEFINE_integer("max_seq_length", 512, "Tokens of a record, padding included.", **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of a record, padding included.", **fv)
    flag_help.begin_group("What to do", flag_values)
    flags.DEFINE_bool("do_train", True, "Whether to train.", **fv)
    flags.DEFINE_bool("do_eval", False, "Whether to evaluate every checkpoint.", **fv)
    flag_help.begin_group("Batches and optimisation", flag_values)
    flags.DEFINE_integer("train_batch_size", 4096, "Examples of a training step, over all devices.", **fv)
    flags.DEFINE_integer("eval_batch_size", 64, "Examples of an evaluation step, over all devices.", **fv)
    flags.DEFINE_enum("optimizer", "lamb", OPTIMIZER_NAMES, "Optimizer.", **fv)
    flags.DEFINE_float("learning_rate", 0.00176, "Learning rate at the end of the warm-up.", **fv)
    flags.DEFINE_float("muon_rate", 20.0, "With --optimizer=muon: the matrices' rate, times --learning_rate.", **fv)
    flags.DEFINE_enum("learning_rate_schedule", POLYNOMIAL, SCHEDULES, "What follows the warm-up.", **fv)
    flags.DEFINE_float("poly_power", 1.0, "Power of the polynomial decay.", **fv)
    flags.DEFINE_float("decay_proportion", 0.2, "Share of the run in which a stable rate decays at last.", **fv)
    flags.DEFINE_integer("num_train_steps", 125_000, "Steps until the learning rate is 0 and the run ends.", **fv)
    flags.DEFINE_float("train_minutes", None, "Minutes that the run has; for --num_train_steps.", **fv)
    flags.DEFINE_integer("num_warmup_steps", 3125, "Steps of linear warm-up.", **fv)
    flags.DEFINE_float("warmup_proportion", None, "Share of warm-up in all steps, for --num_warmup_steps.", **fv)
    flags.DEFINE_integer("start_warmup_step", 0, "Step at which the warm-up starts.", **fv)
    flag_help.begin_group("Checkpoints and evaluation", flag_values)
    flags.DEFINE_integer("save_checkpoints_steps", 5000, "Steps between checkpoints.", **fv)
    flags.DEFINE_integer("keep_checkpoint_max", 5, "Newest checkpoints to keep, besides the best; 0: all.", **fv)
    flags.DEFINE_integer("max_eval_steps", 100, "Most batches of an evaluation.", **fv)
    define_recipe_flags(flag_values)
    define_training_flags(flag_values)
    flag_help.begin_group("Batches and optimisation", flag_values)
    flags.DEFINE_integer("random_seed", 12345, "Seed of weights, order of records and dropout.", **fv)
    flag_help.begin_group("Records", flag_values)
    kinds = ["static", "dynamic"]
    flags.DEFINE_enum("masking", None, kinds, "Of which kind the records must be; left out: they say it.", **fv)
    flags.DEFINE_enum(
        "sentence_task",
        None,
        ["sop", "nsp", "none"],
        "What the sentence labels mean; left out: what the records' manifest says. none leaves their loss out.",
        **fv,
    )
    flag_help.begin_group("Official command lines", flag_values)
    unmatched_flags.define_unmatched("run_pretraining", flag_values)


def _check_budget(given: flags.FlagValues) -> tuple[str, ...]:
    """The flags whose values --train_minutes takes the place of."""
    replaced = {"train_minutes": ("num_train_steps", "num_warmup_steps"), "warmup_proportion": ("num_warmup_steps",)}
    chosen = [name for name in replaced if given[name].value is not None]
    for name in chosen:
        for other in replaced[name]:
            if given[other].present:
                raise InputError(f"give --{name} or --{other}, not both")
    return tuple(other for name in chosen for other in replaced[name])


def _run() -> None:
    unmatched_flags.check_unmatched("run_pretraining", flags.FLAGS)
    allocator.set_up_memory(release=flags.FLAGS.release_memory)
    command.import_tensorflow()
    from albert_tf.pretraining.pretrain import run
    from albert_tf.pretraining.settings import PretrainingSettings
    from albert_tf.training.strategy import TpuAddress

    given = flags.FLAGS
    names = [field.name for field in dataclasses.fields(PretrainingSettings) if field.name in given]
    tpu = TpuAddress(given.tpu_name, given.tpu_zone, given.gcp_project) if asks_for_tpu(given) else None
    left_out = _check_budget(given)
    resolved = "".join(
        f"{given[name].serialize()}\n" for name in names if given[name].value is not None and name not in left_out
    )
    run(PretrainingSettings(**{name: given[name].value for name in names}, tpu=tpu, resolved_flags=resolved))


main = command.entry_point(__name__, _run, required=("albert_config_file", "input_file", "output_dir"))

if __name__ == "__main__":
    main()
