"""The flags that say how training runs, whatever is trained: devices, precision, memory, reports."""

from absl import flags

from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.training.settings import TrainingSettings

MEMORY_TITLE = "Memory, precision and compilation"
_LOOP = ("iterations_per_loop", "log_steps", "nonfinite", "max_nonfinite_steps")
_MEMORY = (*("gradient_accumulation_steps", "precision", "remat", "release_memory", "constant_graph", "jit_compile"),)


def define_training_flags(flag_values: flags.FlagValues) -> None:
    """Declares those that run_pretraining and run_finetuning have in common, with the same meaning and default."""
    define_flags_of(TrainingSettings, "Loop and reports", flag_values, _LOOP)
    define_flags_of(TrainingSettings, MEMORY_TITLE, flag_values, _MEMORY)
    define_flags_of(TrainingSettings, "Devices", flag_values, ["backend", "distribution_strategy"])
    fv = {"flag_values": flag_values}
    flags.DEFINE_bool("use_tpu", False, "Train on a TPU; the same as --distribution_strategy=tpu.", **fv)
    flags.DEFINE_string("tpu_name", None, "The TPU's name or grpc:// address.", **fv)
    flags.DEFINE_string("tpu_zone", None, "The TPU's zone.", **fv)
    flags.DEFINE_string("gcp_project", None, "The TPU's project.", **fv)


def asks_for_tpu(given: flags.FlagValues) -> bool:
    """Tells whether the flags ask for a TPU: by name, unless --use_tpu=false says that none is meant."""
    named = given.tpu_name is not None and not given["use_tpu"].present
    return given.use_tpu or named or given.distribution_strategy == "tpu"
