"""The table and the picture of docs/scaling.md, of the JSON lines that plan_training --format=json prints.

python -m albert_tf.benchmarks.scaling --input_file='plans/*.json' --output_file=docs/scaling.png
"""

import glob
import json
import os

from absl import flags

from albert_tf.analysis.pyplot import import_pyplot
from albert_tf.runtime import command
from albert_tf.runtime.errors import InputError

_GIB, _GIGA, _MEGA, _MILLI = 2**30, 1e9, 1e6, 1e-3
_PARTS = {"products": "#4878a8", "memory": "#e49444", "exchange": "#85b37a"}
_COLUMNS = (
    "model",
    "chips",
    "at once",
    "GiB",
    "operations",
    "GB moved",
    "MB summed",
    "ms a step",
    "hours",
    "chip-hours",
)


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_list("input_file", None, "Files of plans, or globs; a JSON object a line.", **fv)
    flags.DEFINE_string("output_file", None, "PNG of the times of a step; left out: the table alone.", **fv)


def read_plans(patterns: list[str]) -> list[dict]:
    """The plans in some files, in the order of the files' names.

    Raises:
        InputError: there are none.
    """
    paths = [path for pattern in patterns for path in sorted(glob.glob(pattern))]
    plans = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            plans += [json.loads(line) for line in lines if line.strip()]
    if not plans:
        raise InputError(f"--input_file={','.join(patterns)}: no plans there; plan_training --format=json prints them")
    return plans


def name_of(plan: dict) -> str:
    """The model of a plan, and whether its layers are computed again."""
    name = os.path.basename(plan["albert_config_file"]).removesuffix(".json")
    return f"{name}, remat" if plan["remat"] else name


def format_table(plans: list[dict]) -> str:
    """The plans as a table in Markdown; bytes and operations are of one chip and step."""
    rows = [_COLUMNS, ("---",) * len(_COLUMNS)]
    for plan in plans:
        rows.append(
            (
                name_of(plan),
                plan["topology"],
                f"{plan['examples_at_once']} of {plan['examples']}",
                f"{plan['memory']['peak'] / _GIB:.1f}",
                f"{plan['operations']:.3g}",
                f"{plan['memory_traffic'] / _GIGA:.3g}",
                f"{plan['exchanged'] / _MEGA:.1f}",
                f"{plan['seconds']['step'] / _MILLI:.0f}",
                f"{plan['hours']:.1f}",
                f"{plan['chip_hours']:,.0f}",
            )
        )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def draw(plans: list[dict], path: str) -> None:
    """Draws what a step's time is made of, a bar for each part of each plan."""
    pyplot = import_pyplot()
    figure, axes = pyplot.subplots(figsize=(9, 0.55 * len(plans) + 1.4))
    height = 0.8 / len(_PARTS)
    for place, (part, colour) in enumerate(_PARTS.items()):
        values = [plan["seconds"][part] / _MILLI for plan in plans]
        places = [row + (place - 1) * height for row in range(len(plans))]
        bars = axes.barh(places, values, height * 0.9, color=colour, label=part)
        axes.bar_label(bars, [f"{value:.3g}" for value in values], padding=2, fontsize=7)
    axes.set_yticks(range(len(plans)), [f"{name_of(plan)}\n{plan['topology']}" for plan in plans], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds of a step, estimated; products or memory, whichever is longer, and then the exchange")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(_PARTS), frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _run() -> None:
    plans = read_plans(flags.FLAGS.input_file)
    print(format_table(plans), end="")  # noqa: T201
    if flags.FLAGS.output_file:
        draw(plans, flags.FLAGS.output_file)


main = command.entry_point(__name__, _run, required=("input_file",))

if __name__ == "__main__":
    main()
