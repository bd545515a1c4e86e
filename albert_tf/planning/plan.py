"""The plan of a pre-training run on chips that need not be there: what fits, how fast a step is, the run's cost."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.planning import gpus, programs
from albert_tf.planning.chips import Topology
from albert_tf.runtime.errors import InputError

# Of a GPU's memory; the engine takes 0.92 of it (runtime/tensorflow_import.py), and not all of that is one piece.
_USABLE = 0.9
# Times that an update moves the bytes of the gradients: it reads weights, gradients and two moments, and writes all but
# the gradients.
_MOVED_BY_UPDATE = 7
_SECONDS_AN_HOUR = 3600
# Flags of run_pretraining by which steps are not all alike, or as many as there is time for.
_NOT_PLANNED = ("length_schedule", "batch_schedule", "pack_sequences", "masked_lm_prob", "train_minutes")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run to be planned, by the names of run_pretraining's flags; the batch is that of all chips."""

    config: AlbertConfig
    train_batch_size: int
    max_seq_length: int
    max_predictions_per_seq: int
    num_train_steps: int
    optimizer: str
    precision: str
    remat: bool
    constant_graph: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """A run on some chips. Bytes, operations and examples are of one chip, seconds of one step.

    Attributes:
        topology: the chips.
        chips: how many.
        examples: of a step.
        examples_at_once: of a micro-batch, as many as fit.
        gradient_accumulation_steps: micro-batches of a step.
        remat: whether a layer's inside is computed again: it was asked for, or nothing fits without.
        memory: bytes, by the compiler: "argument", "temporary" and "peak".
        memory_by: the topology whose compiler says that, and how much is summed: the plan's own kind, or a stand-in.
        operations: of a step, by the compiler; for a GPU by that of a TPU, as all further figures.
        memory_traffic: bytes that a step's operations read and write, by the compiler, which also counts what stays on
            the chip between two of them.
        exchanged: bytes that are summed over the chips once a step, by the compiler.
        exchanges: how many exchanges there are in a step, by the compiler.
        seconds: for "products" at the chip's peak, for "memory", if all that traffic goes there, for the "exchange",
            and for all of it ("step"): the longer of the first two, and then the exchange. Estimates, by the public
            figures of the chip.
        hours, chip_hours: of the run, at that speed.
        programs: figures of each program that was compiled.
    """

    topology: str
    chips: int
    examples: int
    examples_at_once: int
    gradient_accumulation_steps: int
    remat: bool
    memory: dict[str, int]
    memory_by: str
    operations: float
    memory_traffic: float
    exchanged: int
    exchanges: int
    seconds: dict[str, float]
    hours: float
    chip_hours: float
    programs: list[dict[str, Any]]


def warn_of_flags(settings: Any) -> None:
    """Warns of flags of a run that its plan does not go by.

    Args:
        settings: PretrainingSettings.
    """
    given = [f"--{name}" for name in _NOT_PLANNED if getattr(settings, name)]
    if given:
        logging.warning(
            "not planned: %s; all %s steps are planned as of %s examples of %d pieces",
            *(", ".join(given), f"{settings.num_train_steps:,}", f"{settings.train_batch_size:,}"),
            settings.max_seq_length,
        )


def examples_of_a_chip(run: PlannedRun, topology: Topology, name: str) -> int:
    """The examples of a step that each chip of a topology has; arguments and errors as make_plan's."""
    examples, rest = divmod(run.train_batch_size, topology.count)
    if rest:
        raise InputError(
            f"--train_batch_size={run.train_batch_size} does not divide by the {topology.count} chips of "
            f"--topology={name}; give a multiple, such as {(examples + 1) * topology.count}"
        )
    return examples


def make_plan(run: PlannedRun, topology: Topology, name: str) -> Plan:
    """Plans a run.

    Args:
        run: what is trained.
        topology: on which chips.
        name: of the topology, for messages and the plan.

    Raises:
        InputError: the batch does not divide by the chips, or nothing fits a chip.
    """
    examples = examples_of_a_chip(run, topology, name)
    compiler = _Compiler(run, topology)
    at_once, remat = _largest_that_fits(compiler, examples, run.remat, name)
    fitting = compiler.whole_step(examples, at_once, remat)
    operations, traffic = _cost_of_step(compiler, run.config, examples, at_once, remat)
    seconds = _estimate_seconds(topology, operations, traffic, fitting["all_reduce"]["bytes"])
    hours = seconds["step"] * run.num_train_steps / _SECONDS_AN_HOUR
    return Plan(
        topology=name,
        chips=topology.count,
        examples=examples,
        examples_at_once=at_once,
        gradient_accumulation_steps=examples // at_once,
        remat=remat,
        memory={kind: fitting[f"{kind}_bytes"] for kind in ("argument", "temporary", "peak")},
        memory_by=compiler.memory_by,
        operations=operations,
        memory_traffic=traffic,
        exchanged=fitting["all_reduce"]["bytes"],
        exchanges=fitting["all_reduce"]["count"],
        seconds=seconds,
        hours=hours,
        chip_hours=hours * topology.count,
        programs=compiler.programs,
    )


def _estimate_seconds(topology: Topology, operations: float, traffic: float, exchanged: int) -> dict[str, float]:
    products, memory = operations / topology.chip.flops, traffic / topology.chip.memory_bandwidth
    exchange = topology.seconds_to_sum(exchanged)
    return {"products": products, "memory": memory, "exchange": exchange, "step": max(products, memory) + exchange}


