"""The training step through the TPU's own compiler, which needs no TPU: memory of a chip, operations, exchanges.

The compiler comes with the extra `tpu` and runs on any Linux machine.
"""

import re
from collections.abc import Callable
from typing import Any

from albert_tf.models.dtype_policies import DTYPE_POLICIES
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import quiet_stderr

# Bytes of a number, by the compiler's names of types.
_BYTES = {"f32": 4, "s32": 4, "u32": 4, "bf16": 2, "f16": 2, "pred": 1}
_EXCHANGES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
# How the compiler tells of programs that come back to Python.
_HOST_CALLS = ("xla_python", "xla_ffi_python", "SendToHost", "RecvFromHost")


def find_chips(topology: str) -> list[Any]:
    """The chips of a topology, none of which is here.

    Raises:
        InputError: no TPU compiler, or no such topology.
    """
    from jax.experimental import topologies

    # It looks for the machine's own TPU, and tells at length that there is none.
    with quiet_stderr():
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
    from albert_tf.kernels.backend import lowering_for

    with lowering_for(chips[0]):
        return _pretraining_steps(chips, config, ways).lower(_pretraining_batch(chips, shape))


def lower_evaluation(chips: list[Any], config, shape: tuple[int, int, int], **ways):
    """The evaluation step of run_evaluation; see lower_step."""
    return _pretraining_steps(chips, config, ways).lower_evaluation(_pretraining_batch(chips, shape))


def lower_finetuning(chips: list[Any], config, shape: tuple[int, int], head: str, **ways):
    """The training step of run_finetuning; see lower_step.

    Args:
        chips, config, **ways: see lower_step.
        shape: (examples a chip, sequence length).
        head: "classification", of two classes, or "span".
    """
    from albert_tf.finetuning.steps import FinetuningSteps
    from albert_tf.inputs.finetuning_dataset import EXAMPLE_WEIGHT, FEATURE_INDEX, LABEL
    from albert_tf.models.finetuning import make_finetuning_model

    def make_model():
        return make_finetuning_model(config, head, num_labels=2, **_of_model(ways))

    steps = _make_steps(FinetuningSteps, chips, make_model, ways, head=head, static_shapes=True)
    labels = ("start_positions", "end_positions") if head == "span" else (LABEL,)
    kinds = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ("int32", shape[1]))
    kinds |= dict.fromkeys((*labels, FEATURE_INDEX), ("int32",)) | {EXAMPLE_WEIGHT: ("float32",)}
    return steps.lower(_batch(chips, shape[0], kinds))


def _of_model(ways: dict[str, Any]) -> dict[str, Any]:
    return {"dtype": DTYPE_POLICIES[ways["precision"]]} | {name: ways[name] for name in ("remat", "constant_graph")}


def _pretraining_steps(chips, config, ways: dict[str, Any]):
    from albert_tf.models.pretraining import AlbertForPretraining
    from albert_tf.pretraining.steps import PretrainingSteps

    return _make_steps(PretrainingSteps, chips, lambda: AlbertForPretraining(config, **_of_model(ways)), ways)


def _make_steps(kind: type, chips: list[Any], make_model: Callable[[], Any], ways: dict[str, Any], **more):
    from albert_tf.models.named_weights import named_weights
    from albert_tf.optimization.build import build_optimizer
    from albert_tf.training.jax_devices import DataParallel

    def make():
        model = make_model()
        optimizer = build_optimizer(ways["optimizer"], 1e-4, precision=ways["precision"])
        optimizer.build(list(named_weights(model).values()))
        return kind(
            DataParallel(chips),
            model,
            optimizer=optimizer,
            gradient_accumulation_steps=ways["gradient_accumulation_steps"],
            scale_loss=ways["precision"] == "float16",
            **more,
        )

    return _without_values(make)


def _without_values(make: Callable[[], Any]) -> Any:
    """Calls a function whose weights and moments are then shapes alone: this machine need not have room for them."""
    import jax

    made = []
    jax.eval_shape(lambda: made.append(make()))
    return made[0]


def _pretraining_batch(chips: list[Any], shape: tuple[int, int, int]) -> dict[str, Any]:
    rows, length, predictions = shape
    of_tokens = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ("int32", length))
    of_masks = dict.fromkeys(("masked_lm_positions", "masked_lm_ids"), ("int32", predictions))
    kinds = of_tokens | of_masks | {"masked_lm_weights": ("float32", predictions), "sentence_order_labels": ("int32",)}
    return _batch(chips, rows, kinds)


def _batch(chips: list[Any], rows: int, kinds: dict[str, tuple]) -> dict[str, Any]:
    import jax

    rows *= len(chips)
    return {name: jax.ShapeDtypeStruct((rows, *sizes), kind) for name, (kind, *sizes) in kinds.items()}


def compile_step(chips: list[Any], config, shape: tuple[int, int, int], **ways) -> dict[str, Any]:
    """Compiles the program of lower_step: the figures that the compiler gives of it.

    Args:
        chips, config, shape, **ways: see lower_step.

    Returns:
        bytes of a chip's memory: arguments (weights, moments, batches), temporaries, some of which take the place of
        others, and the most that is in use at a time; operations, and bytes read and written, with the inside of a
        loop counted once, which a GPU's compiler does not tell (0); by kind of exchange how many there are and how many
        bytes each chip brings; whether the program calls Python. Or "fault": why it does not fit.
    """
    return compile_lowered(lower_step(chips, config, shape, **ways))


def compile_lowered(lowered) -> dict[str, Any]:
    """Compiles a program: the figures of compile_step."""
    try:
        compiled = lowered.compile()
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return {"fault": " ".join(str(error).split())[:300]}
    memory, text = compiled.memory_analysis(), compiled.as_text()
    # Of a GPU that is not here it tells no cost.
    cost = compiled.cost_analysis() or {"flops": 0.0, "bytes accessed": 0.0}
    return {
        "argument_bytes": memory.argument_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
        "peak_bytes": memory.peak_memory_in_bytes,
        "flops_per_step": cost["flops"],
        "bytes_per_step": cost["bytes accessed"],
        **{name.replace("-", "_"): found for name, found in count_exchanges(text).items()},
        "calls_python": any(word in text for word in _HOST_CALLS),
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
