"""Two replicas against one: the same losses and weights at the same global batch, whatever each replica's share.

Runs in a process of its own, since the number of logical CPUs is fixed when TensorFlow starts.
"""

import json
import subprocess
import sys

STEPS = 20

SCRIPT = """
import json, sys
import numpy as np
import tensorflow as tf
from albert_tf.config import AlbertConfig
from albert_tf.inputs.pretraining_dataset import make_dataset
from albert_tf.models.named_weights import named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.optimization.build import build_optimizer
from albert_tf.optimization.schedules import WarmupPolynomialDecay
from albert_tf.training.steps import PretrainingSteps
from albert_tf.training.strategy import make_strategy

path, config, steps = sys.argv[1], AlbertConfig.from_dict(json.loads(sys.argv[2])), int(sys.argv[3])
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
results = {}
for name in ("one_device", "mirrored"):
    strategy = make_strategy(name)
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = AlbertForPretraining(config)
        optimizer = build_optimizer("lamb", WarmupPolynomialDecay(0.01, 40, 4))
        optimizer.build(list(named_weights(model).values()))
    runner = PretrainingSteps(strategy, model, optimizer, seed=1)
    iterator = iter(strategy.experimental_distribute_dataset(make_dataset([path], 8, 16, 4, seed=3)))
    losses = [runner.train(iterator, tf.constant(1)).numpy().tolist() for _ in range(steps)]
    results[name] = {
        "replicas": strategy.num_replicas_in_sync,
        "metrics": losses,
        "weights": {key: value.numpy().ravel().tolist() for key, value in named_weights(model).items()},
    }
print(json.dumps(results))
"""


def test_mirrored_agrees_with_one_device(write_records, small_config):
    # Dropout is off: each replica has masks of its own. The records have 1 to 4 predictions each, so that the
    # replicas' shares of a batch differ.
    config = {**small_config.to_dict(), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, write_records("records", 50), json.dumps(config), str(STEPS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout.splitlines()[-1])
    one, two = results["one_device"], results["mirrored"]
    assert (one["replicas"], two["replicas"]) == (1, 2)
    assert len(one["metrics"]) == STEPS
    assert one["metrics"][-1][0] < one["metrics"][1][0]
    for ours, theirs in zip(one["metrics"], two["metrics"], strict=True):
        assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 1e-5
    for name, values in one["weights"].items():
        assert max(abs(a - b) for a, b in zip(values, two["weights"][name], strict=True)) < 1e-4, name
