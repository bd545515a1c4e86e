"""Takes the first steps of a training run in every way asked for, and prints losses and weights as JSON.

A program of its own, since the number of logical CPUs is fixed when TensorFlow starts. Arguments: record file, config
as JSON, number of steps, and names of VARIANTS.
"""

import json
import sys

import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.pretraining.steps import PretrainingSteps
from albert_tf.training.strategy import make_strategy

# name: (strategy, steps the device takes at a time, more of PretrainingSteps)
VARIANTS = {
    "one_device": ("one_device", 1, {}),
    "ten at a time": ("one_device", 10, {}),
    "mirrored": ("mirrored", 1, {}),
    "accumulation 4": ("one_device", 1, {"gradient_accumulation_steps": 4}),
    "mirrored, accumulation 2": ("mirrored", 10, {"gradient_accumulation_steps": 2}),
    "compiled": ("one_device", 10, {"jit_compile": True}),
    "mirrored, compiled, accumulation 2": ("mirrored", 1, {"gradient_accumulation_steps": 2, "jit_compile": True}),
    "scaled loss": ("one_device", 10, {"scale_loss": True}),
    "multi_worker": ("multi_worker", 10, {}),
    "remat": ("one_device", 10, {}),
    "constant graph": ("one_device", 10, {}),
    "bfloat16": ("one_device", 10, {}),
    "float16": ("one_device", 10, {"scale_loss": True}),
    "mirrored, float16, accumulation 2": ("mirrored", 10, {"scale_loss": True, "gradient_accumulation_steps": 2}),
}
# What a variant changes in the model.
MODELS = {
    "remat": {"remat": True},
    "constant graph": {"constant_graph": True},
    "bfloat16": {"dtype": "mixed_bfloat16"},
    "float16": {"dtype": "mixed_float16"},
    "mirrored, float16, accumulation 2": {"dtype": "mixed_float16"},
}
BATCH_SIZE, SEQUENCE_LENGTH, PREDICTIONS = 8, 16, 4


def take_steps(path, config, number, variant):
    """Losses (at the end of each call), weights and figures of one variant."""
    name, at_a_time, more = VARIANTS[variant]
    strategy = make_strategy(name)
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = AlbertForPretraining(config, **MODELS.get(variant, {}))
        optimizer = build_optimizer("lamb", WarmupPolynomialDecay(0.01, 40, 4))
        optimizer.build(list(named_weights(model).values()))
    runner = PretrainingSteps(strategy, model, optimizer, seed=1, **more)
    batches = strategy.distribute_datasets_from_function(
        lambda context: make_dataset([path], BATCH_SIZE, SEQUENCE_LENGTH, PREDICTIONS, seed=3, context=context)
    )
    iterator, progress, last, step, bad_steps = iter(batches), runner.start(), {}, 0, []
    while step < number:
        until = at_a_time - step % at_a_time
        progress, taken, metrics, usable = runner.take(iterator, tf.constant(until), progress)
        step += int(taken)
        if usable:
            last[step] = metrics.numpy().tolist()
        else:
            bad_steps.append(step - 1)
    return {
        "replicas": strategy.num_replicas_in_sync,
        "all_reduce_bytes": runner.all_reduce_bytes,
        "totals": progress.totals.numpy().tolist(),
        "metrics": last,
        "bad_steps": bad_steps,
        "weights": {key: value.numpy().ravel().tolist() for key, value in named_weights(model).items()},
    }


def main():
    """Prints a JSON object, {variant: what take_steps returns}."""
    path, config, number, *variants = sys.argv[1:]
    if variants != ["multi_worker"]:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    config = AlbertConfig.from_dict(json.loads(config))
    print(json.dumps({name: take_steps(path, config, int(number), name) for name in variants}))  # noqa: T201


if __name__ == "__main__":
    main()
