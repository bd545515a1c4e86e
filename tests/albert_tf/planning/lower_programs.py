"""Lowers kinds of steps with weights that are shapes alone and with real ones: prints JSON of both.

A program of its own, since Keras's backend is fixed when it starts. Arguments: config, topology.
"""

import hashlib
import json
import os
import sys

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}

from albert_tf.config import AlbertConfig
from albert_tf.planning import programs
from albert_tf.runtime.tensorflow_import import import_tensorflow

WAYS = {"optimizer": "lamb", "precision": "bfloat16", "gradient_accumulation_steps": 1}
WAYS |= {"remat": False, "constant_graph": True}


def main():
    """Prints, without and with values, {kind of step: digest of its program} and bytes of arrays that are held."""
    name, topology = sys.argv[1:]
    import_tensorflow(backend="jax")
    config, chips = AlbertConfig.from_name(name), programs.find_chips(topology)
    without = lower(chips, config)
    programs._without_values = lambda make: make()
    print(json.dumps({"without": without, "with": lower(chips, config)}))  # noqa: T201


def lower(chips, config):
    """{kind of step: digest}, and under "bytes" what arrays take once all are lowered."""
    import jax

    held, digests = [], {}
    make_steps = programs._make_steps
    programs._make_steps = lambda *args, **more: held.append(make_steps(*args, **more)) or held[-1]
    for kind, program in (
        ("training", programs.lower_step(chips, config, (8, 32, 5), **WAYS)),
        ("classification", programs.lower_finetuning(chips, config, (8, 32), "classification", **WAYS)),
    ):
        digests[kind] = hashlib.sha256(program.as_text().encode()).hexdigest()
    programs._make_steps = make_steps
    return digests | {"bytes": sum(array.nbytes for array in jax.live_arrays())}


if __name__ == "__main__":
    main()
