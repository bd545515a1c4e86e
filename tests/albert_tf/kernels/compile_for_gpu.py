"""Compiles a training step for an H100 that is not there, by formulas and by kernels, and prints figures as JSON.

A program of its own, since Keras's backend is fixed when it starts. Arguments: config, examples, pieces an example.
"""

import json
import os
import re
import sys

os.environ |= {"JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"}

from jax.experimental import topologies

from albert_tf.config import AlbertConfig
from albert_tf.kernels import backend, formulas, jax_gpu
from albert_tf.planning import programs

# What the compiler asks of a device.
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84942979072
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 12 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
WAYS = {"optimizer": "adamw", "precision": "bfloat16", "remat": False, "constant_graph": False}


def main():
    """Prints {way: bytes of temporaries, and how often each kernel is called}."""
    name, examples, length = sys.argv[1:]
    topology = topologies.get_topology_desc("h100", platform="cuda", topology="1x1x1", target_config=H100)
    shape = (int(examples), int(length), 20)
    found = {}
    for way in (formulas, jax_gpu):
        backend._formulas_here = lambda way=way: way
        lowered = programs.lower_step(
            topology.devices[:1], AlbertConfig.from_name(name), shape, gradient_accumulation_steps=1, **WAYS
        )
        compiled = lowered.compile()
        calls = re.findall(r"__gpu\$xla\.gpu\.triton.*?op_name=\"[^\"]*/(\w+)/pallas_call", compiled.as_text())
        counts = {kernel: calls.count(kernel) for kernel in sorted(set(calls))}
        found[way.__name__.rpartition(".")[2]] = {
            "temporary_bytes": compiled.memory_analysis().temp_size_in_bytes,
            "calls": counts,
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
