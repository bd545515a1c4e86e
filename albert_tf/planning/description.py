"""A plan as a person reads it."""

from albert_tf.planning.chips import Topology
from albert_tf.planning.plan import Plan, PlannedRun

_MILLI, _MEGA, _GIGA, _GIB = 1e-3, 1e6, 1e9, 2**30


def describe_plan(run: PlannedRun, topology: Topology, plan: Plan) -> str:
    """Some lines: what fits, what a step moves, what it takes, the run's cost, the flags to use."""
    counted, compiler = (_compiler(topology, kind) for kind in (topology.chip.compiled_for, plan.memory_by))
    counts = f" ({counted})" if counted != compiler else ""
    parts = plan.gradient_accumulation_steps
    pieces = f", one micro-batch after another: {parts}" if parts > 1 else ""
    seconds = {kind: _time(value) for kind, value in plan.seconds.items()}
    rows = {
        "run": f"{run.num_train_steps:,} steps of {run.train_batch_size:,} x {run.max_seq_length} on {plan.topology}, "
        f"{plan.chips:,} chips with {plan.examples} examples each",
        "fits": f"{plan.examples_at_once} at once{pieces}; {plan.memory['peak'] / _GIB:.2f} of "
        f"{topology.chip.memory_bytes / _GIB:.0f} GiB ({compiler})"
        + (", with --remat only" if plan.remat and not run.remat else ""),
        "a step": f"{plan.operations:.3g} operations, {plan.memory_traffic / _GIGA:,.3g} GB read and written{counts}, "
        f"{plan.exchanged / _MEGA:,.1f} MB summed over the chips, in {plan.exchanges} exchanges ({compiler})",
        "takes": f"{seconds['products']} at the chip's peak, {seconds['memory']} if all goes to its memory, "
        f"{seconds['exchange']} for the exchange: {seconds['step']} (an estimate by {topology.chip.source})",
        "the run": f"{plan.hours:,.2f} hours, {plan.chip_hours:,.1f} of a chip; at half of that speed "
        f"{2 * plan.hours:,.2f} and {2 * plan.chip_hours:,.1f}",
        "flags": " ".join(flags_of(run, plan)),
    }
    return "".join(f"{title:<10}{text}\n" for title, text in rows.items())


def _compiler(topology: Topology, kind: str) -> str:
    if topology.is_tpu:
        return "the TPU's compiler"
    return "the GPU's compiler" if kind == topology.kind else f"the compiler of {kind}, a stand-in"


def flags_of(run: PlannedRun, plan: Plan) -> list[str]:
    """The flags of run_pretraining that the plan is of."""
    found = ["--backend=jax", f"--precision={run.precision}", f"--train_batch_size={run.train_batch_size}"]
    if plan.gradient_accumulation_steps > 1:
        found.append(f"--gradient_accumulation_steps={plan.gradient_accumulation_steps}")
    return found + ["--constant_graph"] * run.constant_graph + ["--remat"] * plan.remat


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds / _MILLI:.3g} ms"
