"""Compiles a training step for an H100 that is not there, by formulas and by kernels, and prints figures as JSON.

A program of its own, since Keras's backend is fixed when it starts. Arguments: config, examples, pieces an example.
"""

import json
import os
import re
import sys

os.environ |= {"JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"}

from albert_tf.config import AlbertConfig
from albert_tf.kernels import backend
from albert_tf.planning import gpus, programs

WAYS = {"optimizer": "adamw", "precision": "bfloat16", "remat": False, "constant_graph": False}


def main():
    """Prints {way: bytes of temporaries, and how often each kernel is called}."""
    name, examples, length = sys.argv[1:]
    (chip,) = gpus.find_gpus("h100", 1)
    shape = (int(examples), int(length), 20)
    found = {}
    for way, takes_kernels in (("kernels", backend._takes_kernels), ("formulas", lambda device: False)):
        backend._takes_kernels = takes_kernels
        backend._formulas_on.cache_clear()
        config = AlbertConfig.from_name(name)
        compiled = programs.lower_step([chip], config, shape, gradient_accumulation_steps=1, **WAYS).compile()
        calls = re.findall(r"__gpu\$xla\.gpu\.triton.*?op_name=\"[^\"]*/(\w+)/pallas_call", compiled.as_text())
        found[way] = {
            "temporary_bytes": compiled.memory_analysis().temp_size_in_bytes,
            "calls": {kernel: calls.count(kernel) for kernel in sorted(set(calls))},
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
