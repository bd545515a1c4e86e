"""Takes the first steps of a training run on JAX in every way asked for, and prints losses and weights as JSON.

A program of its own, since Keras's backend and the number of devices are fixed when they start. Arguments: record file,
config as JSON, file of first weights, number of steps, and names of VARIANTS.
"""

import json
import sys

import jax
import keras
import numpy as np

from albert_tf.config import AlbertConfig
from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.jax_devices import DataParallel

BATCH_SIZE, SEQUENCE_LENGTH, PREDICTIONS = 8, 16, 4
# name: (devices, steps asked for at a time, more of PretrainingSteps, more of the model)
VARIANTS = {
    "one device": (1, 1, {}, {}),
    "ten at a time": (1, 10, {}, {}),
    "four devices": (4, 10, {}, {}),
    "four devices, accumulation 2": (4, 10, {"gradient_accumulation_steps": 2}, {}),
    "constant graph": (1, 10, {}, {"constant_graph": True}),
    "remat, constant graph": (1, 10, {}, {"remat": True, "constant_graph": True}),
    "float16": (1, 10, {"scale_loss": True}, {"dtype": "mixed_float16"}),
}


def take_steps(path, config, weights, number, variant):
    """Losses (at the end of each call), weights and figures of one variant."""
    devices, at_a_time, more, of_model = VARIANTS[variant]
    strategy = DataParallel(jax.devices()[:devices])
    model = AlbertForPretraining(config, **of_model)
    assign_weights(model, weights, "the test")
    optimizer = build_optimizer("lamb", WarmupPolynomialDecay(0.01, 40, 4))
    optimizer.build(list(named_weights(model).values()))
    runner = PretrainingSteps(strategy, model, optimizer, seed=1, **more)
    iterator = strategy.distribute_datasets_from_function(
        lambda context: make_dataset([path], BATCH_SIZE, SEQUENCE_LENGTH, PREDICTIONS, seed=3, context=context)
    )
    progress, found, step, bad_steps = runner.start(), {}, 0, []
    while step < number:
        progress, taken, metrics, usable = runner.take(iterator, at_a_time - step % at_a_time, progress)
        step += taken
        if usable:
            found[step] = np.asarray(metrics).tolist()
        else:
            bad_steps.append(step - 1)
    return {
        "replicas": strategy.num_replicas_in_sync,
        "totals": np.asarray(progress.totals).tolist(),
        "metrics": found,
        "bad_steps": bad_steps,
        "weights": {key: np.asarray(value).ravel().tolist() for key, value in named_weights(model).items()},
    }


def main():
    """Prints a JSON object, {variant: what take_steps returns}."""
    path, config, first, number, *variants = sys.argv[1:]
    assert keras.backend.backend() == "jax"
    config, weights = AlbertConfig.from_dict(json.loads(config)), dict(np.load(first))
    print(json.dumps({name: take_steps(path, config, weights, int(number), name) for name in variants}))  # noqa: T201


if __name__ == "__main__":
    main()
