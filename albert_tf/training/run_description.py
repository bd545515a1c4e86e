"""The description of a run before its first step: size, precision, memory, speed of the machine, all-reduce."""

import collections
from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging

from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.training import memory
from albert_tf.training.machine import measure_matmul_peak
from albert_tf.training.reporting import RunFacts
from albert_tf.training.settings import TrainingSettings
from albert_tf.training.strategy import device_kind, local_devices

# Files named in a warning about changed input.
_MOST_NAMED = 3

# How many times as fast float32 must be before a run in a different precision gets a warning: equal is no reason.
_CLEARLY_FASTER = 1.2


def describe(
    settings: TrainingSettings,
    model,
    strategy,
    facts: RunFacts,
    state: TrainingState,
    rows: int,
    num_files: int,
    estimate: memory.MemoryEstimate,
) -> dict[str, Any]:
    """Logs what the run is, and warns where memory will not suffice or float32 would be faster.

    Args:
        settings, model, strategy: of the run.
        facts: likewise.
        state: where it starts.
        rows: of the batches of all steps, those before it among them.
        num_files: that its examples come from.
        estimate: of the memory of a step.

    Returns:
        the same for the log file.
    """
    parameters = model.count_params()
    logging.info(
        "%s parameters in %s; %s on %s",
        *(f"{parameters:,}", settings.precision, settings.optimizer, settings.output_dir),
    )
    batches = ", then ".join(map(str, facts.batch_sizes or (facts.examples_per_step,)))
    logging.info(
        "%d steps of %s%s examples: %s examples, %.2f epochs of the %s in %d file(s); step %d is done",
        *(facts.num_train_steps, "up to " if facts.rows_per_epoch else "", batches),
        *(f"{facts.examples(rows):,}", facts.epochs(rows)),
        *(f"{facts.examples_per_epoch:,}", num_files, state.step),
    )
    logging.info(
        "a step takes about %.2f GB a replica: weights, moments, gradients %.2f, activations %.2f, logits %.2f; "
        "matrix products reach %.0f GFLOP/s",
        *(estimate.total / 1e9, estimate.weights / 1e9, estimate.activations / 1e9, estimate.logits / 1e9),
        facts.matmul_peak / 1e9,
    )
    _warn_of_memory(settings, estimate, strategy)
    advice = advise_precision(settings.precision, strategy, facts.matmul_peak)
    if advice:
        logging.warning(advice)
    return {
        "parameters": parameters,
        "replicas": strategy.num_replicas_in_sync,
        "precision": settings.precision,
        "batch_size": facts.examples_per_step,
        "gradient_accumulation_steps": settings.gradient_accumulation_steps,
        "examples_per_epoch": facts.examples_per_epoch,
        "memory_estimate_bytes": estimate.total,
        "matmul_peak": facts.matmul_peak,
    }


def advise_precision(precision: str, strategy, peak: float) -> str:
    """A warning about a precision in which this processor computes more slowly than in float32.

    Many do: they know 16-bit products but take longer for them, or convert every factor.

    Args:
        precision: of the run.
        strategy: its devices. Accelerators are not measured.
        peak: operations a second that matrix products in that precision reach.

    Returns:
        the warning, empty where float32 is not clearly faster.
    """
    if precision == "float32" or device_kind(strategy) != "CPU":
        return ""
    in_float32 = measure_matmul_peak(strategy)
    if in_float32 < _CLEARLY_FASTER * peak:
        return ""
    return (
        f"matrix products in {precision} reach {peak / 1e9:.0f} GFLOP/s on this processor, in float32 "
        f"{in_float32 / 1e9:.0f}: --precision=float32 is faster here"
    )


def describe_all_reduce(steps) -> str:
    """Describes how much the replicas exchange in a step, as it was traced; empty for one alone."""
    if steps.strategy.num_replicas_in_sync == 1:
        return ""
    return f"gradients, losses, counts: each replica exchanges {steps.all_reduce_bytes:,} bytes a step with the others"


# Of what a checkpoint notes of files: which these are, and what it comes to that they are others.
_OF_FILES = {
    "input_files": (
        "the records are",
        "; the run goes on at the same place of another stream, so some examples may come twice in an epoch and others "
        "not at all",
    ),
    "teacher_files": ("the teacher's outputs are", ""),
}


