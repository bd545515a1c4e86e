"""GPUs that are not here, for their own compiler: what it asks of a device, and finding one.

The compiler is a part of JAX's plugin for CUDA, which needs no GPU to compile (pip install 'albert_tf[cuda-compiler]').
"""

import importlib.util
from typing import Any

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import quiet_stderr

PLUGIN = "jax_cuda13_plugin"
# Of more than so many GPUs a program is that of so many.
_MOST = 4
# Compute capability, processors, bytes of shared memory of each and the most that a block may have, bytes of the second
# cache, clock in GHz, bytes a second of the memory, bytes of the memory, name: as CUDA tells them of each.
_DEVICES = {
    "a100": ((8, 0), 108, 167_936, 166_912, 41_943_040, 1.41, 2_039 * 10**9, 85_097_971_712, "NVIDIA A100-SXM4-80GB"),
    "h100": ((9, 0), 132, 233_472, 232_448, 52_428_800, 1.98, 3_352 * 10**9, 85_520_809_984, "NVIDIA H100 80GB HBM3"),
    "h200": ((9, 0), 132, 233_472, 232_448, 62_914_560, 1.98, 4_800 * 10**9, 150_754_820_096, "NVIDIA H200"),
}
_TARGET = """
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared}
  shared_memory_per_block_optin: {shared_of_block}
  threads_per_core_limit: 2048
  core_count: {cores}
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {cache}
  clock_rate_ghz: {clock}
  device_memory_size: {memory}
  cuda_compute_capability {{ major: {capability[0]} minor: {capability[1]} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 12 }}
device_description_str: "{name}"
"""


def has_compiler() -> bool:
    """Tells whether the compiler is installed."""
    return importlib.util.find_spec(PLUGIN) is not None


def find_gpus(kind: str, count: int) -> list[Any]:
    """Devices of a kind, none of which is here.

    Args:
        kind: a GPU of planning.chips.
        count: how many there are; of many, as many are returned as make the same program.

    Raises:
        InputError: the compiler does not start, for one because it is not of JAX's version.
    """
    from jax.experimental import topologies

    names = ("capability", "cores", "shared", "shared_of_block", "cache", "clock", "bandwidth", "memory", "name")
    target = _TARGET.format(**dict(zip(names, _DEVICES[kind], strict=True)))
    shape = f"1x1x{min(count, _MOST)}"
    # It looks for libraries that only running needs.
    with quiet_stderr():
        try:
            found = topologies.get_topology_desc(kind, platform="cuda", topology=shape, target_config=target)
        except (RuntimeError, ValueError, NotImplementedError) as error:
            text = " ".join(str(error).split())[:200]
            raise InputError(
                f"--topology={kind}: {text}; {PLUGIN} must be of JAX's version: pip install 'albert_tf[cuda-compiler]'"
            ) from None
    return list(found.devices)
