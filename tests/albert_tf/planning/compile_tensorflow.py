"""Compiles TensorFlow's training step, as XLA gets it, by the TPU's own compiler; prints the figures as JSON.

A program of its own, since the compiler's library is loaded once for a process. Arguments: config, topology, examples,
pieces an example, optimizer, micro-batches.
"""

import json
import os
import re
import sys

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
os.environ["KERAS_BACKEND"] = "tensorflow"

import jax
import numpy as np
import tensorflow as tf
from jax._src.interpreters.mlir import make_ir_context
from jaxlib import xla_client
from jaxlib.mlir import ir

from albert_tf.config import AlbertConfig
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.planning.programs import find_chips
from albert_tf.pretraining.steps import PretrainingSteps

PREDICTIONS = 20


def write_step(config, examples: int, length: int, optimizer: str, micro_batches: int) -> bytes:
    """The step of run_pretraining in bfloat16, with its update of the weights: a serialized HLO module."""
    model = AlbertForPretraining(config, dtype="mixed_bfloat16")
    optimizer = build_optimizer(optimizer, 1e-4)
    optimizer.build(list(named_weights(model).values()))
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    steps = PretrainingSteps(strategy, model, optimizer=optimizer, gradient_accumulation_steps=micro_batches)
    of_tokens = dict.fromkeys(("input_ids", "input_mask", "segment_ids"), (tf.int32, length))
    of_masks = dict.fromkeys(("masked_lm_positions", "masked_lm_ids"), (tf.int32, PREDICTIONS))
    kinds = of_tokens | of_masks | {"masked_lm_weights": (tf.float32, PREDICTIONS)}
    batch = {name: tf.zeros((examples, size), kind) for name, (kind, size) in kinds.items()}
    batch["sentence_order_labels"] = tf.zeros(examples, tf.int32)
    progress = tf.nest.map_structure(tf.convert_to_tensor, steps.start())
    step = tf.function(steps._step, jit_compile=True, autograph=False)
    return step.experimental_get_compiler_ir(batch, progress)(stage="hlo_serialized")


def compile_hlo(hlo: bytes, topology: str):
    """The program of an HLO module for one chip of a topology."""
    chip = find_chips(topology)[0]
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.array([[chip.id]], np.int32))
    with make_ir_context():
        text = xla_client._xla.mlir.xla_computation_to_mlir_module(xla_client.XlaComputation(hlo))
        # Copies have no name in StableHLO; a conversion to the same type is one.
        module = ir.Module.parse(text.replace(" mhlo.copy ", " stablehlo.convert "))
        return chip.client.compile(module, xla_client.DeviceList((chip,)), options)


def main():
    """Prints the figures of the program."""
    name, topology, examples, length, optimizer, micro_batches = sys.argv[1:]
    config = AlbertConfig.from_name(name)
    hlo = write_step(config, int(examples), int(length), optimizer, int(micro_batches))
    program = compile_hlo(hlo, topology)
    memory, text = program.get_compiled_memory_stats(), program.hlo_modules()[0].to_string()
    figures = {
        "jax": jax.__version__,
        "argument_bytes": memory.argument_size_in_bytes,
        "peak_bytes": memory.peak_memory_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
        "flops": program.cost_analysis()["flops"],
        # One number passes through: the seconds that the host has waited.
        "has_float64_arrays": re.search(r"f64\[\d", text) is not None,
        "has_dynamic_dimensions": "<=" in text,
        "calls_host": any(word in text for word in ("SendToHost", "RecvFromHost", "outfeed", "infeed")),
    }
    print(json.dumps(figures))  # noqa: T201


if __name__ == "__main__":
    main()
