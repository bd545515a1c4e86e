"""The flags that say how training runs, whatever is trained: devices, precision, memory, reports."""

from absl import flags

from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.training.settings import TrainingSettings

_LOOP = {
    "iterations_per_loop": "Most steps on the device without coming back.",
    "log_steps": "Steps between reports.",
    "nonfinite": "What a step does whose loss is not finite.",
    "max_nonfinite_steps": "Steps that --nonfinite=skip passes over before it stops.",
}
_MEMORY = {
    "gradient_accumulation_steps": "Parts of a device's batch, one after another.",
    "precision": "Of the computations; auto: bfloat16 where it is faster.",
    "remat": "Compute layers again in the backward pass, to save memory.",
    "release_memory": "Give freed memory back to the system, not keep it: less on a CPU at the peak, slower steps.",
    "constant_graph": "Loop over the layers on the device: quick to trace if deep.",
    "jit_compile": "Whether XLA compiles a step.",
}
_DEVICES = {"distribution_strategy": "Devices to train on."}


def define_training_flags(flag_values: flags.FlagValues) -> None:
    """Declares those that run_pretraining and run_finetuning have in common, with the same meaning and default."""
    define_flags_of(TrainingSettings, "Loop and reports", _LOOP, flag_values)
    define_flags_of(TrainingSettings, "Memory, precision and compilation", _MEMORY, flag_values)
    define_flags_of(TrainingSettings, "Devices", _DEVICES, flag_values)
    fv = {"flag_values": flag_values}
    flags.DEFINE_bool("use_tpu", False, "Train on a TPU; the same as --distribution_strategy=tpu.", **fv)
    flags.DEFINE_string("tpu_name", None, "The TPU's name or grpc:// address.", **fv)
    flags.DEFINE_string("tpu_zone", None, "The TPU's zone.", **fv)
    flags.DEFINE_string("gcp_project", None, "The TPU's project.", **fv)


def asks_for_tpu(given: flags.FlagValues) -> bool:
    """Tells whether the flags ask for a TPU."""
    return given.use_tpu or given.distribution_strategy == "tpu"
