"""TF_CONFIG: who the workers are, and one line for every way in which it can contradict itself."""

import json

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.training import strategy
from albert_tf.training.cluster import Cluster, read_cluster

TWO = {"worker": ["a:1", "b:2"]}


def _environment(cluster, task=None) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, **({"task": task} if task is not None else {})})}


def test_workers_are_numbered_and_the_first_is_the_chief():
    second = read_cluster(_environment(TWO, {"type": "worker", "index": 1}))
    assert second == Cluster(("a:1", "b:2"), 1)
    assert not second.is_chief
    chief = read_cluster(_environment({"worker": ["a:1"], "chief": ["c:3"]}, {"type": "chief", "index": "0"}))
    assert (chief.addresses, chief.is_chief) == (("c:3", "a:1"), True)


@pytest.mark.parametrize("text", ["", " ", "{}", '{"task": {"type": "worker", "index": 0}}'])
def test_without_a_cluster_there_is_none(text):
    assert read_cluster({"TF_CONFIG": text}) is None
    assert read_cluster({}) is None


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"TF_CONFIG": "{'cluster'"}, "is not JSON"),
        ({"TF_CONFIG": "[1]"}, "not an object"),
        (_environment([1], {"type": "worker", "index": 0}), 'has "cluster"'),
        (_environment(TWO), "does not say which task this process is"),
        (_environment(TWO, {"type": "worker"}), "does not say which task this process is"),
        (_environment(TWO, {"type": "worker", "index": 2}), "worker 2, its cluster has 2, numbered 0 to 1"),
        (_environment(TWO, {"type": "worker", "index": -1}), "worker -1, its cluster has 2"),
        (_environment(TWO, {"type": "worker", "index": "x"}), "worker 'x', its cluster has 2"),
        (_environment(TWO, {"type": "chief", "index": 0}), "is a 'chief', its cluster has worker"),
        (_environment({**TWO, "ps": ["c:3"]}, {"type": "worker", "index": 0}), "names tasks of type ps"),
        (_environment({"worker": ["a:1", "a:1"]}, {"type": "worker", "index": 0}), "a:1 to more than one task"),
        (_environment({"worker": ["a"]}, {"type": "worker", "index": 0}), "address 'a', not host:port"),
        (_environment({"worker": ["a:99999"]}, {"type": "worker", "index": 0}), "address 'a:99999'"),
        (_environment({"worker": "a:1"}, {"type": "worker", "index": 0}), "not a list"),
        (_environment({"chief": ["a:1", "b:2"]}, {"type": "chief", "index": 0}), "names 2 chiefs"),
    ],
)
def test_a_contradiction_is_one_line(environment, message):
    with pytest.raises(InputError) as error:
        read_cluster(environment)
    assert message in str(error.value)
    assert str(error.value).startswith("TF_CONFIG ")
    assert "\n" not in str(error.value)


def test_only_auto_and_multi_worker_ask_for_the_cluster(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": TWO, "task": {"type": "worker", "index": 1}}))
    for name in ("auto", "multi_worker"):
        assert strategy.find_cluster(name).index == 1
    assert strategy.find_cluster("one_device") == Cluster()
    assert strategy.find_cluster("auto", strategy.TpuAddress("name")) == Cluster()
    monkeypatch.delenv("TF_CONFIG")
    assert strategy.find_cluster("auto") == Cluster()
    with pytest.raises(InputError, match="multi_worker needs TF_CONFIG"):
        strategy.find_cluster("multi_worker")
