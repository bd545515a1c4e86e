"""The flags that say how training runs, whatever is trained: devices, precision, memory, reports."""

from absl import flags

from albert_tf import flag_help


def define_training_flags(flag_values: flags.FlagValues) -> None:
    """Declares those that run_pretraining and run_finetuning have in common, with the same meaning and default."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Loop and reports", flag_values)
    flags.DEFINE_integer("iterations_per_loop", 1000, "Most steps on the device without coming back.", **fv)
    flags.DEFINE_integer("log_steps", 100, "Steps between reports.", **fv)
    flags.DEFINE_enum("nonfinite", "stop", ["stop", "skip"], "What a step does whose loss is not finite.", **fv)
    flags.DEFINE_integer("max_nonfinite_steps", 10, "Steps that --nonfinite=skip passes over before it stops.", **fv)
    flag_help.begin_group("Memory, precision and compilation", flag_values)
    flags.DEFINE_integer("gradient_accumulation_steps", 1, "Parts of a device's batch, one after another.", **fv)
    flags.DEFINE_enum("precision", "float32", ["float32", "bfloat16", "float16"], "Of the computations.", **fv)
    flags.DEFINE_bool("remat", False, "Compute layers again in the backward pass, to save memory.", **fv)
    text = "Give freed memory back to the system, not keep it: less on a CPU at the peak, slower steps."
    flags.DEFINE_bool("release_memory", False, text, **fv)
    flags.DEFINE_bool("constant_graph", False, "Loop over the layers on the device: quick to trace if deep.", **fv)
    flags.DEFINE_enum("jit_compile", "auto", ["auto", "true", "false"], "Whether XLA compiles a step.", **fv)
    flag_help.begin_group("Devices", flag_values)
    strategies = ["auto", "one_device", "mirrored", "multi_worker", "tpu"]
    flags.DEFINE_enum("distribution_strategy", "auto", strategies, "Devices to train on.", **fv)
    flags.DEFINE_bool("use_tpu", False, "Train on a TPU; the same as --distribution_strategy=tpu.", **fv)
    flags.DEFINE_string("tpu_name", None, "The TPU's name or grpc:// address.", **fv)
    flags.DEFINE_string("tpu_zone", None, "The TPU's zone.", **fv)
    flags.DEFINE_string("gcp_project", None, "The TPU's project.", **fv)


def asks_for_tpu(given: flags.FlagValues) -> bool:
    """Whether the flags want a TPU."""
    return given.use_tpu or given.distribution_strategy == "tpu"
