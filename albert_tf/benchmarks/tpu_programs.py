"""Compiles the training step for TPUs that are not there: memory of a chip, operations, exchanges; a JSON line each.

The compiler is the TPU's own (the extra `tpu`), and runs on any Linux machine. Times are not estimated.
"""

import os
import re
import time
from typing import Any

from absl import flags

from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.optimization.names import OPTIMIZER_NAMES
from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.tensorflow_import import import_tensorflow

# Bytes of a number, by the compiler's names of types.
_BYTES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "pred": 1}
_EXCHANGES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
# How the compiler tells of programs that come back to Python.
_HOST_CALLS = ("xla_python", "xla_ffi_python", "SendToHost", "RecvFromHost")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_list("albert_config_file", ["albert_base_v2"], "Shapes of the model.", **fv)
    flags.DEFINE_list("topology", ["v5e:2x2"], "Kind and number of chips: v5e:4x4, v5p:2x2x1, v6e:2x2.", **fv)
    flags.DEFINE_multi_integer("batch_size_per_chip", [32], "Examples of a step and chip.", **fv)
    flags.DEFINE_integer("max_seq_length", 512, "Tokens of an example.", **fv)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked positions of an example.", **fv)
    flags.DEFINE_integer("gradient_accumulation_steps", 1, "Parts of a chip's batch, one after another.", **fv)
    flags.DEFINE_enum("optimizer", "lamb", OPTIMIZER_NAMES, "Optimizer.", **fv)
    flags.DEFINE_enum("precision", "bfloat16", tuple(DTYPE_POLICIES), "Of the matrix products.", **fv)
    flags.DEFINE_bool("remat", False, "Compute the inside of a layer again for its gradient, to save memory.", **fv)
    flags.DEFINE_bool("constant_graph", True, "Apply the shared block in a loop of the device.", **fv)


def find_chips(topology: str) -> list[Any]:
    """The chips of a topology, none of which is here.

    Raises:
        InputError: no TPU compiler, or no such topology.
    """
    from jax.experimental import topologies

    try:
        return list(topologies.get_topology_desc(topology, platform="tpu").devices)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(
            f"--topology={topology}: {text}; the compiler comes with pip install 'albert_tf[tpu]'"
        ) from None


def lower_step(chips: list[Any], config, shape: tuple[int, int, int], **ways):
    """The training step of run_pretraining on these chips, not yet compiled: jax.stages.Lowered.

    Args:
        chips: what find_chips returns.
        config: AlbertConfig.
        shape: (examples a chip, sequence length, predictions a sequence).
        **ways: optimizer, precision, gradient_accumulation_steps, remat, constant_graph.
    """
    import jax

    from albert_tf.models.named_weights import named_weights
    from albert_tf.models.pretraining import AlbertForPretraining
    from albert_tf.optimization.build import build_optimizer
    from albert_tf.pretraining.steps import PretrainingSteps
    from albert_tf.training.jax_devices import DataParallel

    rows, length, predictions = shape
    of_model = {name: ways[name] for name in ("remat", "constant_graph")}
    model = AlbertForPretraining(config, dtype=DTYPE_POLICIES[ways["precision"]], **of_model)
    optimizer = build_optimizer(ways["optimizer"], 1e-4)
    optimizer.build(list(named_weights(model).values()))
    steps = PretrainingSteps(
        DataParallel(chips),
        model,
        optimizer,
        gradient_accumulation_steps=ways["gradient_accumulation_steps"],
        scale_loss=ways["precision"] == "float16",
    )
    of_tokens = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ("int32", length))
    of_masks = dict.fromkeys(("masked_lm_positions", "masked_lm_ids"), ("int32", predictions))
    kinds = of_tokens | of_masks | {"masked_lm_weights": ("float32", predictions), "sentence_order_labels": ("int32",)}
    rows *= len(chips)
    return steps.lower({name: jax.ShapeDtypeStruct((rows, *sizes), kind) for name, (kind, *sizes) in kinds.items()})


def describe_program(compiled, seconds: float) -> dict[str, Any]:
    """The figures that the compiler gives of a program.

    Args:
        compiled: jax.stages.Compiled.
        seconds: that it took.

    Returns:
        bytes of a chip's memory: arguments (weights, moments, batches), temporaries and both; operations of one step;
        by kind of exchange how many there are and how many bytes each chip brings; whether the program calls Python.
    """
    memory, text = compiled.memory_analysis(), compiled.as_text()
    exchanges = count_exchanges(text)
    return {
        "argument_bytes": memory.argument_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
        "peak_bytes": memory.argument_size_in_bytes
        + memory.temp_size_in_bytes
        + memory.output_size_in_bytes
        # Weights and moments are updated where they are.
        - memory.alias_size_in_bytes,
        "flops_per_step": compiled.cost_analysis()["flops"],
        **{name.replace("-", "_"): found for name, found in exchanges.items()},
        "calls_python": any(word in text for word in _HOST_CALLS),
        "seconds_to_compile": round(seconds, 1),
    }


def count_exchanges(text: str) -> dict[str, dict[str, int]]:
    """The exchanges between chips in a compiled program, by kind: how many, and the bytes of their results.

    >>> count_exchanges("%a = (f32[2,3]{1,0}, f32[4]{0}) all-reduce(%b, %c), channel_id=1")["all-reduce"]
    {'count': 1, 'bytes': 40}
    """
    found = {name: {"count": 0, "bytes": 0} for name in _EXCHANGES}
    for results, name in re.findall(rf"= (.*?) ({'|'.join(_EXCHANGES)})(?:-start)?\(", text):
        found[name]["count"] += 1
        for kind, sizes in re.findall(r"\b([a-z]+[0-9]*)\[([0-9,]*)\]", results):
            count = 1
            for size in filter(None, sizes.split(",")):
                count *= int(size)
            found[name]["bytes"] += count * _BYTES.get(kind, 0)
    return found


def _run() -> None:
    # What is compiled for is not here; what is here must not be asked for.
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    import_tensorflow(backend="jax")
    from albert_tf.config import AlbertConfig

    given = flags.FLAGS
    names = ("optimizer", "precision", "gradient_accumulation_steps", "remat", "constant_graph")
    ways = {name: getattr(given, name) for name in names}
    for name in given.albert_config_file:
        config = AlbertConfig.from_json_file(name)
        for topology in given.topology:
            chips = find_chips(topology)
            for rows in given.batch_size_per_chip:
                shape = (rows, given.max_seq_length, given.max_predictions_per_seq)
                lowered, began = lower_step(chips, config, shape, **ways), time.perf_counter()
                about = {"benchmark": "tpu_programs", "config": name, "topology": topology}
                about |= {"chip": chips[0].device_kind, "chips": len(chips), "batch_per_chip": rows}
                about |= {"length": given.max_seq_length, **ways}
                try:
                    about |= describe_program(lowered.compile(), time.perf_counter() - began)
                except RuntimeError as error:
                    # It does not fit the chip's memory.
                    about["fault"] = " ".join(str(error).split())[:300]
                print(to_json(about), flush=True)  # noqa: T201


main = command.entry_point(__name__, _run)

if __name__ == "__main__":
    main()
