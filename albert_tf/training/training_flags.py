"""The flags that say how training runs, whatever is trained: devices, precision, memory, reports."""

from absl import flags

from albert_tf.runtime import flag_help


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
    precisions, text = (
        ["float32", "bfloat16", "float16", "auto"],
        "Of the computations; auto: bfloat16 where it is faster.",
    )
    flags.DEFINE_enum("precision", "float32", precisions, text, **fv)
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


def define_recipe_flags(flag_values: flags.FlagValues) -> None:
    """Declares what of a pre-training run can change on its way, and the optimizer's numbers."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Batches and optimisation", flag_values)
    text = "Examples of a step at --max_seq_length, by shares of the steps: 16:0.1,64:0.9."
    flags.DEFINE_string("batch_schedule", None, text, **fv)
    flag_help.begin_group("Optimizer", flag_values)
    flags.DEFINE_float("beta_2", 0.999, "Decay of the mean of squared gradients.", **fv)
    flags.DEFINE_float("weight_decay_rate", 0.01, "Weight decay of a step, times the learning rate.", **fv)
    flags.DEFINE_float("max_gradient_norm", 1.0, "What the norm of all gradients together is clipped to.", **fv)
    flag_help.begin_group("Records without masks (create_pretraining_data --masking=dynamic)", flag_values)
    text = "Tokens of an example, by shares of the steps: 32:0.5,128:0.5; shorter examples come in larger batches."
    flags.DEFINE_string("length_schedule", None, text, **fv)
    text = "Share of the tokens to mask, for the run or by shares of the steps: 0.3:0.7,0.15:0.3."
    flags.DEFINE_string("masked_lm_prob", None, text, **fv)
    text = "Longest run of words masked at once, for the run or by shares of the steps: 1:0.5,3:0.5."
    flags.DEFINE_string("ngram", None, text, **fv)


def asks_for_tpu(given: flags.FlagValues) -> bool:
    """Tells whether the flags ask for a TPU."""
    return given.use_tpu or given.distribution_strategy == "tpu"
