"""Takes the first steps of fine-tuning on batches of several lengths in every way asked for; prints weights as JSON.

A program of its own, since the number of logical CPUs is fixed when TensorFlow starts. Arguments: config as JSON, and
names of VARIANTS.
"""

import json
import sys

import numpy as np
import tensorflow as tf

from albert_tf.config import AlbertConfig
from albert_tf.finetuning.evaluation import predict_features
from albert_tf.finetuning.steps import FinetuningSteps
from albert_tf.inputs.finetuning_dataset import BatchShape, make_training_dataset
from albert_tf.inputs.finetuning_features import Feature, FeatureSet
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.named_weights import named_weights
from albert_tf.optimization.build import build_optimizer
from albert_tf.training.strategy import make_strategy

# name: (strategy, more of FinetuningSteps)
VARIANTS = {
    "one device": ("one_device", {}),
    "mirrored": ("mirrored", {}),
    "accumulation 2": ("one_device", {"gradient_accumulation_steps": 2}),
    "mirrored, accumulation 2": ("mirrored", {"gradient_accumulation_steps": 2}),
    "static shapes": ("one_device", {"static_shapes": True}),
    "mirrored, static shapes": ("mirrored", {"static_shapes": True}),
    "compiled": ("one_device", {"static_shapes": True, "jit_compile": True}),
}
STEPS, SHAPE = 6, BatchShape(8, (8, 16))


def features():
    """20 sequences of 3 to 16 pieces in two classes: two epochs and a half, with batches that are filled up."""
    rng = np.random.default_rng(0)
    made = []
    for index in range(20):
        ids = rng.integers(5, 60, int(rng.integers(3, 17))).tolist()
        made.append(Feature(index, ids, [0] * len(ids), int(rng.integers(2))))
    return FeatureSet.from_features(made, "classification")


def take_steps(config, variant):
    """Losses, weights and predictions of one variant."""
    name, more = VARIANTS[variant]
    strategy = make_strategy(name)
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = make_finetuning_model(config, "classification", 2, 0.0)
        optimizer = build_optimizer("adamw", 0.003, bias_correction=True)
        optimizer.build(list(named_weights(model).values()))
    steps = FinetuningSteps(strategy, model, "classification", optimizer, seed=1, **more)
    made = features()
    batches = strategy.distribute_datasets_from_function(
        lambda context: make_training_dataset(made, SHAPE, 3, STEPS, context=context)
    )
    progress, taken, last, usable = steps.take(iter(batches), tf.constant(STEPS), steps.start())
    assert int(taken) == STEPS and bool(usable)
    outputs = predict_features(steps, made, SHAPE)
    return {
        "replicas": strategy.num_replicas_in_sync,
        "means": dict(zip(steps.metrics, progress.means(), strict=True)),
        "last": last.numpy().tolist(),
        "weights": {key: value.numpy().ravel().tolist() for key, value in named_weights(model).items()},
        "logits": [row.tolist() for row in outputs["logits"]],
    }


def main():
    """Prints a JSON object, {variant: what take_steps returns}."""
    config, *variants = sys.argv[1:]
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    config = AlbertConfig.from_dict(json.loads(config))
    print(json.dumps({name: take_steps(config, name) for name in variants}))  # noqa: T201


if __name__ == "__main__":
    main()
