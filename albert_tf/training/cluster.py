"""The workers of one training run, as TF_CONFIG describes them, checked before TensorFlow waits for any of them."""

import collections
import dataclasses
import json
from collections.abc import Mapping

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json

_TASK_TYPES = ("chief", "worker")
_EXAMPLE = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}}, '
    "with another index on each host"
)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The workers that train together, and which of them this process is.

    Attributes:
        addresses: host:port of every worker, the chief first.
        index: this process's place among them; 0 is the chief, which writes checkpoints and logs.
    """

    addresses: tuple[str, ...] = ("localhost",)
    index: int = 0

    @property
    def is_chief(self) -> bool:
        """Tells whether this process writes what the run leaves behind."""
        return self.index == 0


def read_cluster(environment: Mapping[str, str]) -> Cluster | None:
    """Reads the cluster from TF_CONFIG.

    Args:
        environment: os.environ.

    Returns:
        the cluster; None if TF_CONFIG is not set, or is empty, or names no cluster.

    Raises:
        InputError: it contradicts itself, or is not JSON.
    """
    text = environment.get("TF_CONFIG", "")
    if not text.strip():
        return None
    try:
        values = json.loads(text)
    except ValueError as error:
        raise _fault(f"is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise _fault(f"is {text[:60]!r}, not an object")
    if not values.get("cluster"):
        return None
    tasks = _tasks(values["cluster"])
    own = _own_task(values.get("task"), values["cluster"])
    return Cluster(tuple(tasks.values()), list(tasks).index(own))


def _tasks(cluster) -> dict[tuple[str, int], str]:
    """{(type, index): address}, the chief first."""
    if not isinstance(cluster, dict):
        raise _fault(f'has "cluster": {to_json(cluster)[:60]}, not an object')
    unknown = sorted(set(cluster) - set(_TASK_TYPES))
    if unknown:
        raise _fault(f"names tasks of type {', '.join(unknown)}; {' and '.join(_TASK_TYPES)} are known")
    tasks = {}
    for kind in _TASK_TYPES:
        addresses = cluster.get(kind, [])
        if not isinstance(addresses, list) or not all(isinstance(address, str) for address in addresses):
            raise _fault(f'has "{kind}": {to_json(addresses)[:60]}, not a list of "host:port"')
        tasks |= {(kind, index): address for index, address in enumerate(addresses)}
    if len(cluster.get("chief", [])) > 1:
        raise _fault(f"names {len(cluster['chief'])} chiefs; there is one at most")
    for address in tasks.values():
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise _fault(f"has the address {address!r}, not host:port")
    twice = [address for address, count in collections.Counter(tasks.values()).items() if count > 1]
    if twice:
        raise _fault(f"gives the address {', '.join(twice)} to more than one task")
    return tasks


def _own_task(task, cluster) -> tuple[str, int]:
    if not isinstance(task, dict) or not {"type", "index"} <= task.keys():
        raise _fault('has a cluster but does not say which task this process is ("task" with "type" and "index")')
    kind, index = task["type"], task["index"]
    if kind not in cluster:
        raise _fault(f"says this process is a {kind!r}, its cluster has {', '.join(sorted(cluster))}")
    if isinstance(index, str) and index.isdigit():
        index = int(index)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(cluster[kind]):
        count = len(cluster[kind])
        raise _fault(f"says this process is {kind} {index!r}, its cluster has {count}, numbered 0 to {count - 1}")
    return kind, index


def _fault(what: str) -> InputError:
    return InputError(f"TF_CONFIG {what}; it should be like {_EXAMPLE}")
