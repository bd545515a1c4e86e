"""Compiles every kind of step of a model for chips that are not there, and prints the figures as JSON.

A program of its own, since Keras's backend is fixed when it starts. Arguments: config, topology, examples a chip,
pieces an example.
"""

import json
import os
import sys

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}

from albert_tf.config import AlbertConfig
from albert_tf.planning import programs
from albert_tf.runtime.tensorflow_import import import_tensorflow

WAYS = {"optimizer": "lamb", "precision": "bfloat16", "remat": False, "constant_graph": True}


def main():
    """Prints {kind of step: its figures}."""
    name, topology, examples, length = sys.argv[1:]
    import_tensorflow(backend="jax")
    config, chips = AlbertConfig.from_name(name), programs.find_chips(topology)
    shape, ways = (int(examples), int(length), 20), WAYS | {"gradient_accumulation_steps": 1}
    lowered = {
        "training": programs.lower_step(chips, config, shape, **ways),
        "evaluation": programs.lower_evaluation(chips, config, shape, **ways),
        "classification": programs.lower_finetuning(chips, config, shape[:2], "classification", **ways),
        "span": programs.lower_finetuning(chips, config, shape[:2], "span", **ways),
    }
    print(json.dumps({kind: programs.compile_lowered(program) for kind, program in lowered.items()}))  # noqa: T201


if __name__ == "__main__":
    main()