class _Compiler:
    """Compiles programs for the chips of a topology, each once.

    Attributes:
        memory_by: the topology whose compiler says what a whole step takes of the memory.
        programs: figures of each.
    """

    def __init__(self, run: PlannedRun, topology: Topology):
        self._run = run
        self._chips = self._own_chips = programs.find_chips(topology.chip.compiled_for)
        self.memory_by = topology.chip.compiled_for
        if not topology.is_tpu and gpus.has_compiler():
            self._own_chips, self.memory_by = gpus.find_gpus(topology.kind, topology.count), topology.kind
        self._limit = None if topology.is_tpu else _USABLE * topology.chip.memory_bytes
        self._known: dict[tuple, dict[str, Any]] = {}
        self.programs: list[dict[str, Any]] = []

    def whole_step(self, examples: int, at_once: int, remat: bool) -> dict[str, Any]:
        """The figures of a step of so many examples a chip; "fault" is why it does not fit."""
        found = self._compile_once(self._own_chips, self._run.config, examples, examples // at_once, remat)
        if "fault" not in found and self._limit is not None and found["peak_bytes"] > self._limit:
            return found | {"fault": f"{found['peak_bytes']} bytes of {self._limit:.0f}"}
        return found

    def count(self, config: AlbertConfig, examples: int, parts: int, remat: bool) -> dict[str, Any]:
        """The figures of one program, operations and bytes moved among them."""
        return self._compile_once(self._chips, config, examples, parts, remat)

    def _compile_once(self, chips: list[Any], *program: Any) -> dict[str, Any]:
        key = (chips is self._chips, *program)
        if key not in self._known:
            self._known[key] = self._compile(chips, *program)
        return self._known[key]

    def _compile(
        self, chips: list[Any], config: AlbertConfig, examples: int, parts: int, remat: bool
    ) -> dict[str, Any]:
        run = self._run
        ways = {"optimizer": run.optimizer, "precision": run.precision, "remat": remat}
        ways |= {"gradient_accumulation_steps": parts, "constant_graph": run.constant_graph}
        shape = (examples, run.max_seq_length, run.max_predictions_per_seq)
        about = {"layers": config.num_hidden_layers, "examples": examples, **ways}
        began = time.monotonic()
        found = programs.compile_step(chips, config, shape, **ways)
        about |= found | {"seconds_to_compile": round(time.monotonic() - began, 1)}
        fits = "does not fit" if "fault" in found else f"{found['peak_bytes'] / 2**30:.2f} GiB"
        logging.info(
            "compiled in %.0f s: %d layers, %d examples in %d parts%s: %s",
            *(about["seconds_to_compile"], config.num_hidden_layers, examples, parts, ", remat" if remat else "", fits),
        )
        self.programs.append(about)
        return found


def _largest_that_fits(compiler: _Compiler, examples: int, remat: bool, name: str) -> tuple[int, bool]:
    """(examples of a micro-batch, whether it takes remat): by bisection over the divisors of a chip's examples."""
    sizes = [size for size in range(1, examples + 1) if examples % size == 0]
    fault = ""
    for with_remat in (True,) if remat else (False, True):

        def fits(size: int, with_remat: bool = with_remat) -> bool:
            return "fault" not in compiler.whole_step(examples, size, with_remat)

        place = _last_that_holds(fits, sizes)
        if place is not None:
            return sizes[place], with_remat
        fault = compiler.whole_step(examples, 1, with_remat)["fault"]
    raise InputError(f"--topology={name}: not one example fits a chip, with --remat neither: {fault}")


def _last_that_holds(holds: Callable[[int], bool], values: list[int]) -> int | None:
    """The place of the last value for which something holds that, once false, stays false; None: for none.

    The largest is asked first: where everything fits there is nothing to look for.
    """
    if holds(values[-1]):
        return len(values) - 1
    below, above = -1, len(values) - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if holds(values[middle]) else (below, middle)
    return below if below >= 0 else None


def _cost_of_step(compiler: _Compiler, config: AlbertConfig, examples: int, at_once: int, remat: bool):
    """(operations, bytes moved) of a step: those of programs with one layer and with two, and what the second adds.

    The compiler counts the inside of a loop once, and these programs have no loop of more turns: one micro-batch, and
    the last layer stands by itself. A group of layers with weights of its own adds their update, once.
    """
    parts, layers, groups = examples // at_once, config.num_hidden_layers, config.num_hidden_groups

    def cost(depth: int, of_groups: int) -> tuple[float, float]:
        shallow = dataclasses.replace(config, num_hidden_layers=depth, num_hidden_groups=of_groups)
        found = compiler.count(shallow, at_once, 1, remat)
        # Each of these programs updates the weights; a step does it once.
        updates = (parts - 1) * _MOVED_BY_UPDATE * found["all_reduce"]["bytes"]
        return found["flops_per_step"] * parts, found["bytes_per_step"] * parts - updates

    one, two = cost(1, 1), cost(min(2, layers), 1)
    apart = cost(2, 2) if groups > 1 else two
    operations, moved = (
        first + (layers - 1) * (second - first) + (groups - 1) * (third - second)
        for first, second, third in zip(one, two, apart, strict=True)
    )
    return operations, moved