def describe_change(name: str, before: Any, now: Any, step: int) -> str | None:
    """A warning that a run goes on with something else than it began with; None if it does not."""
    if before == now:
        return None
    if name == "init_sha256":
        # Earlier versions noted none; that the flag came or went is told by the flags.
        told = f"other weights lie at --init_checkpoint than this run started from; its own, of step {step}, go on"
        return told if before and now else None
    if name not in _OF_FILES:
        return f"{name} was {before} up to step {step}, is {now} now"
    if name == "teacher_files" and not before:
        # Earlier versions noted none; of a run that had no teacher the flags tell.
        return None
    old, new = map(_by_name, (before, now))
    both = [name for name in new if name in old]
    changes = [f"{name} is new" for name in new if name not in old]
    changes += [f"{name} is gone" for name in old if name not in new]
    changes += [
        f"{name} had {old[name]['bytes']:,} bytes, has {new[name]['bytes']:,}"
        for name in both
        if old[name]["bytes"] != new[name]["bytes"]
    ]
    changes += [f"{name} has other contents" for name in both if _has_other_contents(old[name], new[name])]
    if not changes and list(old) == list(new):
        # Earlier versions noted no digests.
        return None
    told = "; ".join(changes[:_MOST_NAMED]) or "their order is different"
    more = f"; and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
    whose, comes_to = _OF_FILES[name]
    return f"{whose} not those of the checkpoint of step {step}: {told}{more}{comes_to}"


def _by_name(noted: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Files by their names; of several of one name, as folders of records have them, the later ones with a number."""
    seen: collections.Counter[str] = collections.Counter()
    found = {}
    for file in noted:
        seen[name := file["name"]] += 1
        found[name if seen[name] == 1 else f"{name} ({seen[name]})"] = file
    return found


def _has_other_contents(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Tells whether two files of one size are known to differ."""
    return old["bytes"] == new["bytes"] and old.get("sha256", new.get("sha256")) != new.get("sha256")


# Flags that decide what is learned; the others say where, how fast, or what is kept.
_FLAGS_THAT_MATTER = (
    *("train_batch_size", "gradient_accumulation_steps"),
    *("learning_rate", "learning_rate_schedule", "muon_rate", "poly_power", "decay_proportion"),
    *("sentence_head_rate", "pack_sequences", "init_output_bias", "init_position_waves"),
    *("layerwise_learning_rate_decay", "num_train_epochs", "start_warmup_step", "precision"),
    *("beta_2", "adam_epsilon", "bias_correction", "weight_decay_rate", "max_gradient_norm", "label_smoothing"),
    *("lora_alpha", "exit_training", "exit_rate_factor", "distillation_temperature", "distillation_weight"),
    *("early_exit", "max_span_length", "multi_label", "regression"),
    *("objective", "temperature", "symmetric", "max_score", "cosine_weight", "relation_weight"),
)
# Of these it matters too whether they were given.
_OPTIONAL_FLAGS_THAT_MATTER = (
    *("init_checkpoint", "init_embeddings"),
    *("num_train_steps", "num_warmup_steps", "warmup_proportion"),
    *("length_schedule", "batch_schedule", "masked_lm_prob", "ngram"),
    *("max_seq_length", "max_query_length", "doc_stride", "max_qa_length"),
    *("class_weights", "pos_weight", "freeze", "lora_rank", "teacher", "max_train_examples", "num_folds"),
    *("text_columns", "score_column", "vectors_file", "teacher_width", "init_words", "long_texts", "group_column"),
    *("text_column", "text_pair_column", "label_column", "labels"),
)


def describe_changed_flags(before: str, now: str, step: int) -> str | None:
    """A warning that a run goes on with other flags than it began with, None if it does not.

    Args:
        before, now: flag files, as runs leave them in their folders; empty where a run had none. An earlier version
            did not write the flags that it did not know.
        step: of the checkpoint that it goes on from.
    """
    if not before or not now:
        return None
    old, new = map(_flags_in, (before, now))
    changes = [
        f"--{name} was {old.get(name, 'not given')}, is {new.get(name, 'not given')} now"
        for name in (*_OPTIONAL_FLAGS_THAT_MATTER, *_FLAGS_THAT_MATTER)
        if old.get(name) != new.get(name) and (name in _OPTIONAL_FLAGS_THAT_MATTER or (name in old and name in new))
    ]
    if not changes:
        return None
    weights = "; its weights are the checkpoint's" if any("--init_" in change for change in changes) else ""
    return f"the run goes on from step {step} with other flags: {'; '.join(changes)}{weights}"


def _flags_in(text: str) -> dict[str, str]:
    """The flags of a flag file by name; of --name and --noname too, "true" and "false"."""
    found = {}
    for line in text.splitlines():
        name, is_given, value = line.removeprefix("--").partition("=")
        if is_given:
            found[name] = value
        else:
            found |= {name: "true", name.removeprefix("no"): str(not name.startswith("no")).lower()}
    return found


def _warn_of_memory(settings: TrainingSettings, estimate: memory.MemoryEstimate, strategy) -> None:
    """Only for a CPU, whose memory is known before it is asked for; replicas of one machine share it."""
    devices = local_devices(strategy) if device_kind(strategy) == "CPU" else ()
    available = memory.machine_memory()
    needed = estimate.total * len(devices)
    if devices and 0 < available < needed:
        logging.warning(
            "the steps need about %.1f GB, the machine has %.1f GB left: %s",
            *(needed / 1e9, available / 1e9, memory.advise(settings)),
        )
