"""Public figures of TPUs and GPUs, and the groups of them that a run is planned for."""

import dataclasses
import math
import re

from albert_tf.runtime.errors import FlagError

_GB, _GIB = 10**9, 2**30


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chip:
    """Figures of one chip.

    Attributes:
        flops: operations a second of matrix products in bfloat16, without sparsity.
        memory_bytes: of its own memory.
        memory_bandwidth: bytes a second between that memory and the chip.
        link_bandwidth: bytes a second that it sends to the chips of its group, while it receives as many.
        group: chips that are joined by such links.
        network_bandwidth: bytes a second that it sends to other groups.
        compiled_for: the smallest topology of a TPU whose compiler is asked: its own kind, or for a GPU the one that
            has as much memory.
        source: of these figures.
    """

    flops: float
    memory_bytes: int
    memory_bandwidth: float
    link_bandwidth: float
    group: int
    network_bandwidth: float
    compiled_for: str
    source: str


# TFLOP/s, bytes of memory, GB/s of memory, of links and of the network (one way; makers give the sum of both), chips of
# a group, topology to compile for, source.
_TABLE = {
    "v5e": (197, 16 * _GIB, 819, 200, 3.125, 256, "v5e:2x2", "cloud.google.com/tpu/docs/v5e"),
    "v5p": (459, 95 * _GIB, 2765, 600, 6.25, 6144, "v5p:2x2x1", "cloud.google.com/tpu/docs/v5p"),
    "v6e": (918, 32 * _GIB, 1600, 400, 12.5, 256, "v6e:2x2", "cloud.google.com/tpu/docs/v6e"),
    "a100": (312, 80 * _GB, 2039, 300, 25, 8, "v5p:2x2x1", "NVIDIA's data sheet, 80 GB SXM; InfiniBand 200 Gb/s"),
    "h100": (989, 80 * _GB, 3350, 450, 50, 8, "v5p:2x2x1", "NVIDIA's data sheet, SXM, dense; InfiniBand 400 Gb/s"),
    "h200": (989, 141 * _GB, 4800, 450, 50, 8, "v5p:2x2x1", "NVIDIA's data sheet, SXM, dense; InfiniBand 400 Gb/s"),
}
CHIPS = {
    kind: Chip(
        flops=teraflops * 10**12,
        memory_bytes=memory,
        memory_bandwidth=bandwidth * _GB,
        link_bandwidth=links * _GB,
        network_bandwidth=network * _GB,
        group=group,
        compiled_for=topology,
        source=source,
    )
    for kind, (teraflops, memory, bandwidth, links, network, group, topology, source) in _TABLE.items()
}
_TPUS = ("v5e", "v5p", "v6e")


@dataclasses.dataclass(frozen=True)
class Topology:
    """Chips of one kind: `v5e:16x16` is a slice of that shape, `h100:64` that many GPUs."""

    kind: str
    count: int

    @property
    def chip(self) -> Chip:
        """The figures of one of them."""
        return CHIPS[self.kind]

    @property
    def is_tpu(self) -> bool:
        """True for TPUs, whose own compiler is asked."""
        return self.kind in _TPUS

    def seconds_to_sum(self, num_bytes: float) -> float:
        """The least time in which all chips sum what each has of so many bytes, and know the sums.

        Each chip sends, and receives, twice the bytes less one share; within a group at the speed of its links, and a
        group's share of the sums over the network.
        """
        inside = min(self.count, self.chip.group)
        groups = math.ceil(self.count / inside)
        within = 2 * num_bytes * (inside - 1) / inside / self.chip.link_bandwidth
        between = 2 * num_bytes / inside * (groups - 1) / groups / self.chip.network_bandwidth
        return within + between


def parse_topology(text: str) -> Topology:
    """Reads `v5e:4x4`, `v5p:2x2x4`, `h100:8` or `h100`, which is one.

    Raises:
        InputError: it names no known chip, or no number of them.
    """
    kind, _, shape = text.strip().lower().partition(":")
    if kind not in CHIPS:
        raise FlagError(f"--topology={text}: no chip {kind!r} in the table; known are {', '.join(CHIPS)}")
    sizes = [int(size) for size in shape.split("x")] if re.fullmatch(r"[1-9]\d{0,4}(x[1-9]\d{0,4})*", shape) else []
    dimensions = 3 if kind == "v5p" else 2
    if kind in _TPUS:
        if len(sizes) != dimensions:
            example = CHIPS[kind].compiled_for
            raise FlagError(f"--topology={text}: a slice of {kind} has {dimensions} sides, such as {example}")
    elif shape and len(sizes) != 1:
        raise FlagError(f"--topology={text}: give a number of GPUs, such as {kind}:8")
    if kind in _TPUS and any((size > 2 and size % 4) or (dimensions == 2 and size & (size - 1)) for size in sizes):
        allowed = "1, 2 or a multiple of 4" if dimensions == 3 else "1, 2, 4, 8 or 16"
        raise FlagError(f"--topology={text}: a side of a slice of {kind} is {allowed} chips long")
    count = math.prod(sizes)
    if kind in _TPUS and count > CHIPS[kind].group:
        raise FlagError(f"--topology={text}: a slice of {kind} has at most {CHIPS[kind].group} chips")
    return Topology(kind, count)
