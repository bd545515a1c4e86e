"""Steps on two replicas, in micro-batches, traced for every shape, compiled: the same steps as on one device."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).with_name("take_finetuning_steps.py")
# A process has one mirrored strategy: a second one would number its all-reduces and gathers like the first.
PROCESSES = (
    ("one device", "accumulation 2", "static shapes", "compiled"),
    ("mirrored",),
    ("mirrored, accumulation 2",),
    ("mirrored, static shapes",),
)


@pytest.mark.slow
def test_every_way_to_take_a_step_is_the_same_step(small_config):
    config = dataclasses.replace(small_config, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    found = {}
    for names in PROCESSES:
        command = [sys.executable, str(PROGRAM), json.dumps(config.to_dict()), *names]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found |= json.loads(output.splitlines()[-1])
    expected = found["one device"]
    assert {result["replicas"] for name, result in found.items() if "mirrored" in name} == {2}
    for name, result in found.items():
        for weight, values in result["weights"].items():
            np.testing.assert_allclose(values, expected["weights"][weight], atol=2e-5, err_msg=f"{name}: {weight}")
        np.testing.assert_allclose(result["logits"], expected["logits"], atol=1e-4, err_msg=name)
        for metric, value in expected["means"].items():
            assert result["means"][metric] == pytest.approx(value, rel=1e-4), (name, metric)
